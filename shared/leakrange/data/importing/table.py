"""A table: its columns are surveyed first, then its rows are encoded, in bounded memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leakrange.data.importing.prepared import Division, Prepared, divide, labelled
from leakrange.data.importing.records import MOST_ROWS, Batch, Records
from leakrange.data.importing.roles import ColumnUse, RoleColumn
from leakrange.data.importing.survey import ColumnPlan, ColumnSurvey, encode
from leakrange.wire.disk import room_in
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = ["prepare_table"]

WIDEST = 16_384
"""The most numbers in a row, categories counted by their values."""
PIECE = 4 * 2**20
"""Numbers that are read back at once."""


def prepare_table(records: Records, use: ColumnUse, scratch: Path) -> Prepared:
    """The rows of a file as samples. It is read twice; encoded rows lie in the folder ``scratch`` meanwhile.

    Raises `InvalidInput` for a file, or a use of its columns, that gives no data set; `StorageFull`.
    """
    use.check(records.columns, records.left_out)
    plans, roles = _surveyed(records, use)
    inputs = [plan for plan in plans if plan.kind != "left out"]
    columns = _names(inputs)
    spool = _Spool(scratch / "rows.f32", len(columns))
    content = spool.fill(records, inputs, [roles[name] for name in (use.target, *use.hidden)])
    division = divide(roles, use, content)
    labels = labelled(roles, use, division)
    standard = [place for place, plan in zip(_begins(inputs), inputs, strict=True) if plan.kind == "number"]
    mean, deviation = spool.statistics(division.training(), standard)
    sample = SampleSpec(
        encoding="table",
        shape=(len(columns),),
        dtype="float32",
        columns=columns,
        scale=tuple(deviation.tolist()),
        offset=tuple((0.0 - mean / deviation).tolist()),
    )
    return Prepared(
        kind=records.kind,
        sample=sample,
        values=lambda: spool.samples(division, mean),
        labels=labels,
        division=division,
        use=use,
        columns=tuple(plans),
        notes=(
            "nets of the range see numbers less the training rows' mean, divided by their deviation; a model"
            " that somebody else serves gets them as they stand",
        ),
    )


def _surveyed(records: Records, use: ColumnUse) -> tuple[list[ColumnPlan], dict[str, RoleColumn]]:
    roles = {name: RoleColumn(name) for name in use.roles}
    surveys = {name: ColumnSurvey(name) for name in records.columns if name not in {*roles, *use.without}}
    rows = 0
    for batch in records.batches():
        rows += _length(batch)
        if rows > MOST_ROWS:
            raise InvalidInput(f"{records.path} has more than {MOST_ROWS} rows", hint="import a part of them")
        for name, role in roles.items():
            role.add(batch[name])
        for name, survey in surveys.items():
            survey.add(batch[name])
    if not rows:
        raise InvalidInput(
            f"{records.path} holds no rows", hint="below the heading there is a row for each sample"
        )
    plans = [survey.plan() for survey in surveys.values()]
    plans += [ColumnPlan(name, "left out", rule="as asked") for name in use.without]
    plans += [
        ColumnPlan(name, "left out", rule=f"it holds {kind}")
        for name, kind in records.left_out.items()
        if name not in use.without
    ]
    return plans, roles


def _names(inputs: Sequence[ColumnPlan]) -> tuple[str, ...]:
    names = tuple(name for plan in inputs for name in plan.names)
    if not names:
        raise InvalidInput(
            "no column is left for a sample", hint="give it columns of numbers or of few different words"
        )
    if len(names) > WIDEST:
        raise InvalidInput(
            f"a sample would have {len(names)} numbers; at most {WIDEST} can be",
            hint="leave out columns (--without)",
        )
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise InvalidInput(f"a sample would have two numbers named {twice[0]!r}", hint="rename that column")
    return names


def _begins(inputs: Sequence[ColumnPlan]) -> list[int]:
    widths = [len(plan.names) for plan in inputs]
    return [sum(widths[:i]) for i in range(len(widths))]


def _length(batch: Batch) -> int:
    return len(next(iter(batch.values())))


@dataclass
class _Spool:
    """Encoded rows in a file, float32 (N, width), NaN where a number is missing."""

    path: Path
    width: int

    def fill(
        self, records: Records, inputs: Sequence[ColumnPlan], attributes: Sequence[RoleColumn]
    ) -> NDArray[np.uint64]:
        """Write all rows. Return uint64 (N,), equal where samples and attributes are."""
        codes = np.stack([role.labels for role in attributes], axis=1)
        sums: list[bytes] = []
        with room_in(self.path.parent), self.path.open("wb") as file:
            for batch in records.batches():
                rows = _length(batch)
                encoded = encode(inputs, batch, rows)
                file.write(encoded.data)
                known = codes[len(sums) : len(sums) + rows]
                joined = np.concatenate([encoded.view(np.uint8), known.view(np.uint8)], axis=1)
                sums += [hashlib.blake2b(row, digest_size=8).digest() for row in joined]
        if len(sums) != len(codes):
            raise InvalidInput(f"{records.path} changed while it was read", hint="import it again")
        return np.frombuffer(b"".join(sums), dtype="<u8")

    def pieces(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """All rows in order, with their places."""
        begin = 0
        with self.path.open("rb") as file:
            while len(piece := np.fromfile(file, np.float32, max(1, PIECE // self.width) * self.width)):
                rows = piece.reshape(-1, self.width)
                yield slice(begin, begin + len(rows)), rows
                begin += len(rows)

    def statistics(
        self, training: NDArray[np.bool_], standard: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and deviation, (width,) each, of the ``standard`` columns of training rows, where they are
        known; 0 and 1 for the others, and deviation 1 for a constant."""
        mean, deviation = np.zeros(self.width), np.ones(self.width)
        count, middle, squares = (np.zeros(len(standard)) for _ in range(3))
        for place, rows in self.pieces():
            values = rows[training[place]][:, standard].astype(np.float64)
            known = ~np.isnan(values)
            new = known.sum(axis=0)
            total = count + new
            piece_mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(new, 1)
            apart = piece_mean - middle
            squares += np.where(known, (values - piece_mean) ** 2, 0.0).sum(axis=0)
            squares += apart**2 * count * new / np.maximum(total, 1)
            middle += apart * new / np.maximum(total, 1)
            count = total
        spread = np.sqrt(squares / np.maximum(count, 1))
        # Float32 does not tell apart what differs by less than this.
        mean[standard], deviation[standard] = middle, np.where(spread > 1e-7 * np.abs(middle), spread, 1.0)
        return mean, deviation

    def samples(self, division: Division, mean: NDArray[np.float64]) -> Iterator[NDArray[np.float32]]:
        """The rows that are kept, with the mean where a number is missing."""
        fill = mean.astype(np.float32)
        for place, rows in self.pieces():
            kept = rows[division.kept[place]]
            yield np.where(np.isnan(kept), fill, kept)
