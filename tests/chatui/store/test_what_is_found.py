"""What a search finds of what people look for, and how much else: sentences as people and models write them, in four languages."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from chatui.display import search
from chatui.models.conversation import Conversation
from chatui.models.message import Author
from chatui.models.user import User
from renderer.frames import Frame, Header
from tests.support.messages import add_message

pytestmark = pytest.mark.django_db

TEXTS = {
    "en tables": "Here is a comparison of three databases as a table. PostgreSQL is the most complete of them.",
    "en chairs": "A comfortable chair is worth its price. Suitable models have an adjustable back.",
    "en port": "The service listens on port 8000; open it in the firewall of the host.",
    "en support": "Support is available on weekdays. Important questions are answered first, by phone.",
    "en orders": "Your order was shipped on Monday. Borders may delay parcels to Norway.",
    "en ended": "The lease ends in March. Rent is due until then, and the deposit comes back later.",
    "en rest": "Interesting restaurants in Vienna: the rest of the list is in the notebook.",
    "en backup": "Restore the backup before the migration, and restart the server afterwards.",
    "en javascript": "In JavaScript, a closure keeps the variables of its scope. TypeScript adds types.",
    "en naïve": "A naïve résumé parser fails at the first café with an accent.",
    "en storage": "We need a name for the function that stores the user's settings: store_settings, perhaps.",
    "en light": "A highlight of the flight was the northern lights above Tromsø.",
    "de miete": "Mein Mietvertrag läuft im März aus. Welche Kündigungsfrist gilt für mich?",
    "de arbeit": "Der Arbeitsvertrag regelt die Arbeitszeit und den Urlaubsanspruch. Überstunden werden ausgeglichen.",
    "de kranken": "Die Krankenversicherung übernimmt die Kosten, wenn das Krankenhaus zugelassen ist.",
    "de verlängern": "Eine Fristverlängerung ist möglich, wenn Sie sie vor Ablauf beantragen.",
    "de folgende": "Das folgende Beispiel zeigt die laufende Anwendung mit passenden Werten, durchaus ohne Zusätze.",
    "de ende": "Am Wochenende bleibt das Rathaus geschlossen. Zum Jahresende wird die Buchhaltung geprüft.",
    "de einkauf": "Auf der Einkaufsliste stehen Vollkornbrot, Käse und Apfelsaft.",
    "de spezial": "Spezialisten beraten Sie gern; bestellen Sie vorher und stellen Sie sich auf eine Wartezeit ein.",
    "de daten": "Der Datenschutzbeauftragte prüft die Auftragsdatenverarbeitung und die Datenbanken der Personalabteilung.",
    "de verkehr": "Der öffentliche Nahverkehr ist am Abend langsamer als das Fahrrad. Straßenbahnen fahren bis zwölf.",
    "de klein": "kannst du meinen handyvertrag kündigen und eine steuererklärung vorbereiten?",
    "de steuer": "Die Einkommensteuererklärung ist bis Ende Juli abzugeben; Sozialversicherungsbeiträge zählen als Sonderausgaben.",
    "ko 회의록": "정기회의록에서 결정 사항만 뽑아 주세요.",
    "ko 회의": "내일 회의는 오후 세 시에 시작합니다. 회의실을 예약했습니다.",
    "ko 사회": "현대 사회의 문제를 다룬 보고서를 요약해 주세요.",
    "ko 보고서": "분기실적보고서를 작성했고, 매출액증가율도 표에 넣었습니다.",
    "ko 사과": "사과와 배를 샀습니다. 사과즙도 있습니다.",
    "ko 검사": "검사과정에서 오류가 발견되어 다시 측정했습니다.",
    "ko 도서관": "국립중앙도서관에 책을 반납하고 새 책을 빌렸습니다.",
    "ko 계약": "임대차계약서에 보증금과 계약기간을 적습니다.",
    "ko 데이터": "GPT모델을 학습시키려면 학습데이터가 많이 필요합니다.",
    "ko 서울": "서울에서 부산까지 기차로 두 시간 반 걸립니다. 서울역은 가깝습니다.",
    "ko 고양이": "고양이를 키우는 사람들이 모였습니다. 길고양이에게도 밥을 줍니다.",
    "ko 고양시": "고양시의 인구는 백만 명이 넘습니다.",
    "ko 물": "물을 끓여서 차를 마십니다. 선물로 받은 건물 모형이 있습니다.",
    "zh 会议": "请把昨天的会议记录整理成三点。",
    "zh 议会": "议会讨论了新的预算案。",
    "zh 合同": "租房合同里写明了押金和解约通知期。",
    "zh 模型": "大语言模型的训练数据来自公开网页。",
    "zh 图书馆": "国家图书馆周一闭馆,请提前预约。",
    "zh 苹果": "超市里的苹果很便宜,苹果汁也在打折。",
    "zh 结果": "实验结果与预期一致,苹和梨没有区别。",
    "zh 北京": "从北京到上海坐高铁需要四个半小时。",
    "zh 数据库": "备份数据库之后再升级服务器。",
    "zh 海上": "海上的风很大,船晚点了。",
    "zh 保险": "医疗保险可以报销住院费用。",
}
"""Made up for this test. The first word of a name is the language."""

QUERIES: Mapping[str, tuple[str, ...]] = {
    # As it was: words and their beginnings, of any case and without accents.
    "table": ("en tables",),
    "database": ("en tables",),
    "port": ("en port",),
    "order": ("en orders",),
    "end": ("en ended",),
    "rest": ("en rest",),
    "restore": ("en backup",),
    "resta": ("en backup", "en rest"),
    "script": ("en javascript",),
    "closure scope": ("en javascript",),
    "resume": ("en naïve",),
    "cafe": ("en naïve",),
    "store": ("en storage",),
    "settings": ("en storage",),
    "light": ("en light",),
    "tromso": ("en light",),
    "able": (),
    "support": ("en support",),
    "action": (),
    "rent deposit": ("en ended",),
    "vertrag": ("de miete", "de arbeit", "de klein"),
    "Verträge": (),
    "frist": ("de miete", "de verlängern"),
    "Kündigung": ("de miete",),
    "miet": ("de miete",),
    "arbeitszeit": ("de arbeit",),
    "zeit": ("de arbeit", "de spezial"),
    "urlaub": ("de arbeit",),
    "anspruch": ("de arbeit",),
    "versicherung": ("de kranken", "de steuer"),
    "haus": ("de kranken", "de ende"),
    "ende": ("de ende", "de steuer"),
    "liste": ("de einkauf",),
    "saft": ("de einkauf",),
    "brot": ("de einkauf",),
    "schutz": ("de daten",),
    "datenbank": ("de daten",),
    "verarbeitung": ("de daten",),
    "abteilung": ("de daten",),
    "verkehr": ("de verkehr",),
    "bahn": ("de verkehr",),
    "strassenbahn": ("de verkehr",),
    "erklärung": ("de steuer", "de klein"),
    "steuer": ("de steuer", "de klein"),
    "beiträge": ("de steuer",),
    "haltung": ("de ende",),
    "회의": ("ko 회의록", "ko 회의"),
    "회의록": ("ko 회의록",),
    "회의를": ("ko 회의록", "ko 회의"),
    "회의ㄹ": ("ko 회의록", "ko 회의"),
    "보고서": ("ko 사회", "ko 보고서"),
    "실적": ("ko 보고서",),
    "증가율": ("ko 보고서",),
    "사과": ("ko 사과",),
    "도서관": ("ko 도서관",),
    "도서관에서": ("ko 도서관",),
    "책": ("ko 도서관",),
    "계약": ("ko 계약",),
    "계약서 보증금": ("ko 계약",),
    "모델": ("ko 데이터",),
    "데이터는": ("ko 데이터",),
    "서울": ("ko 서울",),
    "서울까지": ("ko 서울",),
    "고양이": ("ko 고양이",),
    "고양": ("ko 고양시",),
    "물": ("ko 물",),
    "会议": ("zh 会议",),
    "议会": ("zh 议会",),
    "合同": ("zh 合同",),
    "解约": ("zh 合同",),
    "模型": ("zh 模型",),
    "语言模型": ("zh 模型",),
    "图书馆": ("zh 图书馆",),
    "苹果": ("zh 苹果",),
    "果": ("zh 苹果", "zh 结果"),
    "上海": ("zh 北京",),
    "数据": ("zh 模型", "zh 数据库"),
    "保险 住院": ("zh 保险",),
    "服务器": ("zh 数据库",),
}
"""What a person who types this wants to find, judged by what the words mean and not by how they are spelled."""


MISSED = {"tromso": {"en light"}, "vertrag": {"de klein"}, "erklärung": {"de klein"}}
"""An ø is a letter of its own. Nouns without their capitals are found by their beginning only."""
TOO_MUCH = {
    "table": {"en chairs"},  # Suitable
    "able": {"en chairs"},
    "port": {"en support"},  # Support
    "rest": {"en backup"},  # a beginning
    "end": {"de steuer"},
    "liste": {"en port", "de spezial"},  # listens, Spezialisten
    "회의": {"ko 사회"},  # of a society
    "회의를": {"ko 사회"},
    "회의ㄹ": {"ko 사회"},
    "사과": {"ko 검사"},  # the course of an examination
    "고양": {"ko 고양이"},
}


@pytest.fixture
def found(conversation: Conversation, ada: User) -> dict[str, set[str]]:
    """What each query finds, as names of texts; every other text is an answer."""
    names: dict[str, str] = {}
    last = None
    for number, (name, text) in enumerate(TEXTS.items()):
        header, author = (Header("assistant", channel="final"), Author.MODEL) if number % 2 else (Header("user"), Author.PERSON)
        last = add_message(conversation, last, Frame(header, text), author)
        names[str(last.pk)] = name
    return {query: {names[hit.url.split("/at/")[1].split("/")[0]] for hit in search.search(ada, query).hits} for query in QUERIES}


def test_what_is_missed_and_what_is_found_besides_is_known(found: dict[str, set[str]]) -> None:
    assert {query: missed for query, wanted in QUERIES.items() if (missed := set(wanted) - found[query])} == MISSED
    assert {query: more for query, wanted in QUERIES.items() if (more := found[query] - set(wanted))} == TOO_MUCH


def test_people_find_what_they_look_for_and_little_else(found: dict[str, set[str]]) -> None:
    wanted = {(query, name) for query, names in QUERIES.items() for name in names}
    got = {(query, name) for query, names in found.items() for name in names}
    figures = {}
    for language in ("en", "de", "ko", "zh"):
        of = {pair for pair in wanted | got if pair[1].startswith(language)}
        right = len(of & wanted & got)
        figures[language] = (right / len(of & wanted), right / len(of & got))
    assert len(QUERIES) >= 60
    assert all(recall >= 0.9 and precision >= 0.75 for recall, precision in figures.values()), figures
