"""What all defences are, and reading one link of a chain, whichever registry it is of."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from leakrange.wire.errors import InvalidInput

__all__ = [
    "Defence",
    "InvalidChain",
    "Nothing",
    "P",
    "Parameters",
    "kind_of",
    "mistake",
    "name_of",
    "read_stage",
]


class Parameters(BaseModel):
    """Base of every defence's parameters: unknown names are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Nothing(Parameters):
    """For defences without parameters."""


P = TypeVar("P", bound=Parameters)


class Defence(ABC, Generic[P]):
    """One link of a chain. Each stage has a kind of its own, which says what it changes."""

    Parameters: ClassVar[type[Parameters]]
    summary: ClassVar[str]
    paper: ClassVar[str] = ""
    equation: ClassVar[str] = ""
    shorthand: ClassVar[str | None] = None
    """The parameter that a bare value sets, as in ``{temperature: 2}``."""

    def __init__(self, parameters: P) -> None:
        self.parameters = parameters

    @property
    def deterministic(self) -> bool:
        """Whether doing it again gives the same, so that an attacker gains nothing by averaging."""
        return True


class InvalidChain(InvalidInput):
    """422: all mistakes of a chain at once; each ``{path, message, allowed}``, path from the chain's own
    root.
    """

    slug, title = "invalid-chain", "Invalid defence chain"

    def __init__(self, mistakes: list[dict[str, Any]]) -> None:
        told = "; ".join(f"{'.'.join(map(str, m['path'])) or 'chain'}: {m['message']}" for m in mistakes)
        super().__init__(told, mistakes=mistakes, hint='e.g. [{"round": {"decimals": 1}}, "argmax"]')
        self.mistakes = mistakes


D = TypeVar("D", bound=Defence[Any])


def name_of(item: Any) -> str | None:
    """The defence that a chain's item names, None where it is no item of a chain."""
    if isinstance(item, str):
        return item
    if isinstance(item, dict) and len(item) == 1 and isinstance(next(iter(item)), str):
        return str(next(iter(item)))
    return None


def read_stage(
    item: Any, index: int, registry: Mapping[str, type[D]], mistakes: list[dict[str, Any]]
) -> tuple[str, D] | None:
    """The defence of ``registry`` that the ``index``-th ``item`` names; on mistakes note them all and give
    None. Raises `UnknownName` as the registry does.
    """
    name = name_of(item)
    if name is None:
        shape = f"{len(item)} names" if isinstance(item, dict) else kind_of(item)
        mistakes.append(
            mistake([index], f"a defence is a name, or one name with its parameters, not {shape}")
        )
        return None
    given = None if isinstance(item, str) else item[name]
    defence = registry[name]
    parameters = given
    if given is None:
        parameters = {}
    elif not isinstance(given, dict):
        if defence.shorthand is None or isinstance(given, list):
            mistakes.append(mistake([index, name], f"{name} takes no bare value", _names(defence)))
            return None
        parameters = {defence.shorthand: given}
    try:
        return name, defence(defence.Parameters.model_validate(parameters))
    except ValidationError as error:
        for each in error.errors(include_url=False, include_context=False):
            allowed = _names(defence) if each["type"] == "extra_forbidden" else ()
            message = each["msg"].removeprefix("Value error, ")
            mistakes.append(mistake([index, name, *each["loc"]], message, allowed))
        return None


def _names(defence: type[Defence[Any]]) -> tuple[str, ...]:
    return tuple(defence.Parameters.model_fields)


def mistake(path: Sequence[str | int], message: str, allowed: Sequence[str] = ()) -> dict[str, Any]:
    """As `InvalidChain` carries it."""
    return {"path": list(path), "message": message, "allowed": list(allowed)}


def kind_of(value: Any) -> str:
    """A value's kind, in words."""
    names = {dict: "a mapping", list: "a list", str: "a text", type(None): "nothing", bool: "a boolean"}
    return names.get(type(value), "a number")
