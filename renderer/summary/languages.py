"""Guesses the language of a line from its stop words.

It only has to detect when a text is not in the expected language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

_STOP_WORDS = {
    "English": "the of and to in is it for on with as at by from that this which an be are was were or not but how what who why when "
    "where i you your my we our they their he she his her its a do does did can could should would will have has had into "
    "than then there one them while under through during without within "
    "about over between after before each some any more most other no so if up out only also both me please",
    "German": "der die das den dem des ein eine einen einem einer eines und oder nicht ist sind war mit von zu zum zur im auf fur an "
    "bei aus nach uber wie was wer warum wenn wo ich du sie er es wir ihr mein dein sein kann wird werden hat haben dass auch "
    "nur noch so als am mir "
    "aber sowie damit weil statt zwischen unter in ab man sich muss soll vor beim vom ob da doch dann mehr sehr um durch ohne gegen",
    "French": "le la les un une des du de et ou est sont dans pour sur avec par au aux ce cette ces qui que quoi comment pourquoi je tu "
    "il elle nous vous ils mon ma ton son ne pas plus en l d s c a mais donc entre apres avant leur leurs",
    "Spanish": "el la los las un una unos unas de del y o es son en para por con sin sobre al que como cual quien yo tu usted nosotros "
    "mi su sus no mas pero entre se lo le este esta estos ha he a si cuando donde",
    "Italian": "il lo la i gli le un una uno di del della dei delle e o in per con su da al alla che chi come io tu lui lei noi voi mio "
    "suo non piu ma tra fra si questo questa sono ho ha a nel nella quando dove",
    "Portuguese": "o a os as um uma uns umas de do da dos das e ou em no na nos nas para por com sem sobre ao que como quem eu tu voce ele "
    "ela meu seu sua nao mais mas entre se este esta isso quando onde foi sao",
    "Dutch": "de het een en of niet is zijn was met van te naar op voor aan bij uit over hoe wat wie waarom als waar ik jij je hij zij "
    "ze wij we mijn kan wordt worden heeft hebben dat dit die ook maar nog in om er",
    "Swedish": "en ett och eller inte ar som med av till pa i for att den det de hur vad vem jag du han hon vi min kan har om fran nar var",
    "Danish": "en et og eller ikke er som med af til pa i for at den det de hvordan hvad hvem jeg du han hun vi min kan har om fra nar "
    "hvor var",
    "Polish": "i w z na do nie to jest sie ze o jak co kto ja ty on ona my po dla od przez przy ale lub czy za tego tym ten ta te oraz",
    "Czech": "a v z na do ne to je se ze o jak co kdo ja ty on ona my po pro od pri ale nebo za toho ten ta te i s k",
    "Turkish": "bir ve ile bu su o da de mi ne nasil kim ben sen biz icin gibi daha cok var yok ama veya olarak en her",
    "Indonesian": "yang dan di ke dari untuk dengan ini itu adalah tidak pada saya kamu dia kami akan atau apa bagaimana siapa juga dalam",
    "Romanian": "si de la in cu pe pentru din un o ce care cum cine eu tu el ea noi nu mai dar sau este sunt ca al a lui",
    "Finnish": "ja on ei se etta tai kun mika kuka miten mina sina han me te ovat oli mutta kuin myos niin joka",
    "Hungarian": "a az es egy nem is hogy de vagy mi ki en te o van volt meg csak mint ha el ez",
    "Vietnamese": "va la cua cho trong voi khong co nhung mot cac duoc den tu nay do toi ban nguoi khi",
}
_LANGUAGES_OF_WORD: dict[str, tuple[str, ...]] = {}
for _language, _words in _STOP_WORDS.items():
    for _word in _words.split():
        _LANGUAGES_OF_WORD[_word] = (*_LANGUAGES_OF_WORD.get(_word, ()), _language)

STOP_WORDS = frozenset(_LANGUAGES_OF_WORD)
"""The stop words of all these languages, folded as ``disguises.words`` does."""

_BY_LANGUAGE = {language: frozenset(small.split()) for language, small in _STOP_WORDS.items()}
_SHARE_OF_MOST = 0.6
_WORD_WEIGHT = 3
"""The weight of a stop word, relative to one of a single letter, which may also come from a formula."""
_SENTENCE_WORDS = 8
"""This many consecutive words without a stop word are not a sentence in any language known here."""


def count(words: Iterable[str]) -> Counter[str]:
    """The total weight of each language's stop words among these words."""
    found: Counter[str] = Counter()
    for word in words:
        found.update(dict.fromkeys(_LANGUAGES_OF_WORD.get(word, ()), _WORD_WEIGHT if len(word) > 1 else 1))
    return found


def expected(around: Counter[str]) -> frozenset[str]:
    """The languages that a text with these counts of stop words may be in. If that is unclear, English is expected."""
    most = max(around.values(), default=0)
    return frozenset(language for language, number in around.items() if number >= _SHARE_OF_MOST * most) or frozenset({"English"})


def stop_words(language: str) -> frozenset[str]:
    """The stop words of one language, folded."""
    return _BY_LANGUAGE.get(language, frozenset())


def fits(words: list[str], around: Counter[str]) -> bool:
    """Whether a line in Latin letters can be in a language of the text around it. If that is unclear, English is expected."""
    # Each word counts once: "mot a mot" is not more Vietnamese because "mot" is repeated.
    own = count(set(words))
    if not own:
        return len(words) < _SENTENCE_WORDS
    return max(own[language] for language in expected(around)) >= max(own.values())
