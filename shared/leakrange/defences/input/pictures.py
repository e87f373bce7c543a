"""What input defences for pictures alone share."""

from __future__ import annotations

from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = ["refuse_all_but_pictures"]


def refuse_all_but_pictures(name: str, spec: SampleSpec) -> None:
    """Raise `InvalidInput` where samples of ``spec`` are no pictures; ``name`` is the defence's."""
    if spec.encoding != "picture":
        raise InvalidInput(
            f"{name} is for pictures, not for samples that are a {spec.encoding}",
            hint="laplace-input and gaussian-input take samples of every kind",
        )
