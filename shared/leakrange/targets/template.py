"""The bodies of requests: a step's template, with samples in the place of its placeholders."""

from __future__ import annotations

import base64
import csv
import io
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from leakrange.targets.columns import UNKNOWN, texts_at
from leakrange.targets.target import RemoteTarget, TargetStep
from leakrange.wire.errors import InvalidInput
from leakrange.wire.multipart import MULTIPART
from leakrange.wire.open_inference import DATATYPES, tensor_request
from leakrange.wire.pictures import png
from leakrange.wire.rows import CSV
from leakrange.wire.tensors import JSON

__all__ = ["Filler", "filled_text"]

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


class Filler:
    """Fills templates of ``target`` with a batch of samples (B, *shape), or of pairs (B, 2, *shape).

    ``known`` are the values that earlier steps have captured.
    """

    def __init__(self, target: RemoteTarget, samples: NDArray[Any], known: Mapping[str, Any]) -> None:
        self._input, self._samples, self._known = target.card.input, samples, known

    def body(self, step: TargetStep) -> tuple[bytes | None, dict[str, str]]:
        """The body of a step's request, and the headers that describe it."""
        match step.body:
            case None:
                return None, {}
            case "json":
                return orjson.dumps(self.content(step.json_)), {"Content-Type": JSON}
            case "csv":
                return self._csv(named=bool(step.csv)), {"Content-Type": CSV}
            case "form":
                return self._form(step.form or {})
            case "tensors":
                names = step.tensors or {}
                return tensor_request(names["input"], names["output"], self.samples)

    def content(self, template: Any) -> Any:
        """A JSON template with everything in its place."""
        if isinstance(template, Mapping):
            return {key: self.content(value) for key, value in template.items()}
        if isinstance(template, list):
            return [self.content(each) for each in template]
        if not isinstance(template, str):
            return template
        if (whole := _PLACEHOLDER.fullmatch(template)) is not None:
            return self.value(whole[1])
        return filled_text(template, self.text)

    def value(self, name: str) -> Any:
        """The value of one placeholder. Raises `InvalidInput` where it does not fit the samples."""
        if name in self._known:
            return self._known[name]
        return _MADE_BY[name](self)

    def text(self, name: str) -> str:
        """The value of one placeholder within a text: JSON, where it is no text itself."""
        value = self.value(name)
        return value if isinstance(value, str) else orjson.dumps(value).decode()

    @property
    def samples(self) -> NDArray[Any]:
        """The batch (B, *shape) as numbers, in the columns that are sent. Raises `InvalidInput` where one of
        them holds texts."""
        if self._input.sent is None:
            return self._samples
        columns = list(self._input.columns or ())
        for name in self._input.sent:
            if name not in columns:
                raise InvalidInput(
                    f"{name!r} is a text, and the request sends numbers alone",
                    hint="send ${rows} or ${values}, which hold texts as well",
                )
        return self._samples[:, [columns.index(name) for name in self._input.sent]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are sent. Raises `InvalidInput` where there are none."""
        if self._input.columns is None:
            raise InvalidInput("rows and columns are of tables: the card's 'input' names no columns")
        return self._input.sent or self._input.columns

    def by_column(self) -> dict[str, list[Any]]:
        """The values of each column: numbers or texts, and None for what is missing."""
        return {name: self._held(name) for name in self.columns}

    def _held(self, name: str) -> list[Any]:
        columns = list(self._input.columns or ())
        if name not in columns:
            return texts_at(name, columns, self._samples)
        values, mark = self._values(name, self._samples[:, columns.index(name)]), f"{name}={UNKNOWN}"
        if mark not in columns or mark in self.columns:
            return values
        marks = self._samples[:, columns.index(mark)] > 0.5
        return [None if missing else value for missing, value in zip(marks, values, strict=True)]

    def rows(self) -> list[list[Any]]:
        """The rows, in the order of the columns."""
        return [list(row) for row in zip(*self.by_column().values(), strict=True)]

    def _values(self, name: str, numbers: NDArray[Any]) -> list[Any]:
        texts = self._input.categories.get(name)
        if texts is None:
            return [int(each) if float(each).is_integer() else float(each) for each in numbers]
        codes = numbers.astype(int)
        if not ((codes == numbers) & (codes >= 0) & (codes < len(texts))).all():
            raise InvalidInput(
                f"the column {name!r} has categories for the codes 0 to {len(texts) - 1} alone"
            )
        return [texts[code] for code in codes]

    def picture(self, place: int, of_pair: int | None = None) -> bytes:
        """One sample as a PNG."""
        if self._input.encoding != "picture":
            raise InvalidInput(f"a PNG shows a picture, and the card's samples are {self._input.encoding}")
        sample = self._samples[place] if of_pair is None else self._samples[place, of_pair]
        return png(np.ascontiguousarray(sample))

    def _csv(self, *, named: bool) -> bytes:
        text = io.StringIO()
        writer = csv.writer(text)
        if named:
            writer.writerow(self.columns)
        writer.writerows(
            self.rows() if self._input.columns else self._samples.reshape(len(self._samples), -1).tolist()
        )
        return text.getvalue().encode()

    def _form(self, fields: Mapping[str, str]) -> tuple[bytes, dict[str, str]]:
        boundary = secrets.token_hex(16)
        body = io.BytesIO()
        for name, template in fields.items():
            if (file := _FILES.get(template)) is not None:
                head, content = f'; filename="{name}.png"\r\nContent-Type: image/png', file(self)
            else:
                head, content = "", filled_text(template, self.text).encode()
            body.write(
                f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{head}\r\n\r\n'.encode()
            )
            body.write(content + b"\r\n")
        body.write(f"--{boundary}--\r\n".encode())
        return body.getvalue(), {"Content-Type": f"{MULTIPART}; boundary={boundary}"}


def _base64(picture: bytes) -> str:
    return base64.b64encode(picture).decode()


_FILES: Mapping[str, Callable[[Filler], bytes]] = {
    "${png}": lambda filler: filler.picture(0),
    "${first_png}": lambda filler: filler.picture(0, 0),
    "${second_png}": lambda filler: filler.picture(0, 1),
}
"""Placeholders that a form sends as a file."""

_MADE_BY: Mapping[str, Callable[[Filler], Any]] = {
    "samples": lambda filler: filler.samples.tolist(),
    "sample": lambda filler: filler.samples[0].tolist(),
    "rows": lambda filler: [dict(zip(filler.columns, row, strict=True)) for row in filler.rows()],
    "row": lambda filler: dict(zip(filler.columns, filler.rows()[0], strict=True)),
    "values": lambda filler: filler.rows(),
    "columns": lambda filler: filler.by_column(),
    "column_names": lambda filler: list(filler.columns),
    "flat": lambda filler: filler.samples.ravel().tolist(),
    "shape": lambda filler: list(filler.samples.shape),
    "datatype": lambda filler: DATATYPES[filler.samples.dtype.name],
    "pngs": lambda filler: [_base64(filler.picture(place)) for place in range(len(filler.samples))],
    "png": lambda filler: _base64(_FILES["${png}"](filler)),
    "first_png": lambda filler: _base64(_FILES["${first_png}"](filler)),
    "second_png": lambda filler: _base64(_FILES["${second_png}"](filler)),
}
"""How the value of each placeholder is made of a batch."""


def filled_text(template: str, value: Callable[[str], str]) -> str:
    """The text with each ``${name}`` replaced by its value."""
    return _PLACEHOLDER.sub(lambda match: value(match[1]), template)
