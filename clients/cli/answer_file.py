"""The CSV to which a listener writes the answers of a model. One listener at a time has it."""

from __future__ import annotations

import csv
import fcntl
import io
import os
from collections.abc import Iterator
from pathlib import Path

from leakrange.wire.disk import room_in
from leakrange.wire.errors import Conflict, InvalidInput
from leakrange.wire.inference_logs import INPUT, OUTPUT, Row
from leakrange.wire.views import cell

__all__ = ["AnswerFile", "harmless"]

REQUEST_ID, SAMPLE = "request", "sample"
"""The columns that say where a row comes from: the event's id, and the sample's place in the request."""
LONGEST_ROW = 2**20
"""Bytes."""


class AnswerFile:
    """Appends rows to the CSV at ``path``, which is made if it is not there. The first row decides the
    columns. Close it.

    Raises `Conflict` if another listener has the file, `InvalidInput` if it holds something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._columns: tuple[str, ...] = ()
        with room_in(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._take_up()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let others have the file."""
        os.close(self._file)

    def requests(self) -> Iterator[str]:
        """The id of each row's request, in order. Raises `InvalidInput` for a file that cannot be read."""
        try:
            with self.path.open(encoding="utf-8", newline="") as file:
                rows = csv.reader(file, strict=True)
                next(rows, None)
                yield from (row[0] for row in rows if row)
        except (csv.Error, UnicodeDecodeError) as error:
            raise InvalidInput(f"{self.path} cannot be read: {error}", hint="give another --out") from error

    def check(self, row: Row) -> None:
        """Raise `InvalidInput` unless a row has the file's columns. Inputs may be left out."""
        for prefix, optional in ((OUTPUT, False), (INPUT, True)):
            there, given = (
                {name for name in names if name.startswith(prefix)} for names in (self._columns, row)
            )
            if not self._columns or there == given or (optional and not (there and given)):
                continue
            raise InvalidInput(
                f"an answer has other columns than {self.path.name}: {', '.join(sorted(given))[:200]}",
                hint="record another model, or another version of it, in a file of its own",
            )

    def append(self, id: str, rows: list[Row]) -> None:
        """Write the rows of a request, all or none. Raises `StorageFull`."""
        columns = self._columns or (REQUEST_ID, SAMPLE, *rows[0])
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
        if not self._columns:
            writer.writeheader()
        for place, row in enumerate(rows):
            cells = {REQUEST_ID: id, SAMPLE: place, **row}
            writer.writerow({name: harmless(value) for name, value in cells.items()})
        size = os.fstat(self._file).st_size
        content = memoryview(text.getvalue().encode())
        try:
            with room_in(self.path.parent):
                while content:
                    content = content[os.write(self._file, content) :]
        except BaseException:
            os.ftruncate(self._file, size)
            raise
        self._columns = columns

    def _take_up(self) -> None:
        """Go on with a file, without what a listener had begun to write when it was killed: no cell holds an
        end of a line."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Conflict(f"another listener writes to {self.path}", hint="give another --out") from error
        size = os.fstat(self._file).st_size
        heading, _, rest = os.pread(self._file, LONGEST_ROW, 0).partition(b"\n")
        begin = f"{REQUEST_ID},{SAMPLE},".encode()
        if not heading.startswith(begin[: len(heading)]):
            raise InvalidInput(f"{self.path} holds something else", hint="give another --out")
        tail_begin = max(0, size - LONGEST_ROW)
        tail = os.pread(self._file, LONGEST_ROW, tail_begin)
        if tail and not tail.endswith(b"\n"):
            os.ftruncate(self._file, tail_begin + tail.rfind(b"\n") + 1)
        if rest or tail.endswith(b"\n"):
            self._columns = tuple(next(csv.reader([heading.decode(errors="replace")]), ()))


def harmless(value: str | float | None) -> str | float | None:
    """A cell that no spreadsheet takes for a formula."""
    return cell(value) if isinstance(value, str) else value
