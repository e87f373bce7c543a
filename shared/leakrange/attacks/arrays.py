"""Attacks from Python: arrays in, what an attack infers from them out."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from leakrange.attacks.attack import Attack
from leakrange.registry import Registry, UnknownName
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = ["inferred"]

NAMED_IN_SCENARIOS: Mapping[str, Any] = {"sensitive": "hidden", "public": {"name": "given"}}
"""Parameters by which a scenario names what is given as an array here."""


def inferred(registry: Registry[type[Attack]], name: str, given: Mapping[str, Any]) -> Any:
    """See `leakrange.attacks.attack_with`."""
    try:
        entry = registry[name]
    except UnknownName as error:
        raise InvalidInput(str(error)) from error
    if entry.arrays is None:
        raise InvalidInput(
            f"the attack {name!r} is not made from arrays: {entry.summary}", hint="let a scenario make it"
        )
    hints = get_type_hints(entry.arrays)
    fields = [each.name for each in dataclasses.fields(entry.arrays) if each.name != "once"]
    settings = sorted(entry.Parameters.model_fields.keys() - set(fields) - NAMED_IN_SCENARIOS.keys())
    for unknown in sorted(given.keys() - set(fields) - set(settings)):
        near = difflib.get_close_matches(unknown, [*fields, *settings], n=1)
        raise InvalidInput(
            f"the attack {name!r} takes no argument {unknown!r}",
            hint=f"did you mean {near[0]!r}?" if near else f"it takes {', '.join([*fields, *settings])}",
        )
    arrays = {
        each: _checked(each, given[each], hints[each]) for each in fields if given.get(each) is not None
    }
    arrays = _with_spec(arrays, fields)
    lacking = [each for each in entry.needs if each not in arrays]
    arrays = entry.arrays_filled(arrays)
    lacking += [each for each in _required(entry.arrays) if each not in arrays and each not in lacking]
    if lacking:
        raise InvalidInput(
            f"the attack {name!r} also needs {', '.join(lacking)}",
            hint=f"help(attacks[{name!r}].arrays) says what each argument is",
        )
    parameters = _parameters(entry, {each: given[each] for each in settings if each in given})
    return entry(parameters).on_arrays(entry.arrays(**arrays))


def _required(arrays: type[Any]) -> list[str]:
    missing = dataclasses.MISSING
    return [
        each.name
        for each in dataclasses.fields(arrays)
        if each.default is missing and each.default_factory is missing
    ]


def _parameters(entry: type[Attack], settings: Mapping[str, Any]) -> Any:
    known = entry.Parameters.model_fields
    named = {each: NAMED_IN_SCENARIOS[each] for each in NAMED_IN_SCENARIOS if each in known}
    named = {each: value for each, value in named.items() if known[each].is_required()}
    try:
        return entry.Parameters.model_validate({**named, **settings})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "its settings"
        raise InvalidInput(f"the attack {entry.name!r}, {where}: {first['msg']}") from error


def _checked(name: str, value: Any, hint: Any) -> Any:
    """The value as the type of the field asks for: an array of that kind of numbers, all finite, where it is
    an array, and itself where it is none. Raises `InvalidInput`."""
    optional = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    kind = next((each for each in optional if get_origin(each) is np.ndarray), None)
    if kind is None:
        return value
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # rows of several lengths, a tensor on a GPU
        raise InvalidInput(f"{name!r} is no array of numbers: {error}") from error
    if array.dtype.kind not in "biuf" or array.ndim == 0:
        raise InvalidInput(f"{name!r} is no array of numbers: it has the type {array.dtype}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidInput(
            f"{name!r} holds NaN or infinity", hint="leave those records out, or mend what made them"
        )
    return _as_kind(name, array, get_args(get_args(kind)[1])[0])


def _as_kind(name: str, array: NDArray[Any], wanted: Any) -> NDArray[Any]:
    wanted = get_origin(wanted) or wanted
    if wanted is Any:
        return array
    if issubclass(wanted, np.bool_):
        if not np.isin(array, (0, 1)).all():
            raise InvalidInput(f"{name!r} says yes or no of each", hint="give booleans, or 0 and 1")
        return array.astype(bool)
    if issubclass(wanted, np.integer):
        if not (array == np.round(array)).all():
            raise InvalidInput(f"{name!r} holds classes, or places in a list", hint="give whole numbers")
        return array.astype(np.int64)
    return array.astype(np.float32 if wanted is np.float32 or array.dtype == np.float32 else np.float64)


def _with_spec(arrays: dict[str, Any], fields: list[str]) -> dict[str, Any]:
    """With the ``spec`` that samples have by their shape, where it is not given: rows of numbers (N, D), and
    pictures (N, height, width, channels) of bytes."""
    samples = arrays.get("samples")
    if "spec" not in fields or "spec" in arrays or samples is None:
        return arrays
    if samples.ndim == 2:
        spec = SampleSpec(encoding="vector", shape=samples.shape[1:], dtype="float32")
    elif samples.ndim == 4 and samples.dtype == np.uint8:
        spec = SampleSpec.picture(*samples.shape[1:])
    else:
        raise InvalidInput(
            f"samples {samples.shape} of {samples.dtype} are neither rows of numbers nor pictures of bytes",
            hint="say what they are: spec=SampleSpec(encoding=..., shape=..., dtype=...)",
        )
    same = {
        name: value.astype(spec.dtype)
        for name, value in arrays.items()
        if "samples" in name or name == "unasked"
    }
    return arrays | same | {"spec": spec}
