"""The words of reports, pages and documentation, each with one plain sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import yaml
from markupsafe import Markup, escape

__all__ = ["explained", "glossary", "meaning"]

EVERYDAY = frozenset({
    "attack", "attacker", "cost", "defence", "guessing", "leakage", "leaks", "provider", "run", "sample",
    "scenario", "target", "trial", "utility", "verdict", "victim",
})  # fmt: skip
"""Words that a page does not mark, since it would be full of marks; the glossary has them."""


@cache
def glossary() -> Mapping[str, str]:
    """Every term with its sentence, in the order of the alphabet."""
    text = files("leakrange.report").joinpath("glossary.yaml").read_text(encoding="utf-8")
    return MappingProxyType(yaml.safe_load(text))


def explained(text: str) -> Markup:
    """The text for a page, where the first use of each word of the glossary shows its sentence to who points
    at it; words that everybody knows are left as they are."""
    marked = set[str]()

    def mark(match: re.Match[str]) -> str:
        term = match.group(0)
        if term.casefold() in marked:
            return term
        marked.add(term.casefold())
        return Markup('<abbr title="{}">{}</abbr>').format(meaning(term), Markup(term))

    return Markup(_terms().sub(mark, str(escape(text))))


@cache
def _terms() -> re.Pattern[str]:
    """The words that are marked, the longest first."""
    terms = sorted((term for term in glossary() if term not in EVERYDAY), key=len, reverse=True)
    return re.compile(rf"(?<![\w“&-])(?:{'|'.join(map(re.escape, terms))})(?![\w”-])", re.IGNORECASE)


@cache
def _by_small_letters() -> dict[str, str]:
    return {term.casefold(): sentence for term, sentence in glossary().items()}


def meaning(term: str) -> str:
    """The sentence that explains ``term``, in capital or small letters.

    Raises KeyError where the glossary does not have it."""
    return _by_small_letters()[term.casefold()]
