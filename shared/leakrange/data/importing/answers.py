"""Answers of a model that were recorded elsewhere, read from a file: what the model released for each record,
and what is known of the record."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.data.importing.answer_columns import AnswerColumns, class_labels
from leakrange.data.importing.files import records_of
from leakrange.data.importing.joined import JoinedRecords
from leakrange.data.importing.records import MOST_ROWS, Batch, Cells, Records
from leakrange.data.importing.roles import ImportedLabels, RoleColumn, attribute_labels, members
from leakrange.data.importing.survey import ColumnSurvey, encode
from leakrange.wire.errors import InvalidInput

__all__ = ["RecordedAnswers", "RecordedRelease", "read_answers"]

RecordedRelease = Literal["softmax", "logits", "features"]
MOST_NUMBERS = 2**28
"""Numbers in all answers: a gibibyte of float32."""
WHOLE = 0.05
"""How far the probabilities of an answer may be from 1 in sum: they may have been rounded."""


@dataclass(frozen=True)
class RecordedAnswers:
    """Answers of one model about N records; nobody can ask it for more.

    name: of the file. sha256: of its content. values: float32 (N, Y), finite; of a ``softmax`` each row sums
    to 1. classes: the Y names of the model's classes; of features the names of the values. target: the column
    of true classes, which are ``labels`` int64 (N,), -1 where unknown. members: bool (N,), who was trained
    on. hidden: an attribute of the records. group: int64 (N,), equal for records of one person. known:
    float32 (N, F), what is known of the records without the model. What the file does not say is None.
    unmatched: how many answers were left out, since nothing is known of whom they are about.
    """

    name: str
    sha256: str
    values: NDArray[np.float32]
    release: RecordedRelease
    classes: tuple[str, ...]
    target: str = ""
    labels: NDArray[np.int64] | None = None
    members: NDArray[np.bool_] | None = None
    hidden: ImportedLabels | None = None
    group: NDArray[np.int64] | None = None
    known: NDArray[np.float32] | None = None
    unmatched: int = 0

    @property
    def decisions(self) -> NDArray[np.int64] | None:
        """The class (N,) of the highest value of each answer; None of features, which decide nothing."""
        return None if self.release == "features" else self.values.argmax(axis=1).astype(np.int64)


def read_answers(
    path: Path,
    columns: AnswerColumns,
    release: RecordedRelease = "softmax",
    *,
    labels: Path | None = None,
    by: Sequence[str] = (),
) -> RecordedAnswers:
    """Read a CSV, Parquet or npz file. A single column of scores is that of the second of two classes.

    Further columns may lie in a file of ``labels``, whose rows belong to those with the same values in the
    columns ``by``; answers without such a row are left out.

    Raises `InvalidInput` for a file that is broken, answers that are no numbers or no probabilities, and
    columns that do not say what they should, each with the row or the column.
    """
    records = records_of(path)
    if labels is not None:
        records = JoinedRecords(records, records_of(labels), by)
    scores = columns.check(records.columns)
    roles = {name: RoleColumn(name) for name in columns.roles}
    surveys = [ColumnSurvey(name) for name in columns.known]
    parts: list[NDArray[np.float32]] = []
    rows = 0
    for batch in records.batches():
        parts.append(_released(batch, scores, release, rows + 1))
        rows += len(parts[-1])
        if rows > MOST_ROWS or rows * len(scores) > MOST_NUMBERS:
            raise InvalidInput(
                f"{path} has more than {min(MOST_ROWS, MOST_NUMBERS // len(scores)):,} rows of answers",
                hint="give a part of them: so many records make no interval narrower",
            )
        for name, role in roles.items():
            role.add(batch[name])
        for survey in surveys:
            survey.add(batch[survey.name])
    unmatched = records.unmatched if isinstance(records, JoinedRecords) else 0
    if not rows:
        raise InvalidInput(
            f"{path} holds no rows" + (f" that {labels} says anything about" if unmatched else ""),
            hint=f"is {', '.join(by)} written alike in both?"
            if unmatched
            else "below the heading there is a row for each answer",
        )
    values, classes = _of_classes(np.concatenate(parts), scores, release)
    return RecordedAnswers(
        name=path.resolve().name,
        sha256=_digest(path),
        values=values,
        release=release,
        classes=classes,
        target=columns.target or "",
        labels=_labels(roles, columns, classes, release),
        members=_members(roles, columns),
        hidden=None if columns.hidden is None else attribute_labels(roles[columns.hidden], _all(rows)),
        group=None if columns.person is None else _people(roles[columns.person]),
        known=_known(records, surveys, rows) if surveys else None,
        unmatched=unmatched,
    )


def _released(
    batch: Batch, scores: Sequence[str], release: RecordedRelease, first: int
) -> NDArray[np.float32]:
    """The answers of a batch (B, Y), whose first row has the number ``first``."""
    values = np.stack([_numbers(batch[name], name, first) for name in scores], axis=1)
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise InvalidInput(
            f"row {first + row} has no finite number in column {scores[column]!r}",
            hint="leave out the rows that the model did not answer",
        )
    if release == "softmax":
        _check_probabilities(values, first)
    return values.astype(np.float32)


def _numbers(cells: Cells, name: str, first: int) -> NDArray[np.float64]:
    """The numbers of a column, infinite where float32 cannot hold them."""
    try:
        numbers = np.array(cells, dtype=np.float64)
    except ValueError as error:
        place = next(place for place, cell in enumerate(cells) if not _is_number(str(cell)))
        raise InvalidInput(
            f"row {first + place} has {str(cells[place])[:40]!r} in column {name!r}, which is no number",
            hint="the columns of --values hold the model's scores",
        ) from error
    return np.where(np.abs(numbers) <= np.finfo(np.float32).max, numbers, np.inf)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _check_probabilities(values: NDArray[np.float64], first: int) -> None:
    outside = (values < -1e-6) | (values > 1 + 1e-6)
    sums = values.sum(axis=1)
    # A single column is the probability of one of two classes.
    wrong = outside.any(axis=1) | ((np.abs(sums - 1.0) > WHOLE) & (values.shape[1] > 1))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        what = (
            "holds a number outside of 0 to 1" if outside[row].any() else f"sums to {sums[row]:.4g}, not to 1"
        )
        raise InvalidInput(
            f"row {first + row} {what}: these are no probabilities",
            hint="name the columns of all classes by --values, or say what they are by --release",
        )


def _of_classes(
    values: NDArray[np.float32], scores: Sequence[str], release: RecordedRelease
) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """The values with a column for each class, and the classes' names: those of the columns, without what all
    of them begin with, up to a separator: ``p_low`` and ``p_long`` are low and long."""
    if release == "features":
        return values, tuple(scores)
    if len(scores) == 1:
        other = 1.0 - values if release == "softmax" else np.zeros_like(values)
        return np.concatenate([other, values], axis=1), ("0", "1")
    cut = 0
    for place, character in enumerate(scores[0][:-1], 1):
        if not all(name[:place] == scores[0][:place] and len(name) > place for name in scores):
            break
        if not character.isalnum():
            cut = place
    return values, tuple(name[cut:] for name in scores)


def _labels(
    roles: dict[str, RoleColumn], columns: AnswerColumns, classes: Sequence[str], release: RecordedRelease
) -> NDArray[np.int64] | None:
    if columns.target is None:
        return None
    column = roles[columns.target]
    if release == "features":
        return attribute_labels(column, _all(len(column.codes))).values
    return class_labels(column, classes)


def _members(roles: dict[str, RoleColumn], columns: AnswerColumns) -> NDArray[np.bool_] | None:
    if columns.member is None:
        return None
    column = roles[columns.member]
    if unknown := int((column.labels < 0).sum()):
        raise InvalidInput(
            f"column {column.name!r} does not say of {unknown:,} rows whether they were trained on",
            hint="leave these rows out of the file",
        )
    return members(column)


def _people(column: RoleColumn) -> NDArray[np.int64]:
    """A number for each person; a record of nobody known is one by itself."""
    person = column.labels
    return np.where(person < 0, len(column.place) + np.arange(len(person)), person)


def _known(records: Records, surveys: Sequence[ColumnSurvey], rows: int) -> NDArray[np.float32]:
    """The columns of what is known as numbers (N, F), with the mean where one is missing."""
    plans = [plan for survey in surveys if (plan := survey.plan()).kind != "left out"]
    if not plans:
        raise InvalidInput(
            "the columns of --known hold nothing to tell records apart by",
            hint="name columns of numbers, or of few different words",
        )
    parts = [encode(plans, batch, len(next(iter(batch.values())))) for batch in records.batches()]
    numbers = np.concatenate(parts)
    if len(numbers) != rows:
        raise InvalidInput(f"{records.path} changed while it was read", hint="try again")
    missing = np.isnan(numbers)
    mean = np.where(missing, 0.0, numbers).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, mean, numbers).astype(np.float32)


def _all(rows: int) -> NDArray[np.bool_]:
    return np.ones(rows, dtype=bool)


def _digest(path: Path) -> str:
    if path.is_dir():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
