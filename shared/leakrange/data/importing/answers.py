"""Answers of a model that were recorded elsewhere, read from a file: what the model released for each record,
and what is known of the record."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leakrange.data.importing.answer_columns import AnswerColumns, class_labels
from leakrange.data.importing.files import records_of
from leakrange.data.importing.joined import JoinedRecords
from leakrange.data.importing.records import Records
from leakrange.data.importing.released import MOST_NUMBERS, RecordedRelease, Released, ReleasedScores
from leakrange.data.importing.roles import ImportedLabels, RoleColumn, attribute_labels, members
from leakrange.data.importing.survey import ColumnSurvey, encode
from leakrange.wire.errors import InvalidInput

__all__ = ["RecordedAnswers", "read_answers"]


@dataclass(frozen=True)
class RecordedAnswers:
    """Answers of one model about N records; nobody can ask it for more.

    name: of the file. sha256: of its content. values: float32 (N, Y), finite; of a ``softmax`` each row sums
    to 1. classes: the Y names of the model's classes; of features the names of the values. labels: int64
    (N,), the true classes, -1 where unknown. members: bool (N,), who was trained on. hidden: an attribute of
    the records. group: int64 (N,), equal for records of one person. known: float32 (N, F), what is known of
    the records without the model. What the file does not say is None. columns: which said what.
    unmatched: how many answers were left out, since nothing is known of whom they are about.
    """

    name: str
    sha256: str
    values: NDArray[np.float32]
    release: RecordedRelease
    classes: tuple[str, ...]
    columns: AnswerColumns
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
    release: Released = "softmax",
    *,
    labels: Path | None = None,
    by: Sequence[str] = (),
) -> RecordedAnswers:
    """Read a CSV, Parquet or npz file. A single column of scores is that of the second of two classes; of
    decisions it names the class.

    Further columns may lie in a file of ``labels``, whose rows belong to those with the same values in the
    columns ``by``; answers without such a row are left out.

    Raises `InvalidInput` for a file that is broken, answers that are no numbers or no probabilities, and
    columns that do not say what they should, each with the row or the column.
    """
    records = records_of(path)
    if labels is not None:
        records = JoinedRecords(records, records_of(labels), by)
    released = ReleasedScores(columns.check(records.columns), release)
    roles = {name: RoleColumn(name) for name in columns.roles}
    surveys = [ColumnSurvey(name) for name in columns.known]
    for batch in records.batches():
        released.add(batch)
        for name, role in roles.items():
            role.add(batch[name])
        for survey in surveys:
            survey.add(batch[survey.name])
    unmatched = records.unmatched if isinstance(records, JoinedRecords) else 0
    rows = released.rows
    if not rows:
        raise InvalidInput(
            f"{path} holds no rows" + (f" that {labels} says anything about" if unmatched else ""),
            hint=f"is {', '.join(by)} written alike in both?"
            if unmatched
            else "below the heading there is a row for each answer",
        )
    values, classes = released.answers(None if columns.target is None else roles[columns.target])
    return RecordedAnswers(
        name=path.resolve().name,
        sha256=_digest(path),
        values=values,
        release="softmax" if release == "decision" else release,
        classes=classes,
        columns=columns,
        labels=_labels(roles, columns, classes, release),
        members=_members(roles, columns),
        hidden=None if columns.hidden is None else attribute_labels(roles[columns.hidden], _all(rows)),
        group=None if columns.person is None else _people(roles[columns.person]),
        known=_known(records, surveys, rows) if surveys else None,
        unmatched=unmatched,
    )


def _labels(
    roles: dict[str, RoleColumn], columns: AnswerColumns, classes: Sequence[str], release: Released
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
    if rows * sum(len(plan.names) for plan in plans) > MOST_NUMBERS:
        raise InvalidInput(
            "what is known of the records does not fit into memory", hint="name fewer columns by --known"
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
