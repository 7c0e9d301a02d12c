{{- define "chatui.labels" -}}
{{ include "chatui.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
{{- end }}

{{- define "chatui.selector" -}}
app.kubernetes.io/name: chatui
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "chatui.origin" -}}
{{ required "origin: the address that people open, such as https://chat.example.org" .Values.origin }}
{{- end }}

{{- define "chatui.host" -}}
{{ (urlParse (include "chatui.origin" .)).hostname }}
{{- end }}
