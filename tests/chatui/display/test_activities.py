"""Lines of reasoning summaries in the languages of the pages."""

from __future__ import annotations

import pytest
from django.utils.translation import gettext, override

from chatui.display import activities
from chatui.site.languages import LANGUAGES
from renderer.activities.activity import Activity
from renderer.activities.kinds import KINDS


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_kind_has_a_sentence_in_every_language(kind):
    for pattern in filter(None, (kind.sentence, kind.named)):
        about = ("one", "two")[: pattern.count("{}")]
        line = activities.line(Activity(kind.name, about))
        assert line.sentences.keys() == set(LANGUAGES)
        assert line.sentences["en"] == pattern
        assert len(set(line.sentences.values())) == len(LANGUAGES), "each language has its own"
        assert all(sentence.count("{}") == len(about) for sentence in line.sentences.values())
        assert all(len(sentence) <= 50 for sentence in line.sentences.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_kinds_have_the_same_sentence(language):
    patterns = [pattern for kind in KINDS.values() for pattern in (kind.sentence, kind.named) if pattern]
    with override(language):
        assert len({gettext(pattern) for pattern in patterns}) == len(patterns)
