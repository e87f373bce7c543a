"""The page of an audit's verdict."""

from __future__ import annotations

from leakrange.jobs.verdict import Verdict
from leakrange.report.rendering import page

__all__ = ["CHIPS", "HEADLINES", "verdict_page"]

HEADLINES = {
    "passes": "This model passes",
    "suspicious": "This model is suspicious",
    "undecided": "The audit does not decide about this model",
}
CHIPS = {"passes": "done", "suspicious": "failed", "undecided": "running"}


def verdict_page(verdict: Verdict) -> str:
    """The page as one self-contained HTML file."""
    return page("verdict.html.j2", verdict=verdict, headlines=HEADLINES, chips=CHIPS)
