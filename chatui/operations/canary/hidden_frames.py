"""A frame of every kind that people without the permission must not see: imported by the command, stored and streamed by the tests."""

from __future__ import annotations

from chatui.operations.canary.scripts import Planter
from chatui.operations.canary.watch import Canary
from renderer.frame_kinds import SUMMARY_NAME
from renderer.frames import Frame, Header, Terminator, Transcript
from renderer.ocml import document


def hidden_headers(canary: Canary) -> dict[str, Header]:
    """One header of every kind that an end user must not see, by its kind. Some contain markers themselves."""
    name = f"functions.{canary.plant('name of a tool')}"
    return {
        "system": Header("system"),
        "developer": Header("developer"),
        "developer on final": Header("developer", channel="final"),
        "analysis": Header("assistant", channel="analysis"),
        "analysis preamble": Header("assistant", channel="analysis", intent="preamble"),
        "commentary without intent": Header("assistant", channel="commentary"),
        "commentary status": Header("assistant", channel="commentary", intent="status"),
        "commentary debug": Header("assistant", channel="commentary", intent="debug"),
        "final status": Header("assistant", channel="final", intent="status"),
        "final debug": Header("assistant", channel="final", intent="debug"),
        "final to a tool": Header("assistant", channel="final", recipient=name, call_id="c0"),
        "preamble to a tool": Header("assistant", channel="commentary", recipient=name, intent="preamble"),
        "tool call": Header("assistant", channel="commentary", recipient=name, call_id=canary.plant("id of a call"), constrain="json"),
        "tool reply": Header("tool", channel="commentary", recipient="assistant", name=name, call_id="c1"),
        "tool reply on final": Header("tool", channel="final", name=name),
        "tool without a name": Header("tool", channel="final"),
        "tool with a broken name": Header("tool", channel="final", name=f"{canary.plant('broken name')} !"),
        "legacy tool role": Header(name, channel="final"),
        "user on analysis": Header("user", channel="analysis"),
        "user debug": Header("user", intent="debug"),
        "unknown channel": Header("assistant", channel=canary.plant("unknown channel")),
        "unknown role": Header(canary.plant("unknown role"), channel="final"),
        "unknown role without channel": Header("critic"),
        "unknown intent": Header("assistant", channel="final", intent=canary.plant("unknown intent")),
        "unknown constraint": Header(
            "assistant", channel="analysis", constrain=canary.plant("constraint"), content_type=canary.plant("type")
        ),
        "broken role": Header(f"assistant {canary.plant('broken role')}", channel="final"),
        "broken channel": Header("assistant", channel=f"final {canary.plant('broken channel')}"),
        "empty channel": Header("assistant", channel=""),
        "broken recipient": Header("assistant", channel="final", recipient=f"<{canary.plant('broken recipient')}>"),
        "broken intent": Header("assistant", channel="final", intent=f"{canary.plant('broken intent')}\n"),
    }


def transcript(planter: Planter) -> str:
    """A document with all of them, as nearly as one can be written, and with a summary that is not the product's own. It ends with an
    answer."""
    headers = {**hidden_headers(planter.hidden), "summary": Header("assistant", channel="commentary", name=SUMMARY_NAME)}
    hidden = [Frame(header, planter.filled(f"{{?{name}}}"), Terminator.END) for name, header in headers.items()]
    frames = [
        *hidden[:2],
        Frame(Header("user"), "What does the canary import?", Terminator.END),
        *hidden[2:],
        Frame(Header("assistant", channel="final"), planter.filled("Imported {+final}."), Terminator.RETURN),
    ]
    return document.dump(Transcript(tuple(map(document.writable, frames))))
