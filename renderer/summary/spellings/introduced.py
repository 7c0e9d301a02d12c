"""Finds what a text introduces as a name or a secret, even if it is written like an ordinary word."""

from __future__ import annotations

import re

from renderer.summary import disguises

_SECRET = re.compile(
    r"\b(?:code ?name|code ?word|pass ?word|pass ?phrase|nickname|alias|magic word|secret|kennwort|passwort|codewort|deckname|codename|"
    r"losungswort|contrase\u00f1a|mot de passe)\b\W{0,3}(?:of (?:the |this |that |our )?\w+ )?"
    r"(?:(?:is|was|ist|war|lautet|es|est)\b\W{0,3})?((?:\w+[ -]){0,3}\w+)"
    r"|(?:\u4ee3\u53f7|\u6697\u53f7|\u5bc6\u7801|\u53e3\u4ee4|\u5916\u53f7)[\u662f\u4e3a\u53eb\uff1a:]{1,2}([\u4e00-\u9fff]{2,6})"
    r"|(?:\ucf54\ub4dc\uba85|\uc554\ud638|\ube44\ubc00\ubc88\ud638|\ubcc4\uba85)[\uc740\ub294\uc774\uac00:]{1,2} ?([\uac00-\ud7a3]{2,6})",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:project|client|customer|patient|case|operation|plan|server|bot|company|team|tenant|user|wife|husband|son"
    r"|daughter)\b(?:'s name)?"
    r" (?:is |was |has been )?(?:\w+ )?(?:called|named|dubbed|nicknamed|known as) ((?:\w+ )?\w+)"
    r"|\b(?:proyecto|cliente|clienta|paciente|empresa|equipo|plan|se\u00f1ora?|ella|\u00e9l) (?:\w+ )?se llama ((?:\w+ )?\w+)"
    r"|\b(?:clave|palabra secreta|c\u00f3digo) es\b\W{0,3}(\w+)"
    r"|\b(?:projet|client|cliente|patient|soci\u00e9t\u00e9) (?:\w+ )?s['\u2019]appelle ((?:\w+ )?\w+)"
    r"|\b(?:projekt|kunde|kundin|mieter|mieterin|patient|patientin|firma|er|sie) (?:\w+ )?hei\u00dft ((?:\w+ )?\w+)"
    r"|\b(?:\u0437\u043e\u0432\u0443\u0442|\u043d\u0430\u0437\u044b\u0432\u0430\u0435\u0442\u0441\u044f|"
    r"\u043f\u0430\u0440\u043e\u043b\u044c"
    r"|\u043a\u043e\u0434\u043e\u0432\u043e\u0435 \u0441\u043b\u043e\u0432\u043e)\b\W{0,3}((?:\w+ )?\w+)"
    r"|(?:\u0627\u0633\u0645\u0647|\u0627\u0633\u0645\u0647\u0627"
    r"|\u0643\u0644\u0645\u0629 \u0627\u0644\u0633\u0631)\W{0,3}((?:\w+ )?\w+)",
    re.IGNORECASE,
)
_CAPITAL = re.compile(
    r"\b(?:[Pp]roje[ck]t|[Oo]peration|[Pp]royecto|[Pp]rojet|[Cc]ode ?name|Anw\u00e4lt(?:in)?|Anwalt|Nachbar(?:in)?"
    r"|Mieter(?:in)?|Vermieter(?:in)?|Kunde|"
    r"Kundin|Kollege|Kollegin|Chef(?:in)?|Patient(?:in)?|Lehrer(?:in)?|Arzt|Familie|Firma|[Ll]awyer|[Nn]eighbou?r|[Cc]ustomer"
    r"|[Cc]lient|[Pp]atient|"
    r"[Tt]enant|[Cc]olleague|[Mm]anager|[Bb]oss|[Cc]liente|[Ss]e\u00f1ora?|[Vv]ecin[oa]|[Jj]ef[ea]) ([^\W\d_a-z][\w-]{2,})"
)
_CHINESE_NAMED = re.compile(
    "(?:\u53eb\u505a|\u540d\u53eb|\u540d\u4e3a|\u59d3\u540d[\u662f\u4e3a\uff1a:]|\u540d\u5b57[\u662f\u4e3a\u53eb]|"
    "(?:\u5ba2\u6237|\u7528\u6237|\u60a3\u8005|\u75c5\u4eba|\u5b66\u751f|\u540c\u4e8b|\u8001\u677f|\u7ecf\u7406|\u516c\u53f8"
    "|\u9879\u76ee|"
    "\u8f6c\u7ed9)\u53eb?)([\u4e00-\u9fff]{2,4})(?![\u4e00-\u9fff])"
    "|(?:\u53eb\u505a|\u540d\u53eb|\u540d\u4e3a|\u5ba2\u6237\u53eb|\u9879\u76ee\u53eb|\u7528\u6237\u53eb)([\u4e00-\u9fff]{2,4})"
)
_SURNAMES = (
    "\u738b\u674e\u5f20\u5218\u9648\u6768\u9ec4\u8d75\u5434\u5468\u5f90\u5b59\u9a6c\u6731\u80e1\u90ed\u4f55\u9ad8\u6797\u7f57\u90d1\u6881"
    "\u8c22\u5b8b\u5510\u8bb8\u97e9\u51af\u9093\u66f9\u5f6d\u66fe\u8096\u7530\u8463\u8881\u6f58\u4e8e\u848b\u8521\u4f59\u675c\u53f6\u7a0b"
    "\u82cf\u9b4f\u5415\u4e01\u4efb\u6c88\u59da\u5362\u59dc\u5d14\u949f\u8c2d\u9646\u6c6a\u8303\u91d1\u77f3\u5ed6\u8d3e\u590f\u97e6\u65b9"
    "\u767d\u90b9\u5b5f\u718a\u79e6\u90b1\u6c5f\u5c39\u859b\u96f7\u4faf\u9f99\u53f2\u9676\u9ece\u8d3a\u987e\u6bdb\u90dd\u9f9a\u90b5\u4e07"
    "\u94b1\u4e25\u6b66\u6234\u83ab\u5b54\u6c64"
)
_CHINESE_TITLED = re.compile(
    f"([{_SURNAMES}][\u4e00-\u9fff]{{0,2}}?)(?:\u5148\u751f|\u5973\u58eb|\u5c0f\u59d0|\u7ecf\u7406|\u4e3b\u4efb|\u8001\u5e08|\u533b\u751f|"
    "\u5f8b\u5e08|\u6559\u6388|\u603b\u76d1)"
)
_KOREAN_TITLED = re.compile(
    "(?<![\uac00-\ud7a3])([\uac00-\ud7a3]{2,4}) ?(?:\uc528|\ub2d8|\uacfc\uc7a5|\ub300\ub9ac|\ubd80\uc7a5|\ucc28\uc7a5|\uc0ac\uc7a5|"
    r"\uad50\uc218|\uc6d0\uc7a5|\ud300\uc7a5"
    r"|\ubcc0\ud638\uc0ac)(?=[\uc774\uac00\uc740\ub294\uc744\ub97c\uc758\uc5d0\uc640\uacfc\ub3c4]|\W|\Z)"
)
_KOREAN_ANYBODY = frozenset(["고객", "손님", "사용자", "선생", "부모", "이용자", "회원", "담당", "의사"])
_JAPANESE_TITLED = re.compile("([\u4e00-\u9fff]{1,3}|[\u30a0-\u30ff]{2,8})(?:\u3055\u3093|\u69d8|\u6c0f)")
_JAPANESE_ANYBODY = frozenset(["客", "皆", "娘", "奥", "同", "多", "仕"])
_KOREAN_NAME, _MIN_NAME_CHARS = 3, 2


def names(text: str) -> set[str]:
    """The folded words of all such names; for Chinese and Korean names also their beginnings or given names."""
    every = (name for pattern in (_SECRET, _NAMED) for found in pattern.findall(text) for name in found)
    words = {word for name in (*every, *_CAPITAL.findall(text)) for word in disguises.words(name)}
    return words if text.isascii() else words | _east_asian(text)


def _east_asian(text: str) -> set[str]:
    found: set[str] = set()
    for whole, beginning in _CHINESE_NAMED.findall(text):
        name = whole or beginning
        if name[0] not in "\u7684\u4e86\u548c\u662f":
            found.update(name[:end] for end in range(_MIN_NAME_CHARS, len(name) + 1))
    found.update(name for name in _CHINESE_TITLED.findall(text) if len(name) >= _MIN_NAME_CHARS)
    for name in _KOREAN_TITLED.findall(text):
        if name not in _KOREAN_ANYBODY:
            found |= {name, name[1:]} if len(name) == _KOREAN_NAME else {name}
    found.update(name for name in _JAPANESE_TITLED.findall(text) if name not in _JAPANESE_ANYBODY)
    return {word for name in found for word in disguises.words(name)}
