"""The values in answers: found by JSONPaths, put into the order of the card's classes, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.targets.target import TargetCard, TargetRead, compiled
from leakrange.wire.errors import InvalidInput
from leakrange.wire.tensors import release_array

__all__ = ["captured", "in_order", "read_values", "released"]


def captured(answer: Any, path: str) -> Any:
    """The first value at ``path``. Raises `InvalidInput` if there is none."""
    nodes = compiled(path).findall(answer)
    if not nodes:
        raise InvalidInput(f"the answer has nothing at {path}")
    return nodes[0]


def read_values(answer: Any, read: TargetRead, card: TargetCard, samples: int) -> NDArray[np.float32]:
    """The release (samples, N) in a parsed JSON answer to a request of so many samples.

    Raises `InvalidInput`, which says what of the answer does not fit ``read`` or ``card``.
    """
    if read.each is None:
        nodes: Sequence[Any] = [answer] if samples == 1 else _split(answer, read, samples)
    else:
        nodes = compiled(read.each).findall(answer)
    if len(nodes) != samples:
        raise InvalidInput(f"{samples} samples were sent, and the answer holds {len(nodes)}")
    rows = [_row(node, read, card) for node in nodes]
    if len(lengths := {len(row) for row in rows}) > 1:
        raise InvalidInput(
            f"the answer has {min(lengths)} values for one sample and {max(lengths)} for another"
        )
    return released(np.array(rows, dtype=np.float64), card, samples)


def in_order(values: NDArray[Any], card: TargetCard) -> NDArray[Any]:
    """The columns of values (B, N) in the order of the card's classes. Others than N classes are refused
    later."""
    if card.order is None or values.ndim != 2 or values.shape[1] != len(card.order):
        return values
    return values[:, [card.order.index(name) for name in card.classes]]


def released(values: NDArray[Any], card: TargetCard, samples: int) -> NDArray[np.float32]:
    """Check that ``values`` are the release (samples, N) of the card. Raises `InvalidInput`."""
    if values.ndim == 1 and card.width == 1:
        values = values[:, np.newaxis]
    if values.shape != (samples, card.width):
        raise InvalidInput(
            f"the values have shape {values.shape}, and not ({samples}, {card.width})",
            hint="compare the paths of 'read' with an answer, and the card's classes",
        )
    return release_array(values, max_samples=samples)


class _Both(dict[str, list[Any]]):
    """The matches of ``values`` and ``labels`` that belong to one sample."""


def _split(answer: Any, read: TargetRead, samples: int) -> list[_Both]:
    """The matches in the whole answer, an equal part for each sample in order."""
    parts = [_Both() for _ in range(samples)]
    for name in ("values", "labels"):
        if (path := getattr(read, name)) is None:
            continue
        matches = compiled(path).findall(answer)
        if len(matches) == 1 and isinstance(matches[0], list):
            matches = matches[0]
        if not matches or len(matches) % samples:
            raise InvalidInput(f"{len(matches)} matches of {path} cannot be those of {samples} samples")
        share = len(matches) // samples
        for place, part in enumerate(parts):
            part[name] = matches[place * share : (place + 1) * share]
    return parts


def _matches(node: Any, name: str, path: str | None) -> list[Any] | None:
    """The values of one sample, flat."""
    if path is None:
        return None
    matches = node.get(name) if isinstance(node, _Both) else compiled(path).findall(node)
    while isinstance(matches, list) and len(matches) == 1 and isinstance(matches[0], list | dict):
        matches = matches[0]
    return matches


def _row(node: Any, read: TargetRead, card: TargetCard) -> list[float]:
    values, labels = _matches(node, "values", read.values), _matches(node, "labels", read.labels)
    if isinstance(values, dict):  # by class
        values, labels = list(values.values()), list(values)
    if labels is not None and not isinstance(labels, list):
        labels = [labels]
    if values is None:
        return _decided(labels or [], card)
    if not isinstance(values, list):
        values = [values]
    if not values and read.missing is not None and labels is None:
        return [read.missing] * card.width
    numbers = [read.scale * _number(each) + read.offset for each in values]
    if read.of is not None:
        return _of_two(numbers, read.of, card)
    if labels is not None:
        return _by_class(numbers, labels, read, card)
    row: list[float] = in_order(np.array([numbers]), card)[0].tolist()
    return row


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{str(value)[:60]!r} stands where a number is expected")
    return float(value)


def _decided(labels: list[Any], card: TargetCard) -> list[float]:
    """1 for the class of the label, 0 for all others."""
    if len(labels) != 1:
        raise InvalidInput(f"{len(labels)} labels of one sample: one decides")
    row = [0.0] * len(card.classes)
    row[_class(labels[0], card)] = 1.0
    return row


def _class(label: Any, card: TargetCard) -> int:
    """The place of a class: by its name, or by its number where no class has that name."""
    name = card.means.get(str(label), str(label))
    if name in card.classes:
        return card.classes.index(name)
    if isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(card.classes):
        return label if card.order is None else card.classes.index(card.order[label])
    raise InvalidInput(
        f"{str(label)[:60]!r} is none of the card's classes: {', '.join(card.classes[:20])}",
        hint="name them as the answer does, or say which class each label 'means': {leave: exited}",
    )


def _of_two(numbers: list[float], of: str, card: TargetCard) -> list[float]:
    if len(numbers) != 1 or len(card.classes) != 2:
        raise InvalidInput(f"'of' is for one value of two classes; there are {len(numbers)} values")
    row = [1.0 - numbers[0]] * 2
    row[_class(of, card)] = numbers[0]
    return row


def _by_class(numbers: list[float], labels: list[Any], read: TargetRead, card: TargetCard) -> list[float]:
    if len(numbers) != len(labels):
        raise InvalidInput(f"{len(numbers)} values beside {len(labels)} labels")
    row: list[float | None] = [None] * len(card.classes)
    for number, label in zip(numbers, labels, strict=True):
        place = _class(label, card)
        if row[place] is not None:
            raise InvalidInput(f"two values of the class {card.classes[place]!r}")
        row[place] = number
    if None in row and read.missing is None:
        absent = card.classes[row.index(None)]
        raise InvalidInput(
            f"the answer has no value of the class {absent!r}",
            hint="where it tells the greatest alone, set 'read: {missing: 0}' and 'card: {answers: top}'",
        )
    return [read.missing if each is None else each for each in row]  # type: ignore[misc]
