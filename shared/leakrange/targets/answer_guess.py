"""What an answer to one sample says: where its values stand, what they are, and of which classes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from leakrange.wire.errors import InvalidInput
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Answers

__all__ = ["UNNAMED", "AnswerGuess", "guess_answer", "guess_values"]

MOST_NODES = 200_000
"""Parts of an answer that are looked at."""
MOST_LOGITS = 20
"""More numbers without names that are no probabilities are taken for features."""
SLACK = 0.01
"""By how much the sum of rounded probabilities may differ from 1."""
UNNAMED = "another"
"""Stands for classes that an answer does not name."""
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LABEL = re.compile(r"label|class|categor|decision|predict|name|tag", re.IGNORECASE)
_VALUE = re.compile(r"prob|score|conf|similar|distance|value|output|result|predict", re.IGNORECASE)

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class AnswerGuess:
    """What an answer says of a target. ``reason`` tells it in words; ``doubts`` are questions that the answer
    leaves open, by the field of the card or of ``read`` that they concern."""

    release: ReleaseKind
    count: int
    reason: str
    classes: tuple[str, ...] | None = None
    answers: Answers = "all"
    read: dict[str, Any] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Candidate:
    """Values that may be those: where they stand below ``path``, and how likely that is."""

    path: Path
    rank: float
    numbers: tuple[float, ...]
    labels: tuple[str, ...] | None = None
    values_in: str | None = ""
    labels_in: str | None = None
    beside: Path | None = None


def guess_answer(answer: Any, *, many: bool) -> AnswerGuess:
    """Guess from the parsed answer to one sample; ``many`` says that a request may hold several. Raises
    `InvalidInput` for an answer without numbers and labels."""
    candidates = [each for path, node in _nodes(answer) for each in _candidates(answer, path, node)]
    if not candidates:
        raise InvalidInput(
            "nothing in the answer looks like values or labels",
            hint="write 'read' by hand: it says where the values stand",
        )
    best = max(candidates, key=lambda each: each.rank)
    if not best.numbers:
        return _decided(best, _read(answer, best, many))
    plain = guess_values(best.numbers, best.labels)
    return AnswerGuess(
        plain.release,
        plain.count,
        plain.reason,
        plain.classes,
        plain.answers,
        _read(answer, best, many) | plain.read,
        plain.doubts,
    )


def guess_values(numbers: Sequence[float], labels: Sequence[str] | None = None) -> AnswerGuess:
    """Guess what the numbers of one sample are, beside the labels of each where there are some."""
    count, total = len(numbers), sum(numbers)
    shares = all(0 <= number <= 1 for number in numbers)
    classes = None if labels is None else tuple(labels)
    unnamed = {} if labels else {"classes": "the answer names no classes: write their names, in its order"}
    if count > 1 and shares and abs(total - 1) <= SLACK:
        return AnswerGuess(
            "softmax", count, f"{_many(count)} that sum to 1: softmax", classes, doubts=unnamed
        )
    if count > 1 and abs(total - 100) <= 100 * SLACK and min(numbers) >= 0:
        reason = f"{_many(count)} that sum to 100: softmax in percent"
        return AnswerGuess("softmax", count, reason, classes, read={"scale": 0.01}, doubts=unnamed)
    if labels is not None and shares and total < 1:
        return _greatest(count, total, tuple(labels))
    if count == 1 and shares and labels is None:
        doubts = {
            "of": "which class is this number the probability of?",
            "classes": "name the two classes, in the order that the release is to have",
        }
        reason = "one number between 0 and 1: the probability of one class of two"
        return AnswerGuess("softmax", 2, reason, read={"of": "yes"}, classes=("no", "yes"), doubts=doubts)
    if count > 1 and (labels is not None or count <= MOST_LOGITS):
        doubts = {"release": "are these scores of classes, before a softmax?", **unnamed}
        reason = f"{_many(count)} that sum to {total:.3g}: logits"
        return AnswerGuess("logits", count, reason, classes, doubts=doubts)
    doubts = {"release": "is this a vector that describes the sample, and no list of classes?"}
    return AnswerGuess("features", count, f"{_many(count)} without names: features", doubts=doubts)


def _greatest(count: int, total: float, labels: tuple[str, ...]) -> AnswerGuess:
    doubts = {"classes": "the answer names some of the classes: write all of them"}
    return AnswerGuess(
        "softmax",
        count,
        f"{_many(count)} with a label, {total:.3g} in all: the greatest of a softmax",
        labels if len(labels) > 1 else (*labels, UNNAMED),
        "top",
        {"missing": 0.0},
        doubts,
    )


def _decided(best: _Candidate, read: dict[str, Any]) -> AnswerGuess:
    [label] = best.labels or ("",)
    doubts = {"classes": "the answer names one class: write all of them, as the target spells them"}
    reason = f"a label alone ({label[:40]!r}), without numbers: the class that was decided on"
    return AnswerGuess("softmax", 1, reason, (label, UNNAMED), "labels", read, doubts)


def _many(count: int) -> str:
    word = _WORDS[count] if count < len(_WORDS) else f"{count:,}"
    return f"{word} number{'' if count == 1 else 's'}"


def _nodes(answer: Any) -> Iterator[tuple[Path, Any]]:
    """All parts of the answer with their paths, from the outside in."""
    waiting: list[tuple[Path, Any]] = [((), answer)]
    for _ in range(MOST_NODES):
        if not waiting:
            return
        path, node = waiting.pop()
        yield path, node
        if isinstance(node, dict):
            waiting += [((*path, name), value) for name, value in node.items()]
        elif isinstance(node, list) and not _numeric(node):
            waiting += [((*path, place), value) for place, value in enumerate(node)]


def _candidates(answer: Any, path: Path, node: Any) -> Iterator[_Candidate]:
    name = str(path[-1]) if path else ""
    if isinstance(node, list) and _numeric(node):
        numbers, (beside, labels) = tuple(map(float, node)), _labels_beside(answer, path, len(node))
        yield _Candidate(path, _rank(numbers, labels, name), numbers, labels, beside=beside)
    elif isinstance(node, list):
        yield from _labelled(path, node)
    elif isinstance(node, dict) and len(node) > 1 and _numeric(list(node.values())):
        numbers, labels = tuple(map(float, node.values())), tuple(map(str, node))
        if abs(sum(numbers) - 1) <= SLACK or _VALUE.search(name):
            yield _Candidate(path, _rank(numbers, labels, name), numbers, labels)
    elif _is_number(node) and isinstance(path[-1] if path else None, str) and _VALUE.search(name):
        yield _Candidate(path, 0.5 + (0 <= node <= 1) / 4, (float(node),))
    elif isinstance(node, str) and path and _LABEL.search(str(_name_of(path))):
        yield _Candidate(path, 0.25, (), (node,), values_in=None, labels_in="")


def _labelled(path: Path, node: list[Any]) -> Iterator[_Candidate]:
    """A list of objects, each with a label and a number."""
    if not node or not all(isinstance(each, dict) and each.keys() == node[0].keys() for each in node):
        return
    texts = [key for key in node[0] if all(isinstance(each[key], str) for each in node)]
    values = [key for key in node[0] if _numeric([each[key] for each in node])]
    texts.sort(key=lambda key: _LABEL.search(key) is None)
    values.sort(key=lambda key: _VALUE.search(key) is None)
    if texts and values:
        numbers = tuple(float(each[values[0]]) for each in node)
        labels = tuple(each[texts[0]] for each in node)
        if len(set(labels)) == len(labels):
            rank = _rank(numbers, labels, values[0])
            yield _Candidate(path, rank, numbers, labels, f"[*]{_step(values[0])}", f"[*]{_step(texts[0])}")


def _labels_beside(answer: Any, path: Path, count: int) -> tuple[Path | None, tuple[str, ...] | None]:
    """Labels, as many as there are numbers at ``path``, in a list beside them."""
    above = _at(answer, path[:-1]) if path and isinstance(path[-1], str) else None
    for name, texts in above.items() if isinstance(above, dict) else ():
        listed = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        if listed and len(texts) == count == len(set(texts)) and _LABEL.search(name):
            return (*path[:-1], name), tuple(texts)
    return None, None


def _rank(numbers: tuple[float, ...], labels: tuple[str, ...] | None, name: str) -> float:
    """How likely these are the values: probabilities first, then what has labels, then the longer list."""
    total, likely = sum(numbers), 0.1 if _VALUE.search(name) else 0.0
    if len(numbers) > 1 and min(numbers) >= 0 and min(abs(total - 1), abs(total - 100) / 100) <= SLACK:
        return 5 + likely + (labels is not None) / 2
    if labels is not None:
        return (4 if len(numbers) > 1 else 2) + likely
    return (3 - 1 / len(numbers) if len(numbers) > 1 else 1) + likely


def _read(answer: Any, best: _Candidate, many: bool) -> dict[str, Any]:
    """The paths of ``read``."""
    path, each = best.path, None
    if (
        path
        and isinstance(tensor := _at(answer, path[:-1]), dict)
        and {"name", "shape", "datatype"} <= tensor.keys()
    ):
        named = str(tensor["name"]).replace("'", "")
        return {"values": f"${_steps(path[:-2])}[?@.name=='{named}']{_step(path[-1])}"}
    if many:
        lone = [place for place, part in enumerate(path) if part == 0 and len(_at(answer, path[:place])) == 1]
        if len(best.numbers) == 1 and best.values_in == "" and isinstance(_at(answer, path), list):
            each, path = f"${_steps(path)}[*]", ()
        elif len(best.numbers) == 1 and (best.values_in or "").startswith("[*]") and best.labels:
            each, path = f"${_steps(path)}[*]", ()
            best = _inside(best)
        elif lone:
            each, path = f"${_steps(path[: lone[-1]])}[*]", path[lone[-1] + 1 :]
    read = {} if each is None else {"each": each}
    if best.values_in is not None:
        read["values"] = f"${_steps(path)}{best.values_in}"
    if best.labels_in is not None:
        read["labels"] = f"${_steps(path)}{best.labels_in}"
    if best.beside is not None:
        read["labels"] = f"${_steps((*path[:-1], best.beside[-1]))}"
    return read


def _inside(best: _Candidate) -> _Candidate:
    values, labels = (best.values_in or "")[3:], (best.labels_in or "")[3:]
    return _Candidate(best.path, best.rank, best.numbers, best.labels, values, labels)


def _at(answer: Any, path: Path) -> Any:
    for part in path:
        answer = answer[part]
    return answer


def _name_of(path: Path) -> str:
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def _steps(path: Path) -> str:
    return "".join(_step(part) for part in path)


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if re.fullmatch(r"[A-Za-z_]\w*", part, re.ASCII) else f"[{orjson.dumps(part).decode()}]"


def _is_number(node: Any) -> bool:
    return isinstance(node, int | float) and not isinstance(node, bool)


def _numeric(nodes: list[Any]) -> bool:
    return bool(nodes) and all(map(_is_number, nodes))
