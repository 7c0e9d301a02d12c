"""Recognises number words: cardinals, ordinals, fractions, Roman numerals and compounds of them."""

from __future__ import annotations

import re

from renderer.summary import disguises

_PARTS = (
    "zero one two three four five six seven eight nine ten eleven twelve thir teen twen ty fif for eigh hundred thousand million "
    "billion trillion first second third half quarter dozen score twice thrice double triple quadruple percent nought couple th s "
    "and ieth teenth null ein eins zwei zwo drei vier funf sechs sieben acht neun zehn elf zwolf sech sieb zig ssig hundert tausend "
    "halb viertel drittel dutzend doppelt dreifach fach prozent mal und te tel erste e r n un deux trois quatre cinq sept huit neuf "
    "dix onze douze vingt trente quarante cinquante soixante cent mille demi uno dos tres cuatro cinco seis siete ocho nueve diez "
    "once doce veinte treinta cuarenta cincuenta sesenta ciento mil medio due quattro cinque sei sette otto nove dieci venti"
)
_LATIN = re.compile("(?:" + "|".join(sorted(set(disguises.words(_PARTS)), key=len, reverse=True)) + ")+")
_ROMAN = re.compile("[ivxlcdm]+")
_CHINESE = re.compile("[〇零一二三四五六七八九十百千万萬亿億两兩半倍壹贰叁肆伍陆柒捌玖拾廿]")
_KOREAN = re.compile(
    "[영공일이삼사오육륙칠팔구십백천만억조]+|하나|둘|셋|넷|다섯|여섯|일곱|여덟|아홉|열|스물|서른|마흔|쉰|예순|절반|두배|세배"
)


def is_number(word: str) -> bool:
    """Whether a folded word may be a number. In doubt, yes."""
    return any(pattern.fullmatch(word) for pattern in (_LATIN, _ROMAN, _KOREAN)) or _CHINESE.search(word) is not None
