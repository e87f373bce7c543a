"""The papers' order of the attacks, with the same number of shadow models."""

from __future__ import annotations

from types import MappingProxyType

from leakrange.papers.orderings import Claim

__all__ = ["CLAIMS"]

LOW = MappingProxyType({"tpr_at_001": "TPR at 1 % FPR", "tpr_at_0001": "TPR at 0.1 % FPR"})
USUAL = {"variance": "", "gamma": "", "a": ""}


def _attack(kind: str, mode: str) -> dict[str, str]:
    return USUAL | {"attack": kind, "mode": mode}


CLAIMS = (
    *(
        Claim(f"{text}: {title}", _attack(*ahead), _attack(*behind), figure)
        for text, ahead, behind in (
            ("RMIA offline is ahead of LiRA offline", ("rmia", "offline"), ("lira", "offline")),
            ("RMIA online is ahead of LiRA online", ("rmia", "online"), ("lira", "online")),
            ("LiRA online is ahead of LiRA offline", ("lira", "online"), ("lira", "offline")),
            ("RMIA online is ahead of RMIA offline", ("rmia", "online"), ("rmia", "offline")),
        )
        for figure, title in {"auc": "AUC", **LOW}.items()
    ),
    *(
        Claim(
            f"the loss threshold is last: {title}",
            USUAL,
            USUAL | {"attack": "loss-threshold"},
            figure,
            differing=("mode", "shadows"),
        )
        for figure, title in LOW.items()
    ),
)
