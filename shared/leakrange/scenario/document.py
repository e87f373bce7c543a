"""The fields of a scenario file, their defaults and bounds. `leakrange.scenario.language` checks what the
names refer to."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from leakrange.data import Names as Attributes
from leakrange.jobs.net_choice import NetChoice
from leakrange.jobs.recipe import DataSpec, Schedule
from leakrange.jobs.steps.fit import Knowledge
from leakrange.scenario.load import LoadSpec
from leakrange.strict import Strict
from leakrange.wire.endpoints import ServiceSpec
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import MAX_BATCH, StudentService

__all__ = ["NAME", "AttackSpec", "ClientSpec", "Head", "ProviderSpec", "Scenario", "distinct"]

NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}"
"""Names of parties, defences and attacks: no dots, since ids are made of names joined by dots."""


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _numbers(value: Any) -> Any:
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


def _answered(chunk: int) -> int:
    if not 1 <= chunk <= MAX_BATCH:
        raise ValueError(f"a request holds 1 to {MAX_BATCH} samples, not {chunk}")
    return chunk


def distinct(values: list[int]) -> list[int]:
    """The values. Raises `ValueError` where one of them stands twice."""
    if len(set(values)) < len(values):
        raise ValueError("every number once")
    return values


Names = Annotated[
    list[str], BeforeValidator(_listed, json_schema_input_type=str | list[str]), Field(min_length=1)
]
"""A list of names, or one name."""

Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
Budget = Annotated[int, Field(ge=1, le=10_000_000)]


def _service(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


class ProviderSpec(BaseModel):
    """A provider. Fields that are not named here are parameters of its behaviour, e.g. ``beta``.

    ``behaviour`` and ``method`` together name a registered behaviour (``curious`` + ``regularized``);
    ``data`` is a label of the scenario's data (default: the only one); with a ``service`` its model is a
    teacher that is reached only through it; ``release`` is what its users send
    (default: the behaviour's first); ``target`` is what it is asked for, ``sensitive`` what is hidden, for an
    honest provider what outside attackers are after: an attribute each, or a list of several.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    behaviour: str = "honest"
    method: str | None = None
    data: str | None = None
    target: Attributes
    sensitive: Attributes | None = None
    release: ReleaseKind | None = None
    service: (
        Annotated[
            ServiceSpec,
            BeforeValidator(_service, json_schema_input_type=ServiceSpec | StudentService),
        ]
        | None
    ) = None
    net: NetChoice | None = None
    schedule: Schedule | None = None


class ClientSpec(Strict):
    """Simulated users: ``count`` of them, who together bring ``samples`` test samples (default: all of them).
    Each does one thing at a time, so at most ``count`` requests of theirs for a model are under way at once.

    ``uploads`` is the release that they send (default: each provider's), ``defence`` a chain that they apply
    to the model and its outputs before anything leaves them. With the ``intake`` "audited" they use no model
    that does not pass an audit on their devices, made with auxiliary samples as labelled ones: the trials of
    such a model fail.
    """

    kind: Literal["edge"] = "edge"
    count: Annotated[int, Field(ge=1, le=100_000)] = 20
    uploads: ReleaseKind | None = None
    intake: Literal["any", "audited"] = "any"
    samples: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    defence: list[Any] = []


class AttackSpec(BaseModel):
    """An attack of the registered ``kind``. Fields that are not named here are its parameters. A list of
    ``queries`` is one attack for each number, which its name then ends with.

    ``providers`` are those that it is tried on (default: all that it can be), ``knowledge`` what it knows of
    the defence (default: everything that it can).
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str
    providers: Names | None = None
    knowledge: (
        Annotated[
            list[Knowledge],
            BeforeValidator(_listed, json_schema_input_type=Knowledge | list[Knowledge]),
            Field(min_length=1),
        ]
        | None
    ) = None


class Head(Strict):
    """The fields of a scenario that name no party.

    ``budgets`` are in samples: how many answers an outside attacker may have, how many uploads an inside one
    sees. ``net`` and ``schedule`` hold for every provider that says nothing else; a net without a name is one
    that the encoding of the provider's data names. ``chunk`` is the number of samples in one request, at most
    as many as a provider answers. With ``replay`` the answers of remote models behind a defence that the
    proxy alone applies are made from stored undefended ones, so that nobody is asked for them.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    description: Annotated[str, Field(max_length=4000)] = ""
    seeds: Annotated[
        list[Seed],
        Field(min_length=1, max_length=100),
        BeforeValidator(_numbers, json_schema_input_type=Seed | list[Seed]),
        AfterValidator(distinct),
    ] = [0, 1, 2]
    budgets: Annotated[
        list[Budget],
        Field(min_length=1, max_length=50),
        BeforeValidator(_numbers, json_schema_input_type=Budget | list[Budget]),
        AfterValidator(distinct),
    ] = [1000]
    net: NetChoice = NetChoice()
    schedule: Schedule = Schedule()
    chunk: Annotated[
        int,
        AfterValidator(_answered),
        WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_BATCH}),
    ] = 64
    replay: bool = Field(default=False, exclude_if=operator.not_)


class Scenario(Head):
    """A scenario with every default filled in, as `leakrange.scenario.language.parse` gives it.

    Its JSON form is a scenario again, with the same meaning.
    """

    data: dict[str, DataSpec]
    providers: dict[str, ProviderSpec]
    clients: dict[str, ClientSpec]
    defences: dict[str, list[Any]]
    attacks: dict[str, AttackSpec]
    load: LoadSpec | None = None
    """Who asks in a run under load; other runs take no notice of it."""
