"""Teachers that memorise their members' pictures more or less than that of the paper's tables."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["TEACHERS", "WAYS", "taught"]

TEACHERS = ("plain 2", "", "plain 8", "plain 12", "varied 8", "varied 20", "margin 20")
"""Teachers by their way of training and number of epochs; the one without a name is that of all other
tables."""
WAYS: Mapping[str, str] = MappingProxyType(
    {
        "plain": "as in the other tables, the last epoch kept",
        "varied": "pictures mirrored, moved and lit at random, the epoch kept that knows strangers best",
        "margin": "the same by cosines with a margin (CosFace)",
    }
)
COSINES: Mapping[str, Any] = MappingProxyType({"method": "margin", "scale": 16.0, "margin": 0.2})


def taught(teacher: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a provider, and those of its schedule, in which that teacher differs from the one of all
    other tables. Raises `ValueError` for one that is trained in none of the `WAYS`."""
    if not teacher:
        return {}, {}
    way, _, epochs = teacher.partition(" ")
    if way not in WAYS:
        raise ValueError(f"no teacher is trained {way!r}; there are: {', '.join(WAYS)}")
    varied = {"augment": "varied", "select": "strangers"}
    schedule = {"epochs": int(epochs), **({"select": "last"} if way == "plain" else varied)}
    return dict(COSINES) if way == "margin" else {}, schedule
