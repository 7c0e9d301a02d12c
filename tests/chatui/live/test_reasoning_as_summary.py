"""Reasoning that a trusted server labels as a summary is recognized in many languages."""

from __future__ import annotations

import pytest

from chatui.turns import summarizing


@pytest.mark.parametrize(
    "text",
    [
        "**Train 45 min, bike 30 => bike**",
        "Close the account, so the fee is lower",
        "17 * 23 = 391",
        "Which bank is best?",
        "Пользователь спрашивает про банк",
        "Надо сравнить банки",
        "المستخدم يريد مقارنة البنوك",
        "L'utente chiede della banca",
        "O usuário pergunta sobre o banco",
        "De gebruiker vraagt naar de bank",
        "Użytkownik pyta o bank",
        "Kullanıcı banka soruyor",
        "Tengo que comparar los bancos",
        "嗯，先看一下预算",
        "可能要比较银行",
        "たぶん銀行の比較",
        "Assume the fee is higher",
    ],
)
def test_it_is_recognized_as_reasoning(text: str) -> None:
    assert summarizing.read(text).is_reasoning


@pytest.mark.parametrize(
    "text", ["**Comparing banks**", "Сравнил банки", "Bancos comparados", "比较了银行", "قارن البنوك", "Confrontate le banche"]
)
def test_a_real_summary_is_not(text: str) -> None:
    assert not summarizing.read(text).is_reasoning
