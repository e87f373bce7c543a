"""In which order the paper finds TAPPFL's levels of privacy."""

from __future__ import annotations

from leakrange.papers.orderings import Claim

__all__ = ["CLAIMS"]

STALE = "a device trains in two or three rounds of all: its adversary is out of date (docs/representation.md)"

CLAIMS = (
    Claim(
        "λ of .75 hides more than 0 from the devices' own adversaries",
        {"level": "0", "method": "TAPPFL"},
        {"level": "0.75"},
        "local_curiosity",
    ),
    Claim(
        "λ of .75 hides more than 0 from a fresh attacker",
        {"level": "0", "method": "TAPPFL"},
        {"level": "0.75"},
        "curiosity",
        why=STALE,
    ),
    Claim(
        "λ of .75 costs accuracy against 0",
        {"level": "0", "method": "TAPPFL"},
        {"level": "0.75"},
        "honesty",
        why="the small net is far below the accuracy that there is to lose",
    ),
)
