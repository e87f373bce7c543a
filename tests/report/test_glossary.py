"""Reports, pages and documentation explain a word by the same plain sentence."""

from __future__ import annotations

import re

import pytest

from leakrange.report.glossary import glossary, meaning


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
