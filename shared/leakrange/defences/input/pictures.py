"""What input defences for pictures alone share."""

from __future__ import annotations

from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = ["misfit", "refuse_all_but_pictures"]


def misfit(name: str, spec: SampleSpec) -> str | None:
    """Why the defence of that name does not take samples of ``spec``; None where they are pictures."""
    if spec.encoding == "picture":
        return None
    return f"{name} is for pictures, not for samples that are a {spec.encoding}"


def refuse_all_but_pictures(name: str, spec: SampleSpec) -> None:
    """Raise `InvalidInput` where samples of ``spec`` are no pictures."""
    if reason := misfit(name, spec):
        raise InvalidInput(reason, hint="laplace-input and gaussian-input take samples of every kind")
