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
    """One HTML file that needs nothing but itself."""
    return page("verdict.html.j2", verdict=verdict, headlines=HEADLINES, chips=CHIPS)
