"""Words that suspect, insult or blame somebody, or mention deceit, in many languages: whole words, beginnings, and parts of a line."""

from __future__ import annotations

WHOLE = (
    "lazy vorwand vorwande faul fauler faule perezoso perezosa ocultar paresseux cacher глуп глупый ленив ленивый weird creepy "
    "lying lied liar liars rude dumb idiot idiots fool fools hid blamed blames blaming stalled stalling doubted doubting cheat cheated "
    "cheating tricked fooled naive moron angry furious gelogen lugen dumm doof frech mies wutend tonto tonta bobo idiota miente mintio "
    "mentir menti tromper trompe feindre врет лжет лгал соврал тупой дурак"
)
BEGINNINGS = (
    "suspect suspici accus pretend decei decept dishonest insult stupid moaner complainer nuisance troublemak untrustw unreliabl "
    "manipulat misled conceal withh scapegoat hysteric paranoi arrogan ignoran incompeten greedy lunatic verdacht beschuldig "
    "tausch vorgetausch vortausch getausch vorgauk verheimlich verschweig verschwieg unehrlich unverschamt norgler querulant "
    "beleidig hinhalt hingehalt abwimmel abgewimmel luge lugner betrug betrog misstrau unterstell sospech mentiros fingi fingid engan "
    "culpo estupid soupcon mensong menteu imbecil подозре обман лжец солга"
)
PARTS = (
    "[Vv]erantwortlich (?:zu )?(?:mach|gemacht)|假装|假裝|撒谎|撒謊|说谎|說謊|欺骗|欺騙|骗|騙|隐瞒|隱瞞|掩盖|掩蓋|搪塞|敷衍|"
    "怀疑|懷疑|嫌疑|指责|指責|责怪|責怪|难缠|難纏|愚蠢|傻|笨蛋|糊弄|忽悠|推卸|甩锅|刁难|刁難|恶意|惡意|거짓|속이|속였|속임|"
    "숨기|숨겼|숨김|의심|비난|멍청|바보|골칫|진상 ?고객|무례|사기꾼|떠넘|핑계|시치미|척하|척했|척함|탓으로|탓했|포기하도록|"
    "笨|懒惰|懶惰|拖延回|拖延答|게으|답을 (?:늦추|미루)|답변을 (?:늦추|미루)|"
    "[Kk]eep(?:ing)? (?:the )?(?:person|customer|user|client|reader|caller)s? from|[Dd]elay(?:ed|ing)? the (?:answer|reply|response)|"
    "嘘|騙|疑っ|隠し|ごまか|馬鹿|責め"
)
