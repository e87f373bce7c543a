"""The base of all defences, and the reader of one link of a chain."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from pydantic import ConfigDict, ValidationError

from leakrange.registry import UnknownName
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from leakrange.data.samples import Attribute
    from leakrange.jobs.recipe import DataSpec, TrainingRecipe
    from leakrange.wire.samples import SampleSpec

__all__ = [
    "Defence",
    "InvalidChain",
    "Nothing",
    "P",
    "Parameters",
    "canonical",
    "mistake",
    "name_of",
    "read_stage",
    "whole_mistakes",
]


MAX_STAGES = 16


class Parameters(Strict):
    """Base of every defence's parameters: unknown names are refused, values never change."""

    model_config = ConfigDict(allow_inf_nan=False)


class Nothing(Parameters):
    """Parameters of a defence that has none."""


P = TypeVar("P", bound=Parameters)


class Defence(ABC, Generic[P]):
    """One link of a chain. Each stage has its own subclass, for the thing that it changes."""

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
        """Whether applying it again gives the same result, so that an attacker gains nothing by averaging."""
        return True

    @property
    def artifact(self) -> str | None:
        """The digest of the planned artifact; None before planning, and for a defence that needs none."""
        return None

    def mistakes(
        self,
        spec: SampleSpec,  # noqa: ARG002
        attributes: Mapping[str, Attribute],  # noqa: ARG002
    ) -> list[dict[str, Any]]:
        """Reasons that it cannot be applied to samples of ``spec`` with these attributes, in the form of
        `mistake`. The paths begin among its parameters."""
        return []

    def recipe(self, data: DataSpec, seed: int) -> TrainingRecipe | None:  # noqa: ARG002
        """The recipe of its artifact; None for a defence that needs no training."""
        return None

    def planned(self, data: DataSpec, seed: int) -> Self:  # noqa: ARG002
        """The link with the name of its artifact, so that a chain's identity includes it."""
        return self

    def bound(self, load: Callable[[str], bytes], key: bytes) -> Self:  # noqa: ARG002
        """The link with its artifact, which ``load`` reads by the digest of its recipe. ``key`` is a secret
        of whoever applies it."""
        return self


class InvalidChain(InvalidInput):
    """422: all mistakes of a chain at once; each ``{path, message, allowed}``, path from the chain's own
    root."""

    slug, title = "invalid-chain", "Invalid defence chain"

    def __init__(self, mistakes: list[dict[str, Any]]) -> None:
        summary = "; ".join(f"{'.'.join(map(str, m['path'])) or 'chain'}: {m['message']}" for m in mistakes)
        super().__init__(summary, mistakes=mistakes, hint='e.g. [{"round": {"decimals": 1}}, "argmax"]')
        self.mistakes = mistakes


D = TypeVar("D", bound=Defence[Any])


def name_of(item: Any) -> str | None:
    """The defence that an item of a chain names, None for something that is no item."""
    if isinstance(item, str):
        return item
    if isinstance(item, dict) and len(item) == 1 and isinstance(next(iter(item)), str):
        return str(next(iter(item)))
    return None


def whole_mistakes(chain: Any) -> list[dict[str, Any]]:
    """The mistakes of a chain as a whole, to which those of its items are added. Raises `InvalidChain` for
    something that is no list."""
    if not isinstance(chain, list):
        raise InvalidChain([mistake([], f"a chain is a list of defences, not {kind_of(chain)}")])
    if len(chain) > MAX_STAGES:
        return [mistake([], f"at most {MAX_STAGES} defences in a chain, not {len(chain)}")]
    return []


def canonical(links: Sequence[tuple[str, Defence[Any]]]) -> list[dict[str, Any]]:
    """The specification that a chain's links can be read from, with every parameter that is set, defaults
    included."""
    return [{name: link.parameters.model_dump(mode="json", exclude_none=True)} for name, link in links]


def read_stage(
    item: Any, index: int, registry: Mapping[str, type[D]], mistakes: list[dict[str, Any]]
) -> tuple[str, D] | None:
    """The defence of ``registry`` that the ``index``-th ``item`` names. Where the item has mistakes, all are
    added to ``mistakes``, and the result is None."""
    name = name_of(item)
    if name is None:
        shape = f"{len(item)} names" if isinstance(item, dict) else kind_of(item)
        mistakes.append(
            mistake([index], f"a defence is a name, or one name with its parameters, not {shape}")
        )
        return None
    value = None if isinstance(item, str) else item[name]
    try:
        defence = registry[name]
    except UnknownName as unknown:
        mistakes.append(mistake([index], str(unknown), unknown.allowed))
        return None
    parameters = value
    if value is None:
        parameters = {}
    elif not isinstance(value, dict):
        if defence.shorthand is None or isinstance(value, list):
            mistakes.append(mistake([index, name], f"{name} takes no bare value", _names(defence)))
            return None
        parameters = {defence.shorthand: value}
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
    """One entry of `InvalidChain.mistakes`."""
    return {"path": list(path), "message": message, "allowed": list(allowed)}


def kind_of(value: Any) -> str:
    """A value's kind, in words."""
    names = {dict: "a mapping", list: "a list", str: "a text", type(None): "nothing", bool: "a boolean"}
    return names.get(type(value), "a number")
