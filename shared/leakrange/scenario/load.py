"""The section ``load`` of a scenario: which users ask while attacks are carried out, how many at a time, and
with how many keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from leakrange.strict import Strict

__all__ = ["ATTACKERS", "KINDS", "Alternative", "LimitSpec", "LoadSpec", "Role", "Shape", "UserKind"]

UserKind = Literal["honest", "membership", "attribute", "verification", "reconstruction", "botnet"]
Role = Literal["users", "membership", "attribute", "verification", "reconstruction"]
"""The purpose of a chunk of questions: an attack of that sort, or ``users`` whom a service serves."""

KINDS: tuple[UserKind, ...] = get_args(UserKind)
ATTACKERS: tuple[Role, ...] = tuple(role for role in get_args(Role) if role != "users")


class Shape(Strict):
    """How many of the users ask at a time. ``ramp``: from one to all of them within ``seconds``. ``spike``:
    the share ``base`` of them, all of them from ``seconds`` to twice that, then as before. ``soak``: all at
    once, for at least ``seconds``. Each goes on as it ends until every question is answered."""

    kind: Literal["ramp", "spike", "soak"] = "ramp"
    seconds: Annotated[float, Field(gt=0, le=86_400)] = 5.0
    base: Annotated[float, Field(gt=0, le=1)] = 0.25


LimitName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$")]


class LimitSpec(BaseModel):
    """A limit of the proxy: its kind, and that kind's parameters, which the proxy checks."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: Annotated[str, Field(min_length=1, max_length=64)]


class Alternative(Strict):
    """Limits that are compared with others, and over how many ``keys`` an attack splits its questions. Its
    ``name`` follows that of the defence; it is empty for one key without limits. ``limit`` is the name that
    the scenario gives the limits."""

    name: str
    limit: str
    limits: list[LimitSpec]
    keys: int


Keys = Annotated[int, Field(ge=1, le=1000)]


def _numbers(value: Any) -> Any:
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


def _distinct(values: list[int]) -> list[int]:
    if len(set(values)) < len(values):
        raise ValueError("every number once")
    return values


class LoadSpec(Strict):
    """``users`` are as many of each kind as there are at the peak. Each asks as fast as it is answered.

    Each attack splits its questions, and the budget for them, over so many ``keys``; several take a
    ``botnet``. Each of these keys is also subject to ``limits``, and its samples are counted as ``counting``
    says. Several lists of limits, by name, and several numbers of keys are compared: everything is asked once
    under each.
    """

    users: Annotated[dict[UserKind, Annotated[int, Field(ge=1, le=100_000)]], Field(min_length=1)]
    shape: Shape = Shape()
    keys: Annotated[
        list[Keys],
        Field(min_length=1, max_length=8),
        BeforeValidator(_numbers, json_schema_input_type=Keys | list[Keys]),
        AfterValidator(_distinct),
    ] = [1]
    limits: Annotated[
        dict[LimitName, Annotated[list[LimitSpec], Field(max_length=16)]], Field(max_length=16)
    ] = {}
    counting: Literal["exact", "leased"] = "exact"

    @property
    def alternatives(self) -> list[Alternative]:
        """Return the compared alternatives, in the order of the file."""
        alternatives = []
        for limit, limits in (self.limits or {"": []}).items():
            for keys in self.keys:
                several = f"{keys}keys" if len(self.keys) > 1 and keys > 1 else ""
                name = ".".join(part for part in (limit if limits else "", several) if part)
                alternatives.append(Alternative(name=name, limit=limit, limits=limits, keys=keys))
        return alternatives

    @property
    def peak(self) -> int:
        """The greatest number of users at a time."""
        return sum(self.users.values())

    def takers(self, role: Role) -> list[UserKind]:
        """The kinds of users who ask such questions: without an honest user, anybody asks the questions of a
        service's users."""
        if role == "users":
            return ["honest"] if "honest" in self.users else list(self.users)
        return [kind for kind in self.users if kind in (role, "botnet")]
