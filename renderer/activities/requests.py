"""What a person asks for, told from their own words alone: the line that people see before there is anything else to see.

The reasoning has no say in it, so it tells nothing of what is hidden. It is the same for a refusal, for each wire format
and speed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from renderer.activities.kinds import noop


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for. ``sentence``: the line. ``confirms``: kinds of work that the reasoning may then name sooner. ``is_neutral``: it
    says no more than that there is a question or a file, and holds only for a short while."""

    sentence: str
    confirms: frozenset[str] = frozenset()
    is_neutral: bool = False


def _request(sentence: str, confirms: str = "") -> Request:
    return Request(sentence, frozenset(confirms.split()))


REQUESTS: dict[str, Request] = {
    "translate": _request(noop("Working on the translation"), "translate pronounce"),
    "rewrite": _request(noop("Working on the wording"), "rewrite proofread tone"),
    "summary": _request(noop("Working on the summary"), "summary points"),
    "message": _request(noop("Writing the message"), "message draft tone"),
    "formula": _request(noop("Working on the formula"), "code query debug cause"),
    "code": _request(noop("Working on the code"), "code query debug edge tests config review readcode"),
    "cause": _request(noop("Looking for the cause"), "cause debug"),
    "compare": _request(noop("Comparing the options"), "compare weigh pros costs"),
    "numbers": _request(noop("Working out the numbers"), "calc costs convert count chance checkcalc amounts solve"),
    "plan": _request(noop("Working on the plan"), "days schedule steps costs dates"),
    "recipe": _request(noop("Thinking of a recipe"), "amounts steps"),
    "verse": _request(noop("Working on the verses"), "verse tone"),
    "story": _request(noop("Working on the story"), "story"),
    "ideas": _request(noop("Gathering ideas"), "ideas"),
    "text": _request(noop("Working on the text"), "draft structure tone points"),
    "law": _request(noop("Looking at the legal side"), "law"),
    "explain": _request(noop("Looking for a clear explanation"), "explain recall example"),
    "advice": _request(noop("Looking for good advice"), "steps points"),
}
QUESTION = Request(noop("Reading the question"), is_neutral=True)
FILE = Request(noop("Reading the file"), is_neutral=True)
PICTURE = Request(noop("Looking at the picture"), is_neutral=True)

_LONGEST = 1_500
"""A longer message is mostly pasted: what is asked of it may stand anywhere."""
_BEGIN, _END = 200, 100
_MANY = 3
"""So many questions at once are no single request."""

_WRITE = r"\b(?:write|draft|compose|prepare|create|give me|need|schreib\w*|verfass\w*|formulier\w*|entwirf|erstell\w*|mach)\b.{0,60}?"
_WRITTEN = r".{0,10}(?:써|쓰|작성|만들어|지어)"
_RULES: dict[tuple[str, int], str] = {
    # The rule with the most points decides, unless one of another request has as many.
    ("translate", 4): (
        r"\btranslat(?:e|ion)|übersetz|翻译|译成|翻成|번역|\btraduc|\btradui|how (?:do|would|can) (?:you|i|we) say|what(?:'s|"
        r" is) ‹› in \w|wie sagt man|(?:was|wie) (?:heißt|heisst) .{1,40} auf \w+isch|用.{1,4}[语文]怎么说|"
        r"[가-힣]어로 (?:‹› ?)?(?:뭐|어떻게|무슨)"
    ),
    ("rewrite", 4): (
        r"\b(?:rewrite|rephrase|reword|proofread|shorten (?:this|my))|\bmake (?:this|it|that|my|the) .{0,30}(?:sound|shorter|"
        r"polite|formal|clear)|\bmake (?:this|it|my \w+) (?:more|less|sound|shorter)|\b(?:fix|correct|improve|polish|"
        r"check) .{0,25}(?:grammar|spelling|wording|sentence|text|essay)|umformulier|formulier\w* .{0,40}\bum\b(?! (?:die|eine|"
        r"das|den))|(?:höflicher|freundlicher|förmlicher) (?:ausdr|formul|schreib)|korrigier|rechtschreibung|(?:verbesser|"
        r"überarbeit)\w* .{0,20}(?:text|satz|brief|absatz)|formulier\w* .{0,30}(?:höflicher|freundlicher|kürzer)|润色|改写|"
        r"[句段话].{0,6}改[得成]|(?:修改|改一下).{0,8}[句段文话]|고쳐|다듬|맞춤법|(?:공손|자연스럽|정중)하?게 바꿔"
    ),
    ("summary", 4): (
        r"\bsummar(?:y|i[sz]e)|\btl;?dr\b|\bthe gist\b|\b(?:key|main) points\b|zusammenfass|\bfass\b.{0,80}\bzusammen|kurzfassung|"
        r"(?<!工作)(?<!年终)总结|概括|摘要|요약"
    ),
    ("message", 3): (
        r"‹write›(?<!cover )\b(?:e-?mail|mail|message|letter|reply|note|sms|nachricht|brief|absage|zusage|einladung|"
        r"entschuldigung|antwort|kündigung)\b(?! of|e?n? und)|写.{0,16}(?:邮件|微信|短信|消息|通知|道歉信|感谢信|封信|一封)|"
        r"(?:메일|메시지|문자|편지|답장)(?:을|를|로|도)?‹written›"
    ),
    ("message", 4): r"i (?:need|want|have) to (?:tell|ask|inform|thank|answer) my\b.*\b(?:write|draft)\b",
    ("formula", 3): r"\bexcel\b|\bgoogle sheets?\b|spreadsheet|vlookup|xlookup|sumif|pivot table|excel(?=[一-鿿])|엑셀|구글 시트|电子表格",
    ("code", 3): (
        r"\b(?:python|javascript|typescript|java|rust|golang|php|kotlin|bash|powershell|react|regex|sql|css|html|html5|docker\w*|"
        r"kubernetes|django|async|arduino|c\+\+|c#)(?![a-z])|파이썬|자바|코딩|正则|‹code›|\b(?:write|create|build|need|"
        r"schreib\w*) .{0,30}\b(?:script|function|program|class|one-liner|skript|funktion|programm)\b|unit tests?\b|"
        r"写.{0,12}(?:代码|脚本|程序|函数)|코드"
    ),
    ("code", 4): r"(?:python|파이썬|자바|코드|vba).{0,20}(?:짜|만들|써)",
    ("cause", 4): (
        r"traceback|exception|\berror\b(?! handling)|\bsegfault|crash(?:es|ing)|报错|오류|에러|\w*fehler\b.{0,40}(?:kommt|beheb|"
        r"wird|bekomm)|meldet ‹›|(?:it|up|screen|program|terminal|log) says ‹›"
    ),
    ("cause", 3): (
        r"\bwhy (?:is|are|does|do|did|was|were|won't|can't|doesn't|isn't|am|has|have) (?:it|this|that|my|our|the|there|these)\b|"
        r"what am i doing wrong|what(?:'s| is) wrong with|what could (?:it|this|that) be|(?:doesn't|does not|won't|not|stopped|"
        r"stops) (?:work|start|turn|charg|connect)\w*|shuts down|\bget ‹›|woran (?:liegt|kann)|\b(?:warum|wieso|"
        r"weshalb) .{0,30}\b(?:mein|nicht|das|der|die|dieser?)\b|springt .{0,30}nicht an|bricht .{0,20}\bab\b|(?:geht|"
        r"funktioniert|druckt|lädt|startet) .{0,15}(?:nicht|nur noch)|怎么回事|什么原因|哪里出了问题|(?:为什么|为啥).{0,20}我|"
        r"我.{0,20}为什么|为什么[？?]?$|원인이|이유가 (?:뭐|뭘)|왜 (?:그럴|이럴|그래|이래|자꾸)|왜 .{0,16}(?:자꾸|안 |꺼|느려)"
    ),
    ("cause", 1): r"\bwhy\b|\bwarum\b|\bwieso\b|为什么|왜",
    ("compare", 3): (
        r"\bcompare\b|\bvs\b|\bversus\b|difference between|which (?:one )?(?:is|are) (?:better|cheaper|faster|best)|pros and cons|"
        r"\b(?:should|shall) (?:i|we) .{2,70}\bor\b .{2,70}\?|\bunterschied (?:zwischen|von)|\bunterscheide[nt]\b|"
        r"was ist (?:besser|günstiger|billiger)|\bsoll(?:en|te|ten)? (?:ich|wir) .{2,70}\boder\b .{2,70}\?|\bvergleiche?\b|区别|"
        r"有什么不同|还是.{1,15}[好？?]|哪个更?(?:好|便宜|快)|对比|차이|비교해|(?:뭐가|어느 게|어떤 게) (?:더 )?(?:좋|나을|나아|"
        r"낫|싸)|중에(?:서)? (?:뭐|어느|어떤)"
    ),
    ("compare", 2): r"^[^.?!\n]{3,60}\b(?:or|oder)\b[^.?!\n]{2,60}\?",
    ("numbers", 3): (
        r"\bcalculate\b|\bcompute\b|how (?:much|many)\b.{0,90}\d|\d.{0,90}how (?:much|many)\b|\d ?%? (?:tip|"
        r"interest) .{0,60}\b(?:split|years)|monthly payment|\bberechne|\brechne\b|wie (?:viel|viele|hoch|groß|lange)\b.{0,90}\d|"
        r"\d.{0,90}wie (?:viel|viele|hoch)\b|was kostet .{0,90}\d|计算|\d.{0,40}多少|多少.{0,40}\d|"
        r"[一二三四五六七八九十百千万]{2,9}.{0,40}多少|\d.{0,40}(?:얼마|몇 )|(?:얼마|몇 ).{0,40}\d|계산해|"
        r"\bscale .{0,40}\bfrom \d|\d+ ?% of \d|\d ?% tip"
    ),
    ("plan", 3): (
        r"\bplan (?:a|an|my|our|the) |\b(?:make|create|give|write|need|put|build)\b.{0,40}\b(?:plan|itinerary|schedule|timetable|"
        r"packing list|budget)\b|\bitinerary\b|\b(?:days?|weekend|week) in [A-Z]\w+|\b(?:plane|plan) (?:mir|uns|eine?n?) |"
        r"\b(?:mach|erstell|brauch|gib)\w* .{0,40}plan\b|tage (?:in )?[A-ZÄÖÜ]\w+ |行程|(?:制定|安排|做).{0,10}(?:计划|日程)|"
        r"怎么安排|攻略|일정|계획.{0,4}(?:세워|짜)"
    ),
    ("recipe", 3): (
        r"\brecipe\b|\b(?:can|should|could|shall) (?:i|we) (?:cook|make for (?:dinner|lunch))|what .{0,20}\b(?:cook|"
        r"make for (?:dinner|lunch))|how do i (?:bake|cook|roast|grill)|\brezept\b|\b(?:koche|kochen|backe|backen)\b.{0,40}|"
        r"做.{0,3}(?:什么|啥)菜|菜谱|食谱|[肉鱼汤菜饭面饼糕鸡]怎么做|레시피|요리|해 ?먹을"
    ),
    ("verse", 4): (
        r"\b(?:poem|haiku|limerick|sonnet|lyrics|rhym\w+)\b|\b(?:write|compose) .{0,20}\bsong\b|\bgedicht\b|\breime?\b|"
        r"写.{0,10}(?:诗|歌词|对联)|(?:^|[ 은는한의])시(?:를)? (?:한 편 |하나 )?(?:써|지어)|하이쿠"
    ),
    ("story", 4): (
        r"\b(?:write|tell|continue|invent|make up|finish)\b.{0,40}\b(?:story|fairy ?tale|novel|scene)\b|\b(?:schreib|erzähl|"
        r"erfind)\w* .{0,40}(?:geschichte|märchen)|[讲写编].{0,14}(?:故事|小说|童话)|(?:이야기|동화|소설)(?:를|"
        r"을)? ?(?:하나 )?(?:써|지어|만들|들려|해 줘)"
    ),
    ("ideas", 3): (
        r"\bideas?\b|\bbrainstorm|\bsuggest (?:a |an |some |me )|\bnames? for (?:a|an|my|our|the)\b|gift (?:for|ideas)|"
        r"what (?:could|can|should) i (?:give|get|buy) my|\bideen\b|geschenkidee|was (?:kann|soll|könnte) ich .{0,30}schenken|"
        r"起.{0,4}名|想.{0,6}名字|点子|礼物|아이디어|이름.{0,6}(?:추천|지어)|선물.{0,8}추천"
    ),
    ("text", 3): (
        r"‹write›\b(?:essay|speech|toast|article|blog|post|description|cover letter|bio|caption|review|report|paragraph|text|"
        r"aufsatz|rede|artikel|beitrag|bewerbung|\w*beschreibung|anschreiben)\b(?! (?:file|to my))|写.{0,3}[篇份段]|"
        r"写.{0,20}(?:作文|文章|演讲|自我介绍|文案)|(?:글|에세이|연설문|소개서|기사|독후감|보고서|소개글)(?:을|를)?‹written›"
    ),
    ("law", 3): (
        r"\b(?:is (?:it|that|this)|legally?) (?:legal|illegal|allowed|required)\b|my rights\b|\bnotice period\b|\bcan (?:my|"
        r"the) (?:landlord|employer|boss)\b|\bdarf (?:mein|der|die|das)\w* (?:vermieter|chef|arbeitgeber|nachbar|firma)|"
        r"kündigungsfrist|\brechtlich|违法|合法|赔偿|劳动合同|起诉|财产怎么分|법적|불법|퇴직금"
    ),
    ("explain", 3): r"\bexplain\b|what does .{1,60} mean|\berklär|解释|설명해",
    ("explain", 2): (
        r"\bhow (?:do|does) .{2,60} work|\bwhat (?:is|are|was) (?!the |your |my |this |that )|\bwhat's an? |\bwho (?:is|was) |"
        r"\bwhy (?:is|are|do|does) |\bwas (?:ist|sind|bedeutet|heißt) |wie funktioniert|wer war|什么是|是什么意思|(?:이|가) ?뭐야|"
        r"(?:이|가) ?뭔지|란 무엇|이란"
    ),
    ("advice", 2): (
        r"\bhow (?:can|do|should|could) (?:i|we)\b|\btips?\b|what (?:should|can|could) (?:i|we) do|\bhow to\b|\badvice\b|"
        r"\bwie (?:kann|soll|werde|bekomme|mache|kriege|vermeide|bleibe) (?:ich|wir)|was (?:hilft|tun)|\btipps?\b|was (?:kann|"
        r"soll) ich .{0,30}(?:tun|machen)|怎么(?:才能|办|样|提高)|如何|怎样|어떻게 (?:해야|하면)|(?:하려면|빼려면)|방법"
    ),
}
_ABSTAIN = (
    # what could do harm
    r"bomb|molotov|grenade|napalm|explosiv|weapon|ammunition|\bguns?\b|\bhack|hotwire|\bsteal|\bstolen|\bkill|murder|poison|"
    r"\bdrugs?\b|meth\b|cocaine|suicid|self.?harm|malware|phish|launder|forge|counterfeit|\bporn|\bsex\b|sexual|\bnudes?\b|"
    r"without (?:getting caught|them knowing|her knowing|his knowing)|spy on|stalk|jailbreak|sprengstoff|waffe|töte|umbring|"
    r"vergift|drogen|stehlen|klauen|selbstmord|suizid|fälsch|ausspäh|knacken|炸药|炸弹|武器|枪|毒品|毒药|下毒|杀|自杀|偷|黑客|盗|"
    r"伪造|色情|폭탄|폭발물|무기|마약|독약|죽이|죽고|자살|훔치|해킹|위조|음란|"
    # the rules
    r"system ?(?:prompt|message)|your (?:instruction|rule|prompt|guideline|polic)|(?:previous|prior|above|hidden|"
    r"secret) (?:instruction|rule|prompt)|\bignore (?:all|the|your|any)|chain of thought|your (?:reasoning|thoughts)|(?:deine|"
    r"vorherige|obige|geheime)\w* (?:anweisung|regel|vorgabe|gedanken)|system-?prompt|ignoriere|提示词|系统提示|你的(?:指令|规则|"
    r"设定)|忽略|시스템 ?프롬프트|지침|지시 ?사항|이전 지시|무시하"
)
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED = re.compile(r"[\"“„«「『]([^\"“”„«»「」『』\n]{2,}?)[\"“”»」』]")
_SENTENCE = re.compile(r"[^.!?。！？\n]*[?？]")


def request_of(question: str, *, has_file: bool = False, has_image: bool = False) -> Request:
    """What a person asks for in these words. Neutral where that is not clear: for several questions at once, for what could do harm or is
    about the product's instructions, and for long pasted texts. Takes a fifth of a millisecond for a usual question, at most three."""
    neutral = PICTURE if has_image else FILE if has_file else QUESTION
    if len(question) > _LONGEST:
        return neutral
    text = _CODE_BLOCK.sub(" ‹code› ", question)
    abstains, rules = _compiled()
    if abstains.search(text):
        return neutral
    text = _QUOTED.sub("‹›", text).strip()
    if len(text) > _BEGIN + _END:
        text = f"{text[:_BEGIN]}\n{text[-_END:]}"
    questions = _SENTENCE.findall(text)
    if len(questions) >= _MANY:
        return neutral
    if len(questions) > 1 and len({name for each in questions if (name := _best(each, rules))}) > 1:
        return neutral
    # What stands behind a colon is mostly the text that the request is about.
    asked = re.split(r"[:：]\s", text, maxsplit=1)[0]
    name = (_best(asked, rules) if asked != text else None) or _best(text, rules)
    return REQUESTS[name] if name else neutral


def _best(text: str, rules: tuple[tuple[str, int, re.Pattern[str]], ...]) -> str | None:
    """The request with the most points; None if there is none, or two have as many."""
    points: dict[str, int] = {}
    for name, score, pattern in rules:
        if score > points.get(name, 0) and pattern.search(text):
            points[name] = score
    most = max(points.values(), default=0)
    names = [name for name, score in points.items() if score == most]
    return names[0] if len(names) == 1 else None


@cache
def _compiled() -> tuple[re.Pattern[str], tuple[tuple[str, int, re.Pattern[str]], ...]]:
    rules = tuple((name, score, re.compile(_whole(pattern), re.IGNORECASE)) for (name, score), pattern in _RULES.items())
    return re.compile(_ABSTAIN, re.IGNORECASE), rules


def _whole(pattern: str) -> str:
    return pattern.replace("‹write›", _WRITE).replace("‹written›", _WRITTEN)
