"""What stands beside a header that lost its tokens never saves what follows it, however the text comes in pieces."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from chatui.backends.separation import Separation
from tests.chatui.backends.test_leak_shapes import least
from tests.support.answer_text import AnswerText
from tests.support.cases import example_count

ANY = st.text(st.characters(codec="utf-8", exclude_characters="`~<[\\◁"), max_size=20)
"""Text without code, or what begins it."""
ENDINGS = st.sampled_from(
    ['"yes"', "“Ja”", "**Save**,", "https://a.b/c", "are:", "use `x`", "is 4", "好", "👋", "(so)", "*", "\u200b", "", "\n"]
)
HEADERS = st.sampled_from(["assistantanalysis", "assistantcommentary", "assistant\nanalysis"])
BEGINNINGS = st.sampled_from(['"What" ', "(The user ", "1. ", "用户", "We need ", ", ", "是 ", ""])
TOOLS = st.sampled_from(["functions.get_weather", "browser.search", "container.exec", "multi_tool_use.parallel", "analysis", "commentary"])
KINDS = st.sampled_from(["", " ", "json", " json", "code", " code ", ": ", "\n", " json\n"])
SECRET = "SECRET"


def ever_shown(text: str, separation: Separation) -> str:
    """All that was ever shown: as one piece, in two, and character by character; which makes a difference of one letter at most."""
    ways = ([text], list(text), *([text[:at], text[at:]] for at in range(1, len(text), 4)))
    return least({AnswerText(separation).whole(pieces) for pieces in ways})


@settings(max_examples=example_count(300), database=None, deadline=None)
@given(ANY, ENDINGS, HEADERS, BEGINNINGS)
@example("He said ", '"yes" ', "assistantanalysis", "We need ")
@example("\u200b", " ", "assistantanalysis", "so ")
def test_without_proof_no_neighbour_makes_a_hidden_channels_header_a_mention(before: str, end: str, header: str, begin: str) -> None:
    assert SECRET not in ever_shown(f"{before}{end}{header}{begin}{SECRET}", Separation.UNPROVEN)


@settings(max_examples=example_count(300), database=None, deadline=None)
@given(ANY, ENDINGS.filter(str.strip), HEADERS, BEGINNINGS)
@example("", "\n\u200b", "assistantanalysis", "so ")
def test_a_header_that_is_attached_to_a_text_is_never_a_mention(before: str, end: str, header: str, begin: str) -> None:
    for separation in Separation:
        assert SECRET not in ever_shown(f"{before}{end}{header}{begin}{SECRET}", separation), separation


@settings(max_examples=example_count(300), database=None, deadline=None)
@given(ANY, ENDINGS, TOOLS, KINDS)
@example("", "", "commentary", " code")
@example("Let me see", " ", "functions.get_weather", " ")
def test_a_call_whose_recipient_lost_its_mark_is_hidden_beside_everything(before: str, end: str, tool: str, kind: str) -> None:
    for separation in Separation:
        assert SECRET not in ever_shown(f'{before}{end}{tool}{kind}{{"q": "{SECRET}"}}', separation), separation
