"""Providers whose own decoder no attack asked: the figures do not show what they read of their users."""

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
    """Return a sentence for each kind of decoder that no attack of these, or of these planned, trials
    asks."""
    kinds: dict[tuple[str, str], set[str]] = {}
    for trial in trials:
        kinds.setdefault((trial.behaviour.partition("/")[0], trial.provider), set()).add(trial.kind)
    sentences = []
    for family, (kind, attack) in DECODERS.items():
        names = [
            f"“{provider}”"
            for (behaviour, provider), tried in kinds.items()
            if behaviour == family and kind not in tried
        ]
        if names:
            what = f"What the {family} provider{'s' if len(names) > 1 else ''} {', '.join(names)}"
            reads, them = ("read of their", "them") if len(names) > 1 else ("reads of its", "it")
            sentences.append(f"{what} {reads} users is not measured: no attack on {them} is a {attack}.")
    return sentences
