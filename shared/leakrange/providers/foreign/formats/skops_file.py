"""Estimators of scikit-learn, saved by skops: types by name and arrays, no pickle."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.providers.foreign.card import FileCard
from leakrange.providers.foreign.format import FileFormat, FileNet, as_numbers, first_line, members
from leakrange.wire.errors import InvalidArtifact

__all__ = ["SkopsFile"]

METHODS = {"softmax": "predict_proba", "logits": "decision_function", "features": "transform"}
"""By the card's release, where it names no output."""
LISTED = 8
"""Types that a message names."""


class SkopsFile(FileFormat):
    """An estimator or a pipeline. Types that skops does not know to be harmless are made only for who trusts
    them."""

    name, title, file = "skops", "skops", "model.skops"
    packages = ("skops", "sklearn")

    @classmethod
    def holds(cls, content: bytes) -> bool:
        """See `FileFormat.holds`."""
        return "schema.json" in members(content)

    @classmethod
    def needs_trust(cls, content: bytes) -> bool:
        """See `FileFormat.needs_trust`: only where a type of the file is not of scikit-learn's own."""
        return bool(_untrusted(content))

    @classmethod
    def net(cls, content: bytes, card: FileCard, *, trusted: bool, threads: int) -> FileNet:  # noqa: ARG003
        """See `FileFormat.net`."""
        import skops.io

        unknown = _untrusted(content)
        if unknown and not trusted:
            listed = ", ".join(unknown[:LISTED]) + (", ..." if len(unknown) > LISTED else "")
            raise InvalidArtifact(
                f"the file makes objects that are not known to be harmless: {listed}. It was not opened",
                hint="look at these types: if you trust them and who made the file, add it with --trust; or"
                " convert the model to ONNX with skl2onnx",
            )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of another version of scikit-learn: the trial tells
                model = skops.io.loads(content, trusted=unknown)
        except Exception as error:  # whatever a type makes of what it is given
            raise InvalidArtifact(
                f"skops cannot read the file: {first_line(error)}",
                hint="save it again with the versions of scikit-learn and skops that are installed here",
            ) from error
        method = _method(model, card)

        def run(samples: NDArray[Any]) -> NDArray[np.float32]:
            return as_numbers(method(samples), f"{type(model).__name__}.{method.__name__}")

        return run


def _untrusted(content: bytes) -> list[str]:
    import skops.io

    try:
        types: list[str] = skops.io.get_untrusted_types(data=content)
    except Exception as error:  # its schema may hold anything
        raise InvalidArtifact(
            f"the file is a damaged skops file: {first_line(error)}", hint="copy or save it again"
        ) from error
    return types


def _method(model: Any, card: FileCard) -> Any:
    """The method of an estimator that gives the card's release. Raises `InvalidArtifact` if there is none,
    and where the estimator's own classes contradict the card."""
    name = card.output or METHODS[card.release]
    known = [each for each in sorted(METHODS.values()) if hasattr(model, each)]
    if name not in known:
        raise InvalidArtifact(
            f"the {type(model).__name__} in the file has no {name}",
            hint=f"write one of these as 'output' into the card: {', '.join(known) or 'it has none'}",
        )
    classes = getattr(model, "classes_", None)
    if card.classes and isinstance(classes, np.ndarray) and classes.dtype.kind in "US":
        there = tuple(map(str, classes))
        if there != card.classes:
            raise InvalidArtifact(
                f"the model's classes are {', '.join(there[:20])}; the card's are"
                f" {', '.join(card.classes[:20])}",
                hint="write them into the card in the model's order",
            )
    return getattr(model, name)
