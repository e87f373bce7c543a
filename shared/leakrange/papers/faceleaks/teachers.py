"""Teachers that memorise their members' pictures more or less than that of the paper's tables."""

from __future__ import annotations

__all__ = ["TEACHERS", "taught"]

TEACHERS = ("plain 2", "", "plain 8", "plain 12", "varied 8", "varied 20", "margin 20")
"""Teachers by their way of training and number of epochs; the one without a name is that of all other
tables."""
WAYS = ("plain", "varied", "margin")


def taught(teacher: str) -> tuple[str, int | None]:
    """The way in which a teacher is trained, and for how many epochs; empty and None for that of all other
    tables. Raises `ValueError` for one that is trained in none of the `WAYS`."""
    if not teacher:
        return "", None
    way, _, epochs = teacher.partition(" ")
    if way not in WAYS:
        raise ValueError(f"no teacher is trained {way!r}; there are: {', '.join(WAYS)}")
    return way, int(epochs)
