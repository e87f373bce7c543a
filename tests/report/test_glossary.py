"""Reports, pages and documentation explain a word by the same plain sentence."""

from __future__ import annotations

import re

import pytest

from leakrange.report.glossary import explained, glossary, meaning


def test_a_word_is_found_as_a_page_writes_it() -> None:
    assert meaning("Auc") == meaning("AUC")
    assert "0.5 is guessing" in meaning("AUC")
    with pytest.raises(KeyError):
        meaning("a word of another house")


def test_the_words_stand_in_the_order_of_the_alphabet() -> None:
    terms = list(glossary())
    assert len(terms) > 50
    assert terms == sorted(terms, key=str.casefold)


@pytest.mark.parametrize(("term", "sentence"), glossary().items())
def test_each_word_has_one_short_sentence(term: str, sentence: str) -> None:
    assert re.fullmatch(r"[A-Z][^.\n]*(?:\.\d[^.\n]*)*\.", sentence), sentence
    assert len(sentence.split()) <= 30, sentence


def test_a_page_explains_the_first_use_of_a_word_and_no_part_of_another() -> None:
    shown = str(explained("AUC <b>of</b> budgets, a budget, AUC; “auc”, auc-like"))
    mark = '<abbr title="{}">{}</abbr>'.format
    auc, budget = mark(meaning("AUC"), "AUC"), mark(meaning("budget"), "budget")
    assert shown == f"{auc} &lt;b&gt;of&lt;/b&gt; budgets, a {budget}, AUC; “auc”, auc-like"
    assert str(explained("TPR at FPR")).count("<abbr") == 1
    assert str(explained("the attack of a run")) == "the attack of a run"
