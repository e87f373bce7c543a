"""What a pasted request says of a target: the template of its body, what a sample looks like, its secrets."""

from __future__ import annotations

import base64
import binascii
import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from PIL import Image

from leakrange.targets.curl import PastedRequest
from leakrange.targets.pasted_secrets import check_address, check_members, hidden_headers
from leakrange.wire.errors import InvalidInput
from leakrange.wire.pictures import read_picture
from leakrange.wire.samples import SampleSpec

__all__ = ["RequestGuess", "guess_request"]

LARGEST = float(np.finfo(np.float32).max)
_ENOUGH = 2
"""Numbers in an object that make it a row of a table."""


@dataclass
class RequestGuess:
    """A step of a target and its ``input``, without ``read``. ``sample`` (1, *shape) is the one that was
    pasted; ``many`` says whether a request may hold several. ``secrets`` are values that were pasted, by the
    variable that stands for each. ``doubts`` are questions, by the field that they concern."""

    step: dict[str, Any]
    input: dict[str, Any]
    sample: NDArray[Any]
    many: bool
    secrets: dict[str, str] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)


def guess_request(pasted: PastedRequest, name: str, read_file: Callable[[Path], bytes]) -> RequestGuess:
    """The step that sends what was pasted, with a placeholder for the sample in it. Variables are named after
    the target's ``name``. Raises `InvalidInput` where no sample stands in it, or a secret where none may."""
    check_address(pasted)
    headers, secrets = hidden_headers(pasted, name)
    media = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
    if pasted.form:
        guess = _of_form(pasted.form, read_file)
        headers.pop("Content-Type", None)
    elif pasted.body is None:
        raise InvalidInput(
            "the command sends no body, and so no sample", hint="paste the one that asks for a prediction"
        )
    elif "csv" in media:
        guess = _of_csv(pasted.body)
    else:
        guess = _of_json(pasted.body)
    method = (pasted.method or "POST").lower()
    if method not in ("post", "put"):
        raise InvalidInput(f"the command sends a body by {method.upper()}; targets are asked by POST or PUT")
    kept = {key: value for key, value in headers.items() if key.lower() != "content-type"}
    if "json" in media and media.partition(";")[0].strip() != "application/json":
        kept["Content-Type"] = media
    guess.step = {method: pasted.url, **({"headers": kept} if kept else {}), **guess.step}
    guess.secrets = secrets
    return guess


def _of_json(body: bytes) -> RequestGuess:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(
            f"the body is neither JSON, CSV nor a form: {body[:60]!r}",
            hint="a Content-Type of text/csv tells of rows",
        ) from error
    check_members(content)
    guess = _known_shape(content) or _searched(content)
    if guess is None:
        raise InvalidInput(
            "no sample stands in the body: neither numbers, nor a row of a table, nor a picture in base64",
            hint="write the file by hand: 'json' is any body with ${samples}, ${rows} or ${png} in it",
        )
    return guess


def _known_shape(content: Any) -> RequestGuess | None:
    """The bodies of MLflow's tables and of the Open Inference Protocol."""
    if not isinstance(content, dict):
        return None
    table, tensors = content.get("dataframe_split"), content.get("inputs")
    if isinstance(table, dict) and isinstance(table.get("columns"), list) and table.get("data"):
        rows = [dict(zip(map(str, table["columns"]), row, strict=False)) for row in table["data"]]
        split = {"columns": "${column_names}", "data": "${values}"}
        return _of_rows(content | {"dataframe_split": split}, rows, many=True)
    if not isinstance(tensors, list) or len(tensors) != 1 or not isinstance(tensors[0], dict):
        return None
    if not {"shape", "datatype", "data"} <= tensors[0].keys():
        return None
    try:
        values = np.array(tensors[0]["data"], np.float64).reshape(tensors[0]["shape"])
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput("the tensor in the body does not have its own shape") from error
    if not values.size or not (np.abs(values) <= LARGEST).all():
        raise InvalidInput("the tensor in the body holds no numbers that a sample can have")
    filled = tensors[0] | {"shape": "${shape}", "datatype": "${datatype}", "data": "${flat}"}
    return _of_numbers(content | {"inputs": [filled]}, values, many=True)


def _searched(content: Any) -> RequestGuess | None:
    """The first part of the body that can be a sample: numbers in a list, rows, or a picture."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), content)]
    scalars: tuple[tuple[str | int, ...], dict[str, Any]] | None = None
    for _ in range(10_000):
        if not waiting:
            break
        path, node = waiting.pop(0)
        guess = _sample_at(content, path, node)
        if guess is not None:
            return guess
        if isinstance(node, dict):
            numbers = [value for value in node.values() if _is_number(value)]
            if scalars is None and len(numbers) >= _ENOUGH and all(map(_is_scalar, node.values())):
                scalars = path, node
            waiting += [((*path, key), value) for key, value in node.items()]
        elif isinstance(node, list):
            waiting += [((*path, place), value) for place, value in enumerate(node[:20])]
    if scalars is None:
        return None
    path, row = scalars
    return _of_rows(_replaced(content, path, "${row}"), [row], many=False)


def _sample_at(content: Any, path: tuple[str | int, ...], node: Any) -> RequestGuess | None:
    if isinstance(node, str):
        picture = _picture(node)
        return (
            None if picture is None else _of_picture(_replaced(content, path, "${png}"), picture, many=False)
        )
    if isinstance(node, dict) and len(node) >= _ENOUGH and all(map(_column, node.values())):
        rows = [dict(zip(node, row, strict=False)) for row in zip(*node.values(), strict=False)]
        return _of_rows(_replaced(content, path, "${columns}"), rows, many=True)
    if not isinstance(node, list) or not node:
        return None
    if all(isinstance(each, dict) and each and all(map(_is_scalar, each.values())) for each in node):
        return _of_rows(_replaced(content, path, "${rows}"), node, many=True)
    if isinstance(node[0], str) and (picture := _picture(node[0])) is not None:
        return _of_picture(_replaced(content, path, "${pngs}"), picture, many=True)
    try:
        values = np.array(node, np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if not values.size or not (np.abs(values) <= LARGEST).all():
        return None
    if values.ndim == 1:
        return _of_numbers(_replaced(content, path, "${sample}"), values[np.newaxis], many=False)
    return _of_numbers(_replaced(content, path, "${samples}"), values, many=True)


def _of_numbers(template: Any, values: NDArray[np.float64], *, many: bool) -> RequestGuess:
    """Numbers (B, *shape)."""
    shape = values.shape[1:]
    whole = bool((values == np.rint(values)).all() and values.min() >= 0 and values.max() <= 255)
    doubts: dict[str, str] = {}
    if len(shape) == 1:
        described: dict[str, Any] = {"encoding": "vector", "shape": list(shape)}
        doubts["input"] = (
            "are these the columns of a table? Then name them: {encoding: table, columns: [...]}"
        )
    elif len(shape) == 2:
        described = {"encoding": "series", "shape": list(shape)}
        doubts["input"] = "are these steps of channels? Grey pictures have a third axis of length 1"
    elif len(shape) == 3 and shape[2] <= 3:
        described = {"encoding": "picture", "shape": list(shape), "dtype": "uint8" if whole else "float32"}
        doubts["input"] = "is this a picture (height, width, channels), and are its values in this range?"
    else:
        axes = " x ".join(map(str, shape)) or "no axes"
        raise InvalidInput(
            f"a sample with {axes} in the body is none that can be described",
            hint="samples are vectors, rows, series (steps, channels) and pictures (height, width, channels)",
        )
    kind = described.get("dtype", "float32")
    step = {"json": template}
    return RequestGuess(step, described, values[:1].astype(kind), many, doubts=doubts)


def _of_rows(template: Any, rows: list[dict[str, Any]], *, many: bool) -> RequestGuess:
    """Rows of a table; texts in them are categories, true and false the numbers 1 and 0."""
    if not rows or not all(map(_is_scalar, rows[0].values())):
        raise InvalidInput("the rows in the body hold lists or objects, and no numbers and texts alone")
    columns = list(rows[0])
    texts = {
        name: list(dict.fromkeys(row[name] for row in rows if isinstance(row.get(name), str)))
        for name in columns
        if any(isinstance(row.get(name), str) for row in rows)
    }
    empty = [name for name in columns if name not in texts and rows[0][name] is None]
    first = [0.0 if name in texts else float(rows[0][name] or 0) for name in columns]
    described: dict[str, Any] = {"encoding": "table", "columns": columns}
    doubts = [f"{', '.join(empty)}: null tells neither number nor text; a number is sent"] if empty else []
    if texts:
        described["categories"] = texts
        doubts.append(f"write all categories of {', '.join(texts)}, in the order of their codes 0, 1, ...")
    doubt = {"input": "; ".join(doubts)} if doubts else {}
    return RequestGuess({"json": template}, described, np.array([first], np.float32), many, doubts=doubt)


def _of_picture(template: Any, file: bytes, *, many: bool) -> RequestGuess:
    guess = _pictured(file)
    return RequestGuess({"json": template}, guess[0], guess[1], many, doubts={"input": guess[2]})


def _pictured(file: bytes) -> tuple[dict[str, Any], NDArray[Any], str]:
    """The input that a picture is of, its pixels (1, H, W, C), and what is doubtful about it."""
    try:
        with Image.open(io.BytesIO(file)) as opened:  # reads the header alone
            width, height, channels = opened.width, opened.height, 1 if opened.mode in ("L", "1") else 3
    except (OSError, ValueError) as error:
        raise InvalidInput("the picture in the command is neither PNG nor JPEG") from error
    spec = SampleSpec.picture(height, width, channels)
    described = {"encoding": "picture", "shape": [height, width, channels]}
    doubt = "is this the size that the model takes? Pictures are sent as PNG"
    return described, read_picture(file, 0, spec)[np.newaxis], doubt


def _of_form(form: Mapping[str, str], read_file: Callable[[Path], bytes]) -> RequestGuess:
    files = [key for key, value in form.items() if value.startswith("@")]
    if len(files) != 1:
        raise InvalidInput(f"the form sends {len(files)} files; one of them is the sample")
    described, sample, doubt = _pictured(read_file(Path(form[files[0]][1:])))
    filled = {**form, files[0]: "${png}"}
    return RequestGuess({"form": filled}, described, sample, False, doubts={"input": doubt})


def _of_csv(body: bytes) -> RequestGuess:
    rows = list(csv.reader(io.StringIO(body.decode("utf-8", "replace"))))
    rows = [row for row in rows if row]
    if not rows:
        raise InvalidInput("the CSV in the body has no row")
    named = len(rows) > 1 and not any(map(_reads_as_number, rows[0]))
    columns = rows[0] if named else [f"column_{place}" for place in range(len(rows[0]))]
    values = [
        {
            name: float(cell) if _reads_as_number(cell) else cell
            for name, cell in zip(columns, row, strict=False)
        }
        for row in (rows[1:] if named else rows)
    ]
    guess = _of_rows(None, values, many=True)
    guess.step = {"csv": named}
    if not named:
        guess.doubts["input"] = "name the columns, in their order: the CSV sends no names"
    return guess


def _picture(text: str) -> bytes | None:
    """The file in a text of base64, with or without ``data:``; None if there is none."""
    try:
        file = base64.b64decode(text.partition("base64,")[2] or text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return file if file.startswith((b"\x89PNG", b"\xff\xd8")) else None


def _column(node: Any) -> bool:
    return isinstance(node, list) and bool(node) and all(map(_is_scalar, node))


def _is_scalar(node: Any) -> bool:
    return node is None or isinstance(node, str | bool) or _is_number(node)


def _is_number(node: Any) -> bool:
    return isinstance(node, int | float) and not isinstance(node, bool) and abs(node) <= LARGEST


def _reads_as_number(text: str) -> bool:
    try:
        return abs(float(text)) <= LARGEST
    except ValueError:
        return False


def _replaced(content: Any, path: tuple[str | int, ...], placeholder: str) -> Any:
    """The content with ``placeholder`` at ``path``."""
    if not path:
        return placeholder
    inner = _replaced(content[path[0]], path[1:], placeholder)
    if isinstance(content, dict):
        return {**content, path[0]: inner}
    return [inner if place == path[0] else each for place, each in enumerate(content)]
