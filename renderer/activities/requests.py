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
    """What was asked for."""

    sentence: str
    """The line."""
    confirms: frozenset[str] = frozenset()
    """Kinds of work that the reasoning may then name sooner."""
    is_neutral: bool = False
    """Whether it says no more than that there is a question or a file; it then holds only for a short while."""


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
    "compare": _request(noop("Working on the comparison"), "compare weigh pros costs"),
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
"""So many questions or requests at once are no single one."""
_SAID = 4
"""The points from which on a rule stands for what is to be done, and not for the form of the question."""

_WRITE = (
    r"\b(?:write|draft|compose|prepare|create|give me|need|want|word|make|produce|help me|schreib\w*|verfass\w*|formulier\w*|entwirf|"
    r"erstell\w*|mach\w*|brauche?|bräuchte|möchte|will)\b.{0,60}?"
)
_WRITTEN = r".{0,12}(?:써|쓰|작성|만들어|지어|부탁|보내|하나|좀|필요|달라)"
_HEAD = r"^\W*(?:[^\s,.:?]+ ){0,2}"
_RULES: dict[tuple[str, int], str] = {
    # The rule with the most points decides, unless one of another request has as many.
    # From 4 on what is to be done is said; 5 and 6 stand above words that may also be what it is about; up to 3 it is the form of the
    # question alone.
    ("translate", 5): (
        r"\btranslat(?:e|ion)\b(?! (?:plugin|job|tool|club|agency))|übersetz(?!er|ungs)|翻译(?!官|器|腔|社|者)|[译翻]成|译一下|求翻|"
        r"[中英日韩法德俄]译[中英日韩]|번역(?!기|가|투|료| ?api| ?동아리)|\btraduc|\btradui|how (?:do|does|would|can) (?:you|i|we|a "
        r"native speaker) .{0,20}?say|what(?:'s| is) ‹› in \w|‹› in (?:english|german|french|spanish)|wie sagt man|(?:was|wie) (?:heißt|"
        r"heisst) .{1,40} auf \w+isch|\b(?:ins|auf|in) (?:deutsche?|englische?|französische?|spanische?|italienische?|polnische?|"
        r"türkische?|russische?|\w+isch)\b(?: bitte|,|:|\?|$)|用.{1,4}[语文]怎么说|[中英日韩法德俄西葡意]文(?:版|怎么说)|(?:换|弄|转|变|"
        r"写)成.{0,3}[英日韩法德俄葡中]\w{0,2}[语文]|[가-힣]어로 (?:‹› ?)?(?:뭐|어떻게|무슨|바꿔|좀|부탁|옮)|우리말로|영어로|영문으로|"
        r"(?:into|to|in) (?:english|german|french|spanish|italian|polish|turkish|russian|czech|dutch|danish|portuguese|welsh|greek|"
        r"japanese|chinese|korean|arabic|ukrainian)(?: please)?(?:[:?,]|$)"
    ),
    ("rewrite", 5): (
        r"\b(?:rewrite|rephrase|reword|proofread|paraphrase|shorten|condense (?:this|my) (?:mail|letter))\b|\b(?:polish|tighten up|"
        r"loosen up|tone down)\b|\bmake (?:this|it|that|my|the) .{0,40}?(?:sound|shorter|polite|formal|clear|friendl|nicer|professional|"
        r"simpler)|\b(?:more|less) (?:formal|polite|friendly|angry|stiff|professional)\b|say this (?:nicer|better|different)|\b(?:fix|"
        r"correct|improve|check) .{0,25}(?:grammar|grammer|spelling|wording|sentence|text|essay|paragraph|comma)|umformulier|umschreib|"
        r"formulier\w* .{0,40}\bum\b(?! (?:die|eine|das|den))|\w+er (?:ausdr|formulier|schreib)|formulier\w* .{0,40}(?:höflicher|"
        r"freundlicher|kürzer|einfacher|so, dass|lockerer)|mach \w+ .{0,20}(?:höflicher|freundlicher|kürzer|lesbar)|(?:kürzer|höflicher|"
        r"professioneller|lockerer) bitte|korrigier|korrektur|rechtschreibung|kommas? setz|einfache sprache bringen|gendergerecht|"
        r"(?:verbesser|überarbeit)\w* .{0,20}(?:text|satz|brief|absatz|mail)|润色|改写|降重|扩写|语病|错别字|换个说法|"
        r"[句段话封].{0,12}改[得成]?|改得?(?:正式|口语|委婉|硬气|通顺)|(?:修改|改一下).{0,8}[句段文话]|缩(?:到|成)|精简|语法错误|고쳐|"
        r"다듬|맞춤법|띄어쓰기|손봐|톤 좀|(?:공손|자연스럽|정중|쉽|감성 ?있)하?게 (?:바꿔|고쳐)|(?:말|문어체|존댓말|반말)로 (?:바꿔|"
        r"고쳐)|문장이? .{0,12}바꿔|줄여 ?줘|늘려 ?줘|说得.{1,4}一点|[럽드]럽?게 바꿔"
    ),
    ("summary", 5): (
        r"\bsummar(?:y|i[sz]e)|\b(?:sum|boil) (?:\w+ ){0,6}(?:up|down)\b|\btl;?dr\b|\bthe gist\b|\b(?:key|main) (?:points?|takeaways?)\b|"
        r"\b(?:short version|brief overview|in essence|the plot of)\b|zusammenfass|\bfass\b.{0,80}\bzusammen|kurzfassung|inhaltsangabe|"
        r"hauptpunkte|das wichtigste|kernaussage|auf den punkt|worum geht es in|(?<!工作)(?<!年终)总结|概括|摘要|提炼|归纳|梗概|太长不看|"
        r"主旨|要点|讲了?啥|讲的什么|요약|줄거리|핵심만|간추|요점|추려|결론이 뭐"
    ),
    ("message", 4): (
        r"‹write›(?<!cover )\b(?:e-?mail|mail|message|letter|reply|note|sms|whatsapp|invitation|nachricht|brief|absage|zusage|einladung|"
        r"entschuldigung|antwort|kündigung\w*|beschwerde|dankes?\w*|kondolenz\w*)\b(?! of|e?n? und)|\b(?:complaint|cover|thank.you|"
        r"cancellation) letter\b|\b(?:text|whatsapp|e-?mail|mail|reply|message|note|letter) to\b|\b(?:whatsapp|e-?mail|mail|nachricht|"
        r"sms) (?:an|für)\b|\b(?:reply to|answer) (?:this|him|her|them)\b|\b(?:wedding|best man|thank.you|birthday|farewell) speech\b|"
        r"condolence|krankmeldung|mahnung\b|beileid|trauzeugenrede|geburtstags(?:gruß|wünsche)|schreib(?:e|en)? (?:mir|ihm|ihr|meine[mr]|"
        r"unsere[mr]|der|dem|den)\b.{0,30}\b(?:dass|ne|nen|eine[n]?)|写.{0,20}(?:邮件|微信|短信|消息|通知|道歉信|感谢信|封信|一封|回复|"
        r"请假条)|(?:拟|回|发)(?:一条|个|封)(?:消息|微信|短信|邮件)?|回复一下|感谢信|道歉信|发邮件.{0,30}怎么写|(?:메일|메시지|문자|편지|"
        r"답장|카톡|인사말|축사|쪽지|항의글|안내문)(?:을|를|로|도|이|은)?‹written›|(?:메일|문자|카톡) (?:보내야|써|뭐라)|축사|뭐라고 "
        r"(?:보내|답)|\\b(?:mail|brief|nachricht) bitte|fertiger brief|쪽지|쪽지를"
    ),
    ("message", 5): (r"i (?:need|want|have|'d like) to (?:tell|ask|inform|thank|answer) (?:my|our|the)\b.*\b(?:write|draft|letter|mail)\b"),
    ("formula", 5): (
        r"\bexcel|\bgoogle sheets?\b|\bin sheets\b|spreadsheet|[vx]lookup|sumifs?\b|sumproduct|pivot table|conditional formatting|"
        r"\bs?x?verweis|summewenn|\bformel\b.{0,40}(?:zelle|spalte|tabelle)|(?:zelle|spalte|tabelle)\b.{0,60}\bformel|(?:column|cell) "
        r"[a-z]\d*\b|\bspalte [a-z]\b|libreoffice|excel(?=[一-鿿])|엑셀|구글 ?시트|电子表格|(?:表格|单元格|[a-z]列).{0,40}公式|"
        r"公式.{0,30}(?:列|单元格)|[a-z]열|수식|셀에|함수인데|条件格式"
    ),
    ("code", 4): (
        r"\b(?:python|pandas|javascript|typescript|java|rust|golang|php|kotlin|bash|powershell|regex|sql|postgres|mysql|css|html5?|"
        r"docker\w*|kubernetes|django|flask|nginx|git|vba|yaml|cron\w*|jq|async|arduino|react|vue3?|c\+\+|c#)(?![a-z])|파이썬|자바|코딩|"
        r"코드|정규식|도커|리액트|스크립트|正则|‹code›|\b(?:write|create|build|need|schreib\w*) .{0,30}\b(?:script|function|program|"
        r"class|one-?liner|skript|funktion|programm)\b|unit tests?\b|\b(?:def|function|select|import|class) \w+.{0,40}[(:=*]|代码|脚本|"
        r"小程序|存储过程|写.{0,12}(?:程序|函数)|(?:vba|커맨드|명령어)"
    ),
    ("code", 6): (
        r"(?:python|파이썬|자바|코드|vba|sql).{0,20}(?:짜|만들|써)|(?:write|schreib|写).{0,20}(?:\b(?:python|java|sql|script|vba|regex)|"
        r"代码|脚本)"
    ),
    ("cause", 5): (
        r"traceback|exception|\berror\b(?! handling)|\b\w+error:|\bsegfault|crash(?:es|ing)|报错|오류|에러|\w*fehler\b.{0,40}(?:kommt|"
        r"beheb|wird|bekomm|nicht)|fehlercode|meldet ‹›|(?:it|up|screen|program|terminal|log) says ‹›|what am i doing wrong|what(?:'s|s| "
        r"is) (?:wrong|broken)|what could (?:it|this|that|be the cause)|woran (?:liegt|kann)|was läuft .{0,8}falsch|springt .{0,30}nicht "
        r"an|怎么回事|什么原因|什么情况|(?:哪里|哪儿)(?:出了?问题|不对|搞错|的毛病)|问题出在哪|找找原因|坏了吗|원인이|(?:이유|까닭)가 "
        r"(?:뭐|뭘)|왜 (?:그럴|이럴|그래|이래|이러|자꾸)|뭐가 문제|since (?:the |a )?(?:last )?(?:\\w+ )?update|seit dem update|gestern "
        r"ging|zeigt offline|转圈|고장인가|안 함"
    ),
    ("cause", 4): (
        r"\bwhy (?:is|are|does|do|did|was|were|won'?t|can'?t|doesn'?t|isn'?t|am|has|have) (?:it|this|that|my|our)\b|(?:doesn'?t|does not|"
        r"won'?t|not|stopped|stops|keeps?) (?:work|start|turn|charg|connect|running|dripp)\w*|shuts? down|\bget ‹›|(?:warum|wieso|"
        r"weshalb) .{0,30}\b(?:mein|meine|nicht|undefined)\b|bricht .{0,20}\bab\b|(?:geht|funktioniert|druckt|lädt|startet|hängt|"
        r"klingelt) .{0,15}(?:nicht|nur noch)|(?:为什么|为啥).{0,10}慢|我.{0,2}(?:为什么|为啥)|(?:慢|屏|卡|死机).{0,10}(?:为什么|为啥)|"
        r"왜 .{0,16}(?:자꾸|안 |안돼|꺼|느려)|안 ?(?:돼요?|됩니다)\?*$|\\bdrops? (?:the )?(?:wi-?fi|connection)|bricht nicht ab|stinkt\\b"
    ),
    ("compare", 5): (
        r"\bcompare\b|\bcontrast the\b|\bvs\b|\bversus\b|diff?e?ren[cs]e betw?een|what(?:'s|s| is) the diff|\bdiffer from\b|which (?:one "
        r"|of \w+ )?(?:is|are|would) .{0,20}?(?:better|cheaper|faster|best|easiest|suit)|pros and cons|upsides|side by side|"
        r"unterschiede?\b|unterscheide[nt]\b|was ist (?:besser|günstiger|billiger|gesünder)|was spricht (?:eigentlich )?(?:für|gegen|"
        r"dagegen|dafür)|\bvergleich\w*\b|gegenüber(?:stell|$)|区别|有(?:什么|啥)不[同一]|异同|优缺点|利弊|对比|对照|(?:哪个|哪家|哪种|"
        r"谁)更?(?:好|便宜|快|合适|强|准)|选(?:哪个|谁)|差别|(?<!义)还是(?!不).{1,15}[好？?]|차이|비교|장단점|(?:뭐가|어느 게|어떤 게|"
        r"어느 쪽이) (?:더 )?(?:좋|나을|나아|낫|싸|효과|자연)|중에(?:서)? (?:뭐|어느|어떤|하나)|[이가] 나아 .{1,12}[이가] 나아|"
        r"\b(?:should|shall|soll(?:en|te|ten)?) (?:i|we|ich|wir) .{2,70}\b(?:or|oder)\b .{2,70}\?|살까 .{1,12} 살까|says .{2,60} i "
        r"say\\b|뭐가 맞아"
    ),
    ("compare", 3): (r"^[^.?!\n]{3,60}\b(?:or|oder)\b[^.?!\n]{2,60}(?:\?|,|$)|[가-힣]+(?:이?랑|하고|와|과) .{1,16} (?:중|어떤|어느|뭐로)"),
    ("numbers", 4): (
        r"\bcalculate\b|\bcompute\b|\bwork out my\b|\bhow (?:much|many)\b.{0,120}\d|\d.{0,120}\bhow (?:much|many)\b|\d ?%? (?:tip|"
        r"interest) .{0,60}\b(?:split|years)|monthly payment|\b(?:berechne|rechne\b|ausrechnen|umrechnen)|\bwie ?(?:viele?|hoch|groß|"
        r"lange?)\b.{0,120}\d|\d.{0,120}\bwie ?(?:viele?|hoch|lange?)\b|was kostet .{0,90}\d|monatliche rate|换算|计算|怎么算|算(?:下|"
        r"一下)|\d.{0,60}(?:多少|几个|几块|月供)|(?:多少|几).{0,40}\d|[一二三四五六七八九十百千万]{2,9}.{0,40}多少|\d.{0,60}(?:얼마|몇 )|"
        r"(?:얼마|몇 ).{0,60}\d|계산|실수령|\bscale .{0,40}\bfrom \d|\d+ ?% (?:of|von|auf) \d|\d ?% tip|^\d[\d ,.]*[-+*/x×] ?\d|"
        r"\b(?:fahrenheit|celsius) in\b|\d .{0,20}\bto (?:grams|kg|cups|miles|km|euros?|dollars?)\b|\\b(?:came|comes) to \\d"
    ),
    ("plan", 4): (
        r"\bplan (?:a|an|my|our|the|me) |\b(?:make|create|give|write|need|put|build|set up)\b.{0,40}\b(?:plan|itinerary|schedule|"
        r"timetable|timeline|agenda|packing list|budget)\b|\bitinerary\b|\b(?:meal|lesson|training|study|project|content|weekly) (?:plan|"
        r"schedule|calendar|menu)\b|\b(?:days?|weekend|week) in [a-z]\w+.{0,80}\b(?:what|where|plan|kids?|car|do)\b|\brota for\b|day by "
        r"day|\b(?:plane?|planen?) (?:mir|uns|eine?n?) |\b(?:mach|erstell|brauch|gib)\w* .{0,40}plan\b|\b\w*(?:essens|trainings|lern|"
        r"putz|zeit|wochen|projekt|ablauf|einarbeitungs|dienst)plan\b|tage (?:in )?[a-zäöü]\w+ .{0,60}(?:was|wo|wie|programm|auto)|行程|"
        r"攻略|(?:制定|安排|做|出|排).{0,10}(?:计划|日程|排期|时间表)|怎么(?:安排|排)|(?:一日|自驾).{0,10}路线|日程|일정|시간표|식단|"
        r"훈련표|계획.{0,6}(?:세워|짜|좀)|루틴|\d박 ?\d일|was wann|玩 ?[\\d一二两三四五六七八九十]+ ?天|排一下"
    ),
    ("recipe", 4): (
        r"^.{0,30}\brecipe\b|\brecipe(?: please)?[.!?]?$|\b(?:can|should|could|shall) (?:i|we) (?:cook|make for (?:dinner|lunch))|what "
        r".{0,20}\b(?:cook|make for (?:dinner|lunch))|how (?:do|can) (?:i|you) (?:bake|cook|roast|grill|prepare a)|^.{0,15}\brezept\b(?! "
        r"ist)|\b(?:koche|kochen|backe|backen)\b.{0,40}|做.{0,3}(?:什么|啥)菜|菜谱|食谱|求方子|[肉鱼汤菜饭面饼糕鸡鸭蛋虾豆腐]怎么(?:做|"
        r"烧|炒|炖)|레시피 ?(?:부탁|알려|좀|줘|$)|요리법|조리법|해 ?먹을|담그는|어떻게 끓|양념 비율|황금비율|what can i make with|\\bhab "
        r"noch \\d.{0,60}was schnelles|冰箱里|做[一两三]个菜"
    ),
    ("verse", 4): (
        r"\b(?:poem|haiku|limerick|sonnet|lyrics|rhym\w+|lullaby|acrostic|ode to|ballad)\b(?! (?:generator|workshop|below|by))|"
        r"\bgedicht\b|\breime?\b|\bvierzeiler\b|打油诗|藏头诗|春联|顺口溜|儿歌|俳句|하이쿠|[삼사n]행시|노랫말|가사 ?(?:써|\d)|자장가"
    ),
    ("verse", 6): (
        r"‹write›\b(?:poem|haiku|limerick|sonnet|song|gedicht|vierzeiler|lullaby|verse)\b(?! generator)|[写来填编].{0,10}(?:诗|歌词|"
        r"对联)|(?:^|[ 은는한의])시(?:를)? (?:한 편 |하나 )?(?:써|지어)"
    ),
    ("story", 5): (
        r"\b(?:write|tell|continue|invent|make up|finish)\b.{0,40}\b(?:story|tale|novel|scene|anecdote|fable)\b|\b(?:bedtime|short|ghost|"
        r"love|crime) stor(?:y|ies)\b|once upon a time|\b(?:schreib|erzähl|erfind)\w* (?!mir was).{0,40}(?<!für ne "
        r")\b\w*(?:geschichte(?! des| der)|märchen|krimi|szene|\bsage|fabel)\b|\b(?:kurz|gruse?l|gute.?nacht.?|liebes|"
        r"weihnachts)geschichte|\bein märchen\b|[讲写编].{0,14}(?:故事|小说|童话)|续写|小说开头|微型小说|(?:이야기|동화|소설|우화)(?:를|"
        r"을|로)? ?(?:하나 )?(?:써|지어|만들|들려|해 줘)|이야기 ?(?:해|하나만)"
    ),
    ("ideas", 4): (
        r"(?<!no )(?<!any )\bideas?\b(?! on the)|\bbrainstorm|\bsuggest (?:a |an |some |me )|\bnames? for (?:a|an|my|our|the)\b|"
        r"\b(?:baby|girl|boy|pet|team|company) names?\b|gift (?:for|ideas)|\bslogan\b|what (?:could|can|should) (?:i|we) (?:give|get|buy|"
        r"call) (?:my|our|him|her)|writing prompts|icebreaker|\bideen\b|\bvorschläge\b|geschenkidee|\bgeschenk für\b|was (?:kann|soll|"
        r"könnte) (?:ich|man) .{0,30}schenken|was schenkt man|\bnamen? für (?:einen?|mein|unser|den|die)|betreffzeilen|起.{0,4}名|"
        r"想.{0,6}名字|取.{0,4}名|点子|礼物|创意|灵感|推荐(?:几|一)|아이디어|이름.{0,6}(?:추천|지어)|(?:선물|닉네임|제목|메뉴|"
        r"볼거).{0,10}추천|추천 ?(?:좀|해 ?줘|!)|\\b(?:team|vereins|firmen)name\\b|啥也不缺|문구"
    ),
    ("text", 4): (
        r"‹write›\b(?:essay|speech|toast|article|blog|post|description|cover letter|bio|caption|review|report|paragraph|text|press "
        r"release|flyer|aufsatz|rede|artikel|beitrag|bewerbung|\w*beschreibung|anschreiben|pressemitteilung|bericht|stellenanzeige|"
        r"handout)\b(?! (?:file|to my|für))|\b(?:job ad|product description|press release|blog (?:post|article)|stellenanzeige|"
        r"produktbeschreibung|pressemitteilung|arbeitszeugnis)\b|写.{0,3}[篇份段]|写.{0,20}(?:作文|文章|演讲|自我介绍|文案)|文案|读后感|"
        r"观后感|招聘启事|推文|检讨书|(?:글|에세이|연설문|소개서|기사|독후감|보고서|소개글|공고|칼럼)(?:을|를)?‹written›|독후감"
    ),
    ("law", 4): (
        r"\b(?:is (?:it|that|this)|legally?) (?:legal|illegal|allowed|required|valid)\b|\b(?:my|any legal|a) rights?\b|\bnotice period\b|"
        r"\b(?:can|may) (?:my|the) (?:landlord|employer|boss)\b|\b(?:landlord|employer|boss)\b.{0,40}\b(?:allowed|legal|must i)\b|am i "
        r"(?:allowed|entitled|obliged)|by law\b|inheritance tax|\bgdpr\b|\bdarf (?:ich|man|mein|der|die|das)\w* .{0,40}(?:vermieter|chef|"
        r"arbeitgeber|nachbar|firma|wohnung|vertrag)|\bdarf (?:mein|der|die)\w* (?:vermieter|chef|arbeitgeber|nachbar)|kündigungsfrist|"
        r"\brechtlich|urheberrecht|gewährleistung|\bist das (?:erlaubt|rechtens|zulässig)|einspruch|违法|合法|赔偿|劳动合同|起诉|侵权|"
        r"遗产|财产怎么分|算数吗|有什么权利|能签吗|법적|법으로|불법|합법|퇴직금|고소|소송|저작권|증여세|세액공제|\\bdarf er\\b|"
        r"nachzahlung|불리한|특약|有没有坑|社保|公积金"
    ),
    ("explain", 6): (
        r"^(?:what(?:'s| is| are) (?:an? )?|was ist (?:eine? )?|什么是)[^\s,.?]+(?: [^\s,.?]+)?\??$|\bexplain\b|what does .{1,60} "
        r"(?:mean|stand for)|\berklär|erläuter|was bedeutet|klär mich auf|解释|讲讲|(?:什么|啥)意思|설명해|무슨 뜻|뜻이 뭐"
    ),
    ("explain", 2): (
        r"\bhow (?:do|does|did) (?!i\b|we\b|you\b).{2,60}|\bwhat(?:'s| is| are|s| was) (?!the best|your |my |this |that |wrong)|\bwho "
        r"(?:is|was|invented) |\bwhy (?:is|are|do|does|did) (?!my |it |this )|\bis it true\b|\bwas (?:ist|sind|heißt|heisst|macht) |wie "
        r"funktioniert|wie läuft|woher kommt|wozu|wer (?:war|ist)|wann war|\bwelche[rs]? |什么是|是(?:什么|啥)(?!时候)|是谁|由来|原理|"
        r"是怎么.{0,8}的|(?:为什么|为啥)(?!我)|(?:이|가|은|는) ?뭐(?:야|예요|임)|(?:이|가) ?뭔(?:지|데)|란 무엇|이란|원리|뭐가 있|"
        r"이유는?$"
    ),
    ("advice", 3): (
        r"\bhow (?:can|do|should|could|would|to) (?:i|we|you|get|keep|tell|deal|stop|make|clean|store|remove|fix)\b|\btips?\b|what "
        r"(?:should|can|could|would|do) (?:i|we|you) (?:do|recommend)|\bhow to\b|(?<!need )(?<!want )\badvice\b|\bworth (?:it|\w+ing)\b|"
        r"\bbest way to\b|too late\b|should i\b|do i have to|what now\b|any (?:good )?tricks|\bwie (?:kann|soll|werde|bekomme|bekommt|"
        r"mache|krieg\w*|vermeide|bleibe|lerne|putzt?|geh|fang|sag) (?:ich|wir|man|n)|was (?:hilft|tun|kann ich|mach ich|empfiehlst)|"
        r"\btipps?\b|\blohnt (?:sich|es)|soll(?:te)? ich|worauf (?:muss|soll)?.{0,10}achten|(?:ist es|wäre es) sinnvoll|abraten|zum arzt|"
        r"einen rat|怎么(?:办|样|提高|去掉|洗|开口|回答|练|处理|才能)|如何|怎样|咋办|咋整|支招|有(?:什么|啥|哪些)(?:办法|坑|技巧)|要不要|"
        r"值得|该不该|要注意|어떻게 (?:해|하면|할|말)|(?:하려면|빼려면|없애|고르는)|방법|팁|괜찮을까|(?:가야|해야|살|늦었) ?(?:하나|할까|"
        r"만한가|을까)|늦었을까|걱정(?:되|이)|what else works|要紧吗|办法吗|병원 가야|먹었어요"
    ),
    # What is asked for as a bare noun at the beginning: "product description for …".
    ("message", 3): (
        r"‹head›(?:e-?mail|mail|message|reply|whatsapp|invitation|speech|reminder|einladungs?\w*|ansprache|dankesworte|anfrage|"
        r"beschwerde|entschuldigung|antwort|nachricht|absage)\b"
    ),
    ("text", 3): (
        r"‹head›(?:essay|flyer|\w*caption|obituary|slides|listing|leaflet|report|review|blog ?artikel|\w*artikel|beitrag|exposé|"
        r"hausordnung|\d+ folien|erörterung|charakterisierung|bericht|kleinanzeige|profiltext|post)\b"
    ),
    ("story", 4): (
        r"‹head›(?:story|dialogue|monologue|fable|fairy tale|sketch|fan ?fic\w*|flash fiction|horror|romance|scene|fabel|dialog|"
        r"kurzgeschichte|theaterstück|romananfang|rollenspiel)\b"
    ),
    ("ideas", 3): (
        r"‹head›(?:topics|motto\w*|hobb\w+|present|gift|names?|title|theme|themen|titel|namen|spitznamen|fragen|partyspiele|geschenk\w*) "
        r"(?:for|to|für|fürs|als)\b"
    ),
    ("law", 3): (
        r"‹head›(?:may|must|can|darf|muss) (?:i|my|we|ich|man|a|ein\w*|mein\w*) .{0,80}(?:law|legal|contract|lease|permit|tax|rent|"
        r"vertrag|gesetz|steuer\w*|miet\w*|frist)"
    ),
    # The form of the question alone.
    ("explain", 1): (
        r"^(?:and |so |hi,? |hallo,? )?(?:what|which|when|where|who|how come|how is|capital of|meaning of|origin of|define|was|welche\w?|"
        r"wann|wer|wo|wofür|seit wann|wieso|warum|bedeutung|hauptstadt)\b(?! (?:about|do you|das denn|denkst|ich noch)).{2,110}$|谁|"
        r"哪[年里]|언제|누구|어디|왜 "
    ),
    ("advice", 1): (
        r"^(?:hi,? |hallo,? )?(?:can (?:i|we)|is it ok|does it make sense|do (?:i|you) need|how (?:often|long|do|does one)|what (?:to|do "
        r"i)|kann (?:ich|man)|soll\w* (?:ich|man|wir)|wie (?:lange|oft|\w+e) (?:ich|man|kann)|wie \w+t man|was (?:pack\w*|zieh\w*|"
        r"könnte))\b|会不会|(?:怎么.{1,8}|可以.{1,8}吗|能.{1,8}吗)[?？]?$|(?:될까|되나|돼|할까|좋을까|어떡|어떻게).{0,6}$"
    ),
}
_ABSTAIN = (
    # what could do harm
    r"bomb|molotov|grenade|napalm|explosiv|weapon|ammunition|\bguns?\b|\bhack|hotwire|\bsteal|\bstolen|\bkill|murder|poison|\bdrugs?\b|"
    r"meth\b|cocaine|suicid|self.?harm|malware|phish|launder|forge|counterfeit|\bporn|\bsex\b|sexual|\bnudes?\b|without (?:getting "
    r"caught|the password|\w+ (?:knowing|noticing))|spy on|\b(?:my ex|her|his)\b.{0,40}\bpassword|\btrack(?:er|ing)? (?:on )?(?:my|her|"
    r"his)\b|secretly|\bfake |heimlich|(?:wlan|wi-?fi) .{0,20}nachbar|neighbou?r.{0,6}wi-?fi|ohne dass \w+ (?:es )?merk|ohne dass "
    r".{0,20}finanzamt|hinterzieh|bescheiß|stalk|jailbreak|sprengstoff|waffe|töte|umbring|vergift|drogen|stehlen|klauen|selbstmord|"
    r"suizid|fälsch|ausspäh|knacken|炸药|炸弹|武器|枪|毒品|毒药|下毒|杀|自杀|破解|别人.{0,4}密码|偷|黑客|盗|不让.{1,4}知道|冒充|伪造|"
    r"色情|폭탄|폭발물|무기|마약|독약|죽이|죽고|자살|훔치|해킹|위조|음란|몰래|안 들키|비번 뚫|"
    # the rules
    r"system ?(?:prompt|message)|instructions you|(?:your|what|which) (?:system )?(?:instruction|rule|prompt|guideline|polic)|"
    r"(?:previous|prior|above|hidden|secret) (?:instruction|rule|prompt)|\bignore (?:all|the|your|any)|chain of thought|your "
    r"(?:reasoning|thoughts)|(?:deine|vorherige|obige|geheime)\w* (?:anweisung|regel|vorgabe|gedanken)|system-?prompt|炮仗|能炸|"
    r"ignoriere|which model are you|you (?:are )?(?:forbidden|allowed)|(?:welche|deine) regeln hast|提示词|系统提示|你的(?:指令|规则|"
    r"设定)|忽略|시스템 ?프롬프트|지침|지시 ?사항|이전 지시|무시하"
)
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED = re.compile(r"[\"“„«「『]([^\"“”„«»「」『』\n]{2,}?)[\"“”»」』]")
_NUMBERED = re.compile(r"(?:^|\s|[\u3400-\u9fff])[1-9][.)] ?(?!\d)")
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
    if len(questions) >= _MANY or len(_NUMBERED.findall(text)) >= _MANY:
        return neutral
    if len(questions) > 1 and len({name for each in questions if (name := _best(each, rules))}) > 1:
        return neutral
    # What stands behind a colon is mostly the text that the request is about.
    asked = re.split(r"[:：]\s", text, maxsplit=1)[0]
    name = (_best(asked, rules) if asked != text else None) or _best(text, rules)
    # The form of a question about a file says what is in the file, not what is to be done.
    if has_file and name in ("explain", "advice"):
        name = None
    return REQUESTS[name] if name else neutral


def _best(text: str, rules: tuple[tuple[str, int, re.Pattern[str]], ...]) -> str | None:
    """The request with the most points; None if there is none, or two have as many."""
    points: dict[str, int] = {}
    for name, score, pattern in rules:
        if score > points.get(name, 0) and pattern.search(text):
            points[name] = score
    most = max(points.values(), default=0)
    if sum(score >= _SAID for score in points.values()) >= _MANY:
        return None
    names = [name for name, score in points.items() if score == most]
    return names[0] if len(names) == 1 else None


@cache
def _compiled() -> tuple[re.Pattern[str], tuple[tuple[str, int, re.Pattern[str]], ...]]:
    rules = tuple((name, score, re.compile(_whole(pattern), re.IGNORECASE)) for (name, score), pattern in _RULES.items())
    return re.compile(_ABSTAIN, re.IGNORECASE), rules


def _whole(pattern: str) -> str:
    return pattern.replace("‹write›", _WRITE).replace("‹written›", _WRITTEN).replace("‹head›", _HEAD)
