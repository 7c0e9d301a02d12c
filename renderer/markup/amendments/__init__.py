"""Our rules for markdown-it: where what models write differs from CommonMark. Each says what a reader expects instead."""
