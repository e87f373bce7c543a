"""The paper's order of TAPPFL's levels of privacy, and of TAPPFL and its rivals."""

from __future__ import annotations

from leakrange.papers.orderings import Claim

__all__ = ["CLAIMS"]

KEPT = {"level": "0", "method": "TAPPFL"}
HIDDEN = {"level": "0.75", "method": "TAPPFL"}

CLAIMS = (
    Claim("λ of .75 hides more than 0 from the devices' own adversaries", KEPT, HIDDEN, "local_curiosity"),
    Claim("λ of .75 hides more than 0 from a fresh attacker", KEPT, HIDDEN, "curiosity"),
    Claim("λ of .75 hides more than 0 from a fresh attacker, by AUC", KEPT, HIDDEN, "auc"),
    Claim("λ of .75 costs accuracy against 0", KEPT, HIDDEN, "honesty"),
    Claim(
        "DPFE tells a fresh attacker more than λ of .75",
        {"method": "DPFE"},
        HIDDEN,
        "curiosity",
        differing=("level",),
    ),
    Claim(
        "DPFE tells a fresh attacker more than λ of .75, by AUC",
        {"method": "DPFE"},
        HIDDEN,
        "auc",
        differing=("level",),
    ),
    Claim("AT keeps more accuracy than λ of .75", {"method": "AT"}, HIDDEN, "honesty", differing=("level",)),
)
