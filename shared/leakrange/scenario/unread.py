"""Providers whose own decoder nobody asked: what they read of their users is not among the figures."""

from __future__ import annotations

from collections.abc import Iterable

from leakrange.scenario.results import Varied

__all__ = ["unread_decoders"]

DECODERS = {
    "curious": ("decoder", "curious-decoder"),
    "vicious": ("reconstruction-decoder", "vicious-decoder"),
}
"""By what providers do, the kind and the name of the attack that is their own decoder."""


def unread_decoders(trials: Iterable[Varied]) -> list[str]:
    """A sentence for each kind of decoder that no attack asks, of these trials or planned ones."""
    kinds: dict[tuple[str, str], set[str]] = {}
    for trial in trials:
        kinds.setdefault((trial.behaviour.partition("/")[0], trial.provider), set()).add(trial.kind)
    said = []
    for family, (kind, attack) in DECODERS.items():
        names = [
            f"“{provider}”"
            for (behaviour, provider), tried in kinds.items()
            if behaviour == family and kind not in tried
        ]
        if names:
            what = f"What the {family} provider{'s' if len(names) > 1 else ''} {', '.join(names)}"
            reads, them = ("read of their", "them") if len(names) > 1 else ("reads of its", "it")
            said.append(f"{what} {reads} users is not measured: no attack on {them} is a {attack}.")
    return said
