"""The base of all limits, the facts of a request that they may use, and their registry."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, ValidationError

from leakrange.defences.output import Chain
from leakrange.registry import Registry, UnknownName
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = ["Ask", "Bounds", "Limit", "Samples", "limit_kinds", "read_limit"]

Samples = Annotated[int, Field(ge=0, le=10**12, strict=True)]


@dataclass(frozen=True)
class Ask:
    """The demand of a request: so many ``samples`` of an endpoint of a model, for the key of that id."""

    key: str
    model: str
    endpoint: str
    samples: int
    sketches: Sequence[str] = ()
    """Sketches of its samples, where a limit is ``sketched``."""
    price: float = math.inf
    """The privacy loss of an answer under its policy: see `leakrange.defences.output.Chain.price`."""


class Limit(Strict):
    """A limit; its fields are what the operator chooses.

    ``script`` is the body of a Lua function that returns the three functions ``check``, ``take`` and
    ``give``, as ``scripts/shared.lua`` describes them at ``counter``. Its state lies in the hash
    ``limit_of(name)``, and in further Redis keys whose names begin with that and a colon: see `further`.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    kind: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    script: ClassVar[str] = "return counter()"
    sketched: ClassVar[bool] = False
    """Whether it needs sketches of the samples."""
    transforms: ClassVar[bool] = False
    """Whether `defend` changes the release, or the limit bounds what no model's file may tell beside it."""
    explanation: ClassVar[str] = ""
    """What a refusal says of the limit beside its name."""

    def concerns(self, ask: Ask) -> bool:  # noqa: ARG002 - subclasses may need it
        """Whether it bounds such requests at all."""
        return True

    @abstractmethod
    def fields(self, ask: Ask) -> Sequence[str | int]:
        """Arguments of the script about the request, after the limit's kind and name."""

    @classmethod
    def further(cls, counted: Sequence[str]) -> Sequence[str]:  # noqa: ARG003 - likewise
        """The parts after the colon in the names of its further Redis keys, where the fields of its hash are
        ``counted``. These keys are deleted with the limit; the proxy may not search Redis for them. In a
        cluster the script of a request may use only those that it gives for the first of `fields`."""
        return ()

    def defend(self, chain: Chain, number: int, samples: int) -> Chain:  # noqa: ARG002 - likewise
        """The policy of a request of so many ``samples``, where the script's ``take`` returned a
        ``number``."""
        return chain

    def spent(self, used: Mapping[str, int]) -> dict[str, float]:  # noqa: ARG002 - likewise
        """The ε that each account has spent which ``used`` so many units, where the limit counts ε."""
        return {}

    def spec(self) -> dict[str, Any]:
        """The canonical form, which `read_limit` reads."""
        return {"kind": self.kind, **self.model_dump(mode="json")}


limit_kinds: Registry[type[Limit]] = Registry("kind of limit", "leakrange.services.proxy.limits")


@dataclass(frozen=True)
class Bounds:
    """The limits of one request, as the scripts take them: ``arguments`` are all of them, ``each`` has the
    kind, the name and the further fields of one."""

    names: tuple[str, ...] = ()
    arguments: tuple[str | int, ...] = (0,)
    each: tuple[tuple[str | int, ...], ...] = ()

    @classmethod
    def of(cls, limits: Sequence[tuple[str, Limit]], ask: Ask) -> Bounds:
        """The bounds of those ``limits`` (name and limit) that concern the request."""
        each, packed = [], list[str | int]()
        for name, limit in limits:
            if limit.concerns(ask):
                fields = (limit.kind, name, *limit.fields(ask))
                packed += (len(fields), *fields)
                each.append(fields)
        names = tuple(str(fields[1]) for fields in each)
        return cls(names, (len(each), *packed), tuple(each)) if each else NO_BOUNDS


NO_BOUNDS = Bounds()


def read_limit(spec: dict[str, Any]) -> Limit:
    """The limit of a specification ``{"kind": ..., parameter: value, ...}``. Raises `InvalidInput` with all
    mistakes."""
    parameters = dict(spec)
    kind = parameters.pop("kind", None)
    try:
        limit = limit_kinds[str(kind)]
    except UnknownName as error:
        raise InvalidInput(str(error), mistakes=[{"path": "kind", "message": str(error)}]) from error
    try:
        return limit.model_validate(parameters)
    except ValidationError as error:
        mistakes = [
            {"path": ".".join(map(str, each["loc"])), "message": each["msg"]} for each in error.errors()[:50]
        ]
        raise InvalidInput(
            f"{len(mistakes)} field(s) of a {kind} limit are wrong", mistakes=mistakes
        ) from error
