"""The first run of a model file: does it give what its card says?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.providers.foreign.card import FileCard
from leakrange.providers.foreign.format import FileNet, first_line
from leakrange.providers.foreign.model import numbers
from leakrange.providers.foreign.prepared import probes
from leakrange.wire.errors import InvalidArtifact, LeakrangeError

__all__ = ["trial"]

SAMPLES = 5
NEAR = 5e-3
"""How near to 1 the sum of probabilities in float16 comes."""
LONGEST = 65_536
"""The most numbers of a release of features."""


def trial(net: FileNet, card: FileCard) -> tuple[int, str]:
    """Run a few samples of noise. Gives how many numbers a sample gets, and a sentence about them.

    Raises `InvalidArtifact`, which says what does not fit the card.
    """
    samples = probes(card, SAMPLES)
    try:
        values = numbers(net, samples, card)
        single = numbers(net, samples[-1:], card)
    except LeakrangeError:
        raise
    except MemoryError:
        raise
    except Exception as error:  # the code of others
        raise InvalidArtifact(
            f"the file cannot compute a sample of the card's shape: {first_line(error)}",
            hint="correct the card's input: encoding, shape or columns, layout",
        ) from error
    width = values.shape[1]
    if not np.isfinite(values).all():
        raise InvalidArtifact(
            f"the file gives values that are not finite for {_noise(card)}",
            hint="correct scale and offset in the card, or the model",
        )
    if not np.allclose(values[-1:], single, rtol=1e-2, atol=1e-3):
        raise InvalidArtifact(
            "the file gives a sample other numbers alone than among others",
            hint="export the model for inference (in eval mode), with a first axis of samples",
        )
    _check_width(width, card)
    _check_kind(values, card)
    return width, _described(values, card)


def _check_width(width: int, card: FileCard) -> None:
    if card.release == "features":
        if width > LONGEST:
            raise InvalidArtifact(f"the file gives {width} features for a sample; at most {LONGEST}")
        return
    if width == len(card.classes):
        return
    one = "; a single score of the second class is not served: have the model give one number a class"
    raise InvalidArtifact(
        f"the file gives {width} number{'s' if width != 1 else ''} for a sample, and the card names"
        f" {len(card.classes)} classes{one if width == 1 else ''}",
        hint="name every class in the card, in the order of the numbers, or another output",
    )


def _check_kind(values: NDArray[np.float32], card: FileCard) -> None:
    """Compare what the numbers look like with the card's release."""
    soft = _looks_soft(values)
    if card.release == "softmax" and not soft:
        raise InvalidArtifact(
            f"the card says softmax, and the file gives {_described(values, card)}",
            hint="write 'release: logits' if they are scores before a softmax, or name another output",
        )
    if card.release == "logits" and soft:
        raise InvalidArtifact(
            f"the card says logits, and the file gives {_described(values, card)}",
            hint="write 'release: softmax'",
        )


def _looks_soft(values: NDArray[np.float32]) -> bool:
    return bool((values >= -NEAR).all() and np.allclose(values.sum(axis=1), 1.0, atol=NEAR))


def _described(values: NDArray[np.float32], card: FileCard) -> str:
    """A phrase, such as "3 numbers that sum to 1: softmax"."""
    count = values.shape[1]
    if _looks_soft(values) and card.release != "features":
        return f"{count} numbers that sum to 1: softmax"
    between = f"{count} numbers between {values.min():.3g} and {values.max():.3g}"
    return between if card.release == "features" else f"{between} that do not sum to 1: logits"


def _noise(card: FileCard) -> str:
    return "pictures of noise" if card.input.dtype == "uint8" else "samples of noise"
