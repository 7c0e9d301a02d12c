"""What the person's own text must show before a kind of work can be named: hidden text alone makes no kind possible."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from renderer.activities import cues

READ = 6_000
"""How many characters of a question are read."""

_SUBJECTS = {
    "maths": r"\d\s*[-+*/^=×÷]\s*\d|\^|solve|equation|calculat|sum\b|how (much|many)|percent|%|proof|prove|integral|math|löse|"
    r"gleichung|berechn|wie (viel|viele)|计算|方程|多少|계산|방정식|얼마|몇|resuelve|calcula|cuánt",
    "code": r"```|c\+\+|c#|\b(code|coding|python|javascript|typescript|java|rust|golang|sql|html|bash|script|software|flask|django|"
    r"regex|cmake|dockerfile|web server|compiler?|unit tests?|(?:write|create|build|make) an? (?:\w+ ){0,3}(?:app|program|function|"
    r"class|api))\b|代码|程序|脚本|函数|코드|프로그램|함수|스크립트|programmier|skript|código|программ|\bкод",
    "review": r"(review|audit|critique|improve|feedback|prüf|verbesser|审查|检查|改进|검토|개선|revisa|mejora)",
    "query": r"\b(sql|query|database|abfrage|select)\b|查询|数据库|쿼리|consulta",
    "data": r"\b(json|csv|xml|yaml|extract|fields?|table|list|candidates|entries|schema|parse|extrah|felder)\b|提取|字段|추출|extrae",
    "translate": r"translat|übersetz|翻译|译成|번역|traduc|tradui|перевед|翻訳",
    "rewrite": r"rewrit|rephras|reword|improve|polish|edit|correct|proofread|shorter|polite|umformul|korrigier|verbesser|改写|润色|修改|"
    r"고쳐|다듬|공손|reescrib|corrige|mejora",
    "summary": r"summar|tl;?dr|zusammenfass|kurzfassung|总结|概括|摘要|요약|resum",
    "write": r"\b(write|draft|letter|essay|story|poem|speech|text|article|blog|post|email|slogan|name|title|haiku|scene|joke|toast|"
    r"schreib|brief|entwurf)\b|写|撰写|쓰|작성|escrib|redact|напиши|書い",
    "story": r"(write|tell|continue|invent|schreib|erzähl|escrib|cuenta|écri).{0,60}(story|tale|novel|scene|plot|character|geschichte|"
    r"märchen|cuento|historia|histoire)|[写编讲].{0,12}(故事|小说)|(이야기|소설).{0,8}(써|쓰|만들|해)",
    "verse": r"(write|compose|continue|rhyme|schreib|dichte|escrib|écri).{0,60}(haiku|poem|rhym|verse|lyrics|song|gedicht|reim|poema|"
    r"verso)|[写作].{0,12}(诗|歌词|俳句)|(시를|하이쿠|노래).{0,8}(써|쓰|지어)|俳句.{0,8}[書作]",
    "ideas": r"idea|brainstorm|suggest|name|slogan|gift|creative|title|idee|vorschl|点子|建议|想法|아이디어|추천|nombre",
    "persona": r"profile|persona|profil|画像|프로필|perfil",
    "art": r"ascii|draw|svg|zeichn|画|그려|dibuj",
    "mail": r"(write|draft|compose|reply|answer|respond|send|schreib|antwort|verfass).{0,40}(e-?mail|\bmail|message|letter|\bnote|"
    r"nachricht|brief)|(e-?mail|message|letter) (to|for|the|my)\b|写.{0,8}(邮件|信|消息)|(메일|메시지|편지).{0,6}(써|작성)|(escrib|"
    r"redact).{0,30}(correo|mensaje|carta)",
    "money": r"budget|cost|price|cheap|expens|\bpay|€|\$\s?\d|£|¥|\bsave money|preis|kosten|teuer|günstig|geld|价格|费用|预算|多少钱|便宜|"
    r"비용|가격|예산|얼마|precio|coste|presupuesto|barato",
    "when": r"\b(today|tomorrow|yesterday|date|time|when|deadline|monday|tuesday|wednesday|thursday|friday|saturday|sunday|week|"
    r"month|year|days?|hours?|minutes?|\d ?[ap]m|o.clock|january|february|march|april|june|july|august|september|october|november|"
    r"december|heute|morgen|wann|datum|uhr|woche|monat|tage?|cuándo|mañana|semana|días?|fecha)\b|\d{1,2}:\d\d|今天|明天|时间|几点|日期|"
    r"星期|天|오늘|내일|언제|시간|날짜|요일",
    "past": r"histor|timeline|chronolog|evolution|century|biograph|geschichte|verlauf|历史|发展|经过|역사|연표|historia|cronolog|"
    r"\b1[5-9]\d\d\b",
    "unit": r"convert|\b(km|miles?|kg|lbs?|pounds?|ounces?|oz|celsius|fahrenheit|litres?|gallons?|cups?|inch(es)?|feet|metres?|"
    r"meters?|usd|eur|dollars?|euros?)\b|umrechn|换算|환산|convert|cuántos",
    "odds": r"probab|chance|odds|likel|random|dice|lottery|wahrscheinlich|würfel|概率|可能性|确률|확률|주사위|probabilidad",
    "prove": r"prove|proof|show that|theorem|beweis|zeige,? dass|证明|증명|demuestra|demostr",
    "cook": r"recipe|cook|bake|dish|ingredient|meal|rezept|kochen|backen|食谱|菜|做饭|레시피|요리|receta|cocin|recette",
    "why": r"why|error|\bbugs?\b|fix (the|this|my|it|that)|fail|wrong|not work|doesn.t|crash|debug|warum|fehler|为什么|错误|报错|왜|오류|"
    r"por qué|falla",
    "law": r"\b(law|legal|contract|tenant|landlord|lease|court|rights?|statute|miet|kündig|vertrag|recht|gesetz|anwalt)|法律|合同|租|법|"
    r"계약|ley|contrato|derecho",
    "trip": r"trip|travel|itinerar|visit|vacation|holiday|days? in|weekend|reise|urlaub|tage in|ausflug|旅|游|行程|여행|일정|viaje|días en|"
    r"voyage",
    "schedule": r"schedul|timetable|plan|calendar|week|stundenplan|zeitplan|日程|计划|时间表|일정|시간표|계획|horario|agenda",
    "pronounce": r"pronounc|read as|ausgesproch|aussprache|怎么读|发音|读音|読み|발음|읽|pronunci",
}
_BEGIN, _END = 600, 300
EARLIER = 4
"""How many of the questions before it are read: the last ones."""
_CODE_BLOCK = re.compile(r"```.*?```", re.DOTALL)


def subjects_of(question: str, earlier: Sequence[str]) -> set[str]:
    """The subjects that a person's question and their questions before it show: values of ``Kind.needs``."""
    text = "\n".join(_head(part) for part in (question, *earlier[-EARLIER:]))
    found = {subject for subject, pattern in _subjects().items() if pattern.search(text)}
    if "code" not in found:
        found.discard("review")
    elif found & {"why", "review"}:
        found.add("fault")
    return found


def names_touchy_subject(text: str) -> bool:
    """Whether the text has a word of ``cues.TOUCHY``: then such words of the reasoning tell nothing."""
    return any(kind == "touchy" for kind, *_ in cues.hits(cues.words_of(text)))


def _head(text: str) -> str:
    """The beginning and the end of a text without its code: pasted text is not what the person asks for."""
    text = _CODE_BLOCK.sub("```", text if len(text) <= READ else f"{text[:READ]}\n{text[-_END:]}")
    return text if len(text) <= _BEGIN + _END else f"{text[:_BEGIN]}\n{text[-_END:]}"


@cache
def _subjects() -> dict[str, re.Pattern[str]]:
    return {subject: re.compile(pattern, re.IGNORECASE) for subject, pattern in _SUBJECTS.items()}
