"""Text files are read in the encoding that they have: by a mark, a declaration, or a guess, which is said where it is not certain."""

import pytest

from chatui.documents.kinds import NoTextReason, UnreadThing
from chatui.documents.plain_text import ENCODINGS
from chatui.documents.reading import read
from tests.support.document_files import decoded

RUSSIAN, CHINESE = "Привет, как дела? Завтра встреча в три часа у Анны.", "已付款给供应商，合同编号如下，请确认收到。"
TEXTS = [
    (RUSSIAN, "cp1251"),
    (RUSSIAN, "koi8-r"),
    (RUSSIAN, "iso8859-5"),
    (RUSSIAN, "cp866"),
    ("Zażółć gęślą jaźń. Cena wynosi 100 zł, proszę o szybką odpowiedź.", "cp1250"),
    ("Zażółć gęślą jaźń. Cena wynosi 100 zł, proszę o szybką odpowiedź.", "iso8859-2"),
    ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "cp1250"),
    ("Καλημέρα σας, η τιμή είναι δέκα ευρώ.", "cp1253"),
    (CHINESE, "gb18030"),
    ("姓名,城市\n王小明,北京\n", "gbk"),
    ("已付款給供應商，合約編號如下，請確認收到。", "big5"),
    ("請求書を送付しました。ご確認ください。カタカナ", "shift_jis"),
    ("請求書を送付しました。ご確認ください。カタカナ", "euc_jp"),
    ("請求書を送付しました。", "iso2022_jp"),
    ("안녕하세요. 계약서를 보내 드립니다. 확인해 주세요.", "euc_kr"),
    ("Grüße aus Köln, das Maß ist voll; Preis 10 €.", "cp1252"),
    ("Ça va très bien, merci; le café coûte 3 €.", "cp1252"),
    ("Şişli'de görüşürüz, ığdır çok güzel.", "cp1254"),
    ("שלום, המחיר הוא מאה שקלים.", "cp1255"),
    ("مرحبا، السعر هو مائة دولار.", "cp1256"),
    ("Name;Ort\nMüller;Köln\n", "utf-16-be"),
    ("Name;Ort\nMüller;Köln\n", "utf-16-le"),
    ("plain words", "utf-16-le"),
    ("Grüße", "utf-16"),
    ("Grüße", "utf-8-sig"),
    ("Grüße", "utf-8"),
]


@pytest.mark.parametrize(("text", "encoding"), TEXTS)
async def test_a_text_is_read_in_its_encoding(text: str, encoding: str) -> None:
    found = await read("a.txt", text.encode(encoding), language="en")
    assert [part.text for part in found.parts] == [text] and not found.unread


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.xml", "<?xml version='1.0' encoding='{}'?>"),
        ("a.html", "<meta charset={}>"),
        ("a.py", "#!/usr/bin/python\n# -*- coding: {} -*-\n"),
        ("a.css", '@charset "{}";'),
        ("a.po", 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={}\\n"\n'),
    ],
)
async def test_a_declared_encoding_is_believed(name: str, head: str) -> None:
    found = await read(name, (head.format("iso-8859-7") + "έξι").encode("iso8859-7"))
    assert found.parts[0].text.endswith("έξι") and not found.is_encoding_doubtful


@pytest.mark.parametrize("named", ["utf-7", "rot13", "idna", "no-such", "unicode_escape"])
def test_an_encoding_that_no_text_has_is_not_believed(named: str) -> None:
    assert decoded(f"# coding: {named}\né+ADw-".encode())[0] == f"# coding: {named}\né+ADw-"


def test_the_language_of_the_person_makes_its_usual_encoding_certain() -> None:
    data = "Ça va très bien, merci; le café coûte 3 €.".encode("cp1252")
    assert [decoded(data, language)[1] for language in ("de", "ko")] == [False, True]


@pytest.mark.parametrize(("bad", "count"), [(b"Gr\xfc\xdfe", 2), (b"\xff", 1)])
async def test_a_bad_byte_spoils_one_character(bad: bytes, count: int) -> None:
    found = await read("a.txt", "Grüße, jaźń".encode() + b"\n" + bad)
    assert found.parts[0].text.startswith("Grüße, jaźń\n") and found.parts[0].text.count("\ufffd") == count
    assert dict(found.unread) == {UnreadThing.CHARACTER: count}


async def test_a_guess_between_two_encodings_is_doubtful_and_a_choice_decides() -> None:
    data = "Árvíztűrő tükörfúrógép".encode("cp1250")
    assert (await read("a.txt", data)).is_encoding_doubtful
    chosen = await read("a.txt", data, encoding="cp1251")
    assert chosen.parts[0].text == data.decode("cp1251") and (chosen.encoding, chosen.is_encoding_doubtful) == ("cp1251", False)


@pytest.mark.parametrize(
    ("text", "encoding", "language"),
    [
        ("订单", "gbk", "en"),
        ("预算:3", "gbk", "de"),
        ("予算3", "cp932", "en"),
        ("Да", "cp1251", "en"),
        ("Привет", "cp1251", "de"),
        ("안녕", "cp949", "en"),
        ("訂單", "big5", "en"),
    ],
)
def test_a_few_letters_are_not_enough_to_be_certain(text: str, encoding: str, language: str) -> None:
    assert decoded(text.encode(encoding), language)[1]


@pytest.mark.parametrize(
    ("text", "encoding", "language"),
    [
        ("Grüße", "cp1252", "de"),
        ("Name;Ort\nMüller;Köln\n", "cp1252", "en"),
        ("un café à Paris – 10 €", "cp1252", "en"),
        ("“Så”, sa Åsa", "cp1252", "de"),
    ],
)
def test_words_that_make_sense_in_one_script_alone_are_certain(text: str, encoding: str, language: str) -> None:
    assert decoded(text.encode(encoding), language) == (text, False)


@pytest.mark.parametrize(("text", "encoding", "language"), [("订单", "gbk", "zh-hans"), ("안녕", "cp949", "ko")])
def test_a_few_letters_are_read_in_the_language_of_the_person_and_doubtful(text: str, encoding: str, language: str) -> None:
    assert decoded(text.encode(encoding), language) == (text, True)


@pytest.mark.parametrize("encoding", [each for each in ENCODINGS if not each.startswith("utf-32")])
def test_every_encoding_can_be_chosen(encoding: str) -> None:
    text = "words and " + bytes(range(0xC1, 0xFB)).decode(encoding, "ignore")
    assert decoded(text.encode(encoding), chosen=encoding)[0] == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"line one\r\nline two\r\n\x1a", "line one\nline two\n"),
        (b"a text\n" + bytes(500), "a text\n"),
        ("Grüße aus Köln\x1a".encode(), "Grüße aus Köln"),
        (b"\x1b[31mERROR\x1b[0m failed\n\x1b]0;title\x07done\n", "ERROR failed\ndone\n"),
        (b"bell \x07 and backspace \x08\n" * 20, "bell  and backspace \n" * 20),
        (b"![a chart](data:image/png;base64," + b"iVBORw0KGg" * 1000 + b") after", "![a chart]([Picture: png, 7 kB]) after"),
        (b'{"f": "data:application/pdf;base64,' + b"AAAA" * 5000 + b'"}', '{"f": "[File: pdf, 15 kB]"}'),
        ("é data:image/png;base64,".encode() + b"A" * 100, "é [Picture: png, 1 kB]"),
        (b"data:image/png;base64,short", "data:image/png;base64,short"),
    ],
)
async def test_signs_of_old_programs_terminals_and_inline_pictures_are_no_text(data: bytes, text: str) -> None:
    found = await read("a.txt", data)
    assert [part.text for part in found.parts] == [text] and not found.is_cut


async def test_a_picture_does_not_use_up_the_limit_of_text() -> None:
    found = await read("a.md", b"![](data:image/png;base64," + b"A" * 6_000_000 + b")\nthe end")
    assert found.parts[0].text.endswith("the end") and not found.is_cut


@pytest.mark.parametrize("data", [bytes(100), b"\x1a", b"ab\0\x01\x02\x03" * 100, bytes(range(256)) * 20])
async def test_what_is_no_text_is_still_refused(data: bytes) -> None:
    assert (await read("a.txt", data)).reason in (NoTextReason.TYPE, NoTextReason.BLANK)


async def test_letters_in_utf_7_are_not_read_but_counted() -> None:
    found = await read("a.txt", b"Gr+APwA3w-e")
    assert found.parts[0].text == "Gr+APwA3w-e" and dict(found.unread) == {UnreadThing.CHARACTER: 1}
