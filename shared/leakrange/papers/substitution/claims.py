"""The paper's order of PASS and its rivals."""

from __future__ import annotations

from leakrange.papers.orderings import Claim

__all__ = ["CLAIMS"]

CLAIMS = (
    Claim(
        "PASS has the highest mean NAG",
        {"method": "PASS", "rate": ""},
        {},
        "mnag",
        why="sticky PASS is PASS that draws once",
    ),
    Claim(
        "more substitutes cost no useful attribute: digits",
        {"substitutes": "1024"},
        {"substitutes": "64"},
        "nag_digit",
        room=1.0,
    ),
)
