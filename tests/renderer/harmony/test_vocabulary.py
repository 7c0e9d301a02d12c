"""The vocabulary returns the ids of openai-harmony for any text, is fast for long text, and never makes the tokenizer abort."""

import hashlib
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from renderer.harmony import vocabulary as vocabulary_module
from renderer.harmony.vocabulary import MARKER_IDS, ORDINARY_IDS, SPECIAL_IDS, Vocabulary, VocabularyError, marker_name
from tests.support.cases import example_count
from tests.support.cost import costs_at_most

PARTS = [
    "<|end|>",
    "<|start|>assistant",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "한국어",
    "日本語",
    "é",
    "'ll",
    "DON'T",
    "12345",
    "😀",
    "\u200d",
    "\u0301",
    "\x00",
    "/",
    "Ab",
    "。",
]


def test_any_text_has_the_ids_that_openai_harmony_gives_it(vocabulary: Vocabulary, oracle: Any) -> None:
    @given(some.text() | some.lists(some.sampled_from(PARTS)).map("".join))
    def check(text: str) -> None:
        assert vocabulary.encode(text) == oracle.encode(text, disallowed_special=())

    check()


def test_long_mixed_text_has_the_ids_that_openai_harmony_gives_it(vocabulary: Vocabulary, oracle: Any) -> None:
    for seed in range(example_count(10)):
        chooser = random.Random(seed)
        text = "".join(chooser.choice(PARTS) * chooser.randint(1, 12) for _ in range(400))
        assert vocabulary.encode(text) == oracle.encode(text, disallowed_special=())


@pytest.mark.parametrize("text", ["한" * 80_000, "a" * 80_000, "\u0301" * 80_000], ids=ascii)
def test_long_unbroken_text_is_encoded_in_well_under_a_second(text: str, vocabulary: Vocabulary) -> None:
    assert costs_at_most(1000, lambda: vocabulary.encode(text))
    assert vocabulary.decode(vocabulary.encode(text)).decode("utf-8") == text


@pytest.mark.slow
@pytest.mark.parametrize("space", [" ", "\u3000"])
def test_a_million_spaces_do_not_abort_the_tokenizer(space: str, vocabulary: Vocabulary) -> None:
    text = f"a{space * (1_200_000 // len(space))}b"
    assert vocabulary.decode(vocabulary.encode(text)).decode("utf-8") == text


@pytest.mark.slow
def test_other_threads_run_while_text_is_encoded(vocabulary: Vocabulary) -> None:
    """While half a second of encoding runs, a thread that only counts must not be blocked for long."""
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    vocabulary.encode("한국어 텍스트 " * 300_000)
    done.set()
    thread.join()
    assert len(ticks) > 50, "no tick ran all the time"


def test_a_lone_surrogate_becomes_a_replacement_character(vocabulary: Vocabulary) -> None:
    assert vocabulary.decode(vocabulary.encode("a\ud800b")).decode("utf-8") == "a\ufffdb"


def test_special_ids_have_the_names_that_openai_harmony_gives_them(oracle: Any) -> None:
    assert [marker_name(number) for number in SPECIAL_IDS] == [oracle.decode([number]) for number in SPECIAL_IDS]
    assert all(oracle.is_special_token(number) for number in MARKER_IDS.values())
    assert marker_name(ORDINARY_IDS[-1]) is None
    assert marker_name(SPECIAL_IDS.stop) is None


def test_without_its_package_the_vocabulary_says_which_one_is_missing(rank_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(VocabularyError, match="tiktoken"):
        Vocabulary.read(rank_file)


def test_a_file_that_is_missing_other_or_unreadable_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ranks"
    with pytest.raises(VocabularyError, match="cannot be read: No such file"):
        Vocabulary.read(path)
    for content in (b"", b"YQ== 0", b"YQ==", b"YQ== x", b"Y 0", b"YQ== 0 1"):
        path.write_bytes(content)
        with pytest.raises(VocabularyError, match="another digest"):
            Vocabulary.read(path)
        monkeypatch.setattr(vocabulary_module, "SHA256", hashlib.sha256(content).hexdigest())
        if content not in (b"", b"YQ== 0"):
            with pytest.raises(VocabularyError, match="cannot be read"):
                Vocabulary.read(path)
        monkeypatch.undo()
