"""The template of a paper's trials: from a row to data, provider, defence and attack.

A template is a list of parts, each of which adds to the trials of the rows that its filter keeps::

    - provider: {behaviour: honest, target: $y, release: $output, net: {width: $width}}
    - rows: classifier=raw|soft,prune!=
      attack: {kind: attribute-nets, auxiliary: $records.count}

``$name`` is what the paper computes for the row under that name, else the row's field, else the setting. A
row's fields are text: ``$name.count`` is a whole number, ``$name.number`` any. What a name leaves open
(empty, None, or False) is not written, and neither is a mapping or list that holds nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any

from leakrange.papers.trials import PaperTrial
from leakrange.strict import Strict

__all__ = ["TemplatePart", "fits", "text", "trial"]

Names = Mapping[str, Any]
KINDS: Mapping[str, Callable[[Any], Any]] = {"": lambda value: value, "count": int, "number": float}


class TemplatePart(Strict):
    """What the trials have of the rows that the filter ``rows`` keeps (``table=6,role!=student``; without one
    all). Mappings are merged with those of the parts before, everything else takes their place."""

    rows: str = ""
    data: dict[str, Any] = {}
    provider: dict[str, Any] = {}
    defence: list[Any] = []
    attack: dict[str, Any] = {}


def trial(parts: Sequence[TemplatePart], names: Names, seed: int) -> PaperTrial:
    """The trial of the row with those ``names``. Raises `ValueError` for a name that there is not."""
    fields: dict[str, Any] = {}
    for part in parts:
        if fits(part.rows, names):
            written = {name: getattr(part, name) for name in ("data", "provider", "defence", "attack")}
            fields = _merged(fields, _filled(written, names) or {})
    return PaperTrial(seed=seed, **fields)


def fits(condition: str, names: Names) -> bool:
    """Whether every part of a ``condition`` (``name=value|value``, ``name!=value``) is true of those names;
    ``name=`` is true of one that is empty. Raises `ValueError` for another form, and for a name that there is
    not."""
    for part in filter(None, condition.split(",")):
        name, equals, values = part.partition("=")
        if not equals:
            raise ValueError(f"{part!r} keeps no rows: write name=value|value or name!=value")
        value = str(_value(name.removesuffix("!"), names) or "")
        if (value in values.split("|")) == name.endswith("!"):
            return False
    return True


def text(pattern: str, names: Names) -> str:
    """A text with the names in braces replaced; with a format, ``{beta:g}``, they are numbers, 0 where they
    are empty. Raises `ValueError` for a name that there is not."""
    return _Texts().vformat(pattern, (), names)


class _Texts(Formatter):
    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Names) -> Any:  # noqa: ARG002
        return _value(str(key), kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        number = float(value or 0.0) if format_spec and not isinstance(value, int | float) else value
        return format(number, format_spec)


def _value(name: str, names: Names) -> Any:
    if name not in names:
        raise ValueError(f"a template of a paper names {name!r}; there are: {', '.join(sorted(names))}")
    return names[name]


def _filled(value: Any, names: Names) -> Any:
    """A part of a template with all names replaced; None where nothing is left of it."""
    if isinstance(value, dict):
        entries = {key: _filled(entry, names) for key, entry in value.items()}
        return {key: entry for key, entry in entries.items() if entry is not None} or None
    if isinstance(value, list):
        return [entry for each in value if (entry := _filled(each, names)) is not None] or None
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    name, _, kind = value[1:].partition(".")
    named = _value(name, names)
    return None if named is False or named in (None, "", [], {}) else KINDS[kind](named)


def _merged(first: Any, second: Any) -> Any:
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    return first | {key: _merged(first.get(key), value) for key, value in second.items()}
