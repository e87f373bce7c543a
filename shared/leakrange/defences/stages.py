"""What all defences have in common, and how one link of a chain is read."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from leakrange.registry import UnknownName
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
    "begun",
    "canonical",
    "mistake",
    "name_of",
    "read_stage",
]


MAX_STAGES = 16


class Parameters(BaseModel):
    """Base of every defence's parameters: unknown names are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Nothing(Parameters):
    """For defences without parameters."""


P = TypeVar("P", bound=Parameters)


class Defence(ABC, Generic[P]):
    """One link of a chain. Each stage has its own subclass, which says what is changed."""

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
        """The digest of what is trained for it, once that is planned; None where nothing is."""
        return None

    def mistakes(
        self,
        spec: SampleSpec,  # noqa: ARG002
        attributes: Mapping[str, Attribute],  # noqa: ARG002
    ) -> list[dict[str, Any]]:
        """Why it cannot be applied to samples of ``spec`` with these attributes, as `mistake` tells it; the
        paths begin among its parameters."""
        return []

    def recipe(self, data: DataSpec, seed: int) -> TrainingRecipe | None:  # noqa: ARG002
        """How what it needs is trained; None for a defence that needs no training."""
        return None

    def planned(self, data: DataSpec, seed: int) -> Self:  # noqa: ARG002
        """The link that names what is trained for it, so that a chain's identity tells it."""
        return self

    def bound(self, load: Callable[[str], bytes], key: bytes) -> Self:  # noqa: ARG002
        """The link with what was trained for it, which ``load`` reads by the digest of its recipe. ``key`` is
        a secret of whoever applies it."""
        return self


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


def begun(chain: Any) -> list[dict[str, Any]]:
    """The mistakes that a whole chain may have, to which those of its items come; raises `InvalidChain` for
    what is no list."""
    if not isinstance(chain, list):
        raise InvalidChain([mistake([], f"a chain is a list of defences, not {kind_of(chain)}")])
    if len(chain) > MAX_STAGES:
        return [mistake([], f"at most {MAX_STAGES} defences in a chain, not {len(chain)}")]
    return []


def canonical(links: Sequence[tuple[str, Defence[Any]]]) -> list[dict[str, Any]]:
    """What a chain's links are read from, with every parameter that is set, defaults included."""
    return [{name: link.parameters.model_dump(mode="json", exclude_none=True)} for name, link in links]


def read_stage(
    item: Any, index: int, registry: Mapping[str, type[D]], mistakes: list[dict[str, Any]]
) -> tuple[str, D] | None:
    """The defence of ``registry`` that the ``index``-th ``item`` names; on mistakes note them all and give
    None."""
    name = name_of(item)
    if name is None:
        shape = f"{len(item)} names" if isinstance(item, dict) else kind_of(item)
        mistakes.append(
            mistake([index], f"a defence is a name, or one name with its parameters, not {shape}")
        )
        return None
    given = None if isinstance(item, str) else item[name]
    try:
        defence = registry[name]
    except UnknownName as unknown:
        mistakes.append(mistake([index], str(unknown), unknown.allowed))
        return None
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
    """One entry of `InvalidChain.mistakes`."""
    return {"path": list(path), "message": message, "allowed": list(allowed)}


def kind_of(value: Any) -> str:
    """A value's kind, in words."""
    names = {dict: "a mapping", list: "a list", str: "a text", type(None): "nothing", bool: "a boolean"}
    return names.get(type(value), "a number")
