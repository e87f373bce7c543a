"""Policies, bindings, routes, keys, their limits, and shadows: bodies of the proxy's ``/admin``."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, model_validator

from leakrange.strict import Strict, example
from leakrange.wire.endpoints import ENDPOINTS, RELEASES, UPLOADS
from leakrange.wire.schemas import Name

__all__ = [
    "Account",
    "Accounts",
    "BindingBody",
    "Bindings",
    "Budget",
    "Counting",
    "Endpoint",
    "KeyChange",
    "KeyRequest",
    "KeyRotation",
    "LimitBody",
    "LimitKind",
    "LimitList",
    "LimitUse",
    "Limits",
    "NamedLimit",
    "NewKey",
    "Policies",
    "Policy",
    "PolicyBody",
    "Route",
    "RouteBody",
    "Routes",
    "ShadowFigures",
    "ShadowList",
    "TargetAsked",
    "TargetHealth",
]

Budget = Annotated[int, Field(ge=0, le=10**12, strict=True)]
"""Samples."""


def _distinct(names: list[str]) -> list[str]:
    return list(dict.fromkeys(names))


Counting = Literal["exact", "leased"]
Limits = Annotated[list[Name], Field(max_length=16), AfterValidator(_distinct)]


def _known(endpoint: str) -> str:
    if endpoint not in ENDPOINTS:
        raise ValueError(f"there is no endpoint {endpoint[:40]!r}; there are: {', '.join(ENDPOINTS)}")
    return endpoint


Endpoint = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": list(ENDPOINTS)})]


class _Finite(Strict):
    model_config = ConfigDict(allow_inf_nan=False)


class PolicyBody(_Finite):
    """A chain of output defences, e.g. ``[{"round": {"decimals": 1}}, "argmax"]``; empty changes nothing."""

    model_config = example({"chain": [{"round": {"decimals": 1}}, "argmax"]})
    chain: list[Any] = Field(max_length=64)


class Policy(_Finite):
    """A policy; ``digest`` names the chain in whichever way it was written."""

    name: Name
    chain: list[dict[str, Any]]
    digest: str
    deterministic: bool
    """Whether asking again gives the same answer."""

    def in_words(self) -> str:
        """The links of the chain, each with its parameters."""
        links = []
        for link in self.chain:
            [(name, options)] = link.items()
            given = options.items() if isinstance(options, dict) else ()
            links.append(" ".join([name, *(f"{key}={json.dumps(value)}" for key, value in given)]))
        return ", then ".join(links) or "changes nothing"


class Policies(_Finite):
    """All policies."""

    policies: list[Policy]


class BindingBody(_Finite):
    """Whose requests a policy holds for. What is left out matches all; the most specific binding wins:
    key, model and endpoint; key and model; key; model and endpoint; model; none of them (the default)."""

    model_config = example({"model": "digits", "endpoint": "softmax", "policy": "label-only"})
    key: Name | None = None
    """The key's id."""
    model: Name | None = None
    endpoint: Endpoint | None = None
    policy: Name

    @model_validator(mode="after")
    def _endpoint_of_a_model(self) -> BindingBody:
        if self.endpoint is not None and self.model is None:
            raise ValueError("an endpoint is bound together with its model")
        if self.endpoint not in (None, *RELEASES, UPLOADS):
            raise ValueError(f"{self.endpoint} is no release: restrict the key's endpoints instead")
        return self


class Bindings(_Finite):
    """All bindings."""

    bindings: list[BindingBody]


class ShadowFigures(BindingBody):
    """A shadow, and what it would have made of the answers that it was computed beside."""

    model_config = example(None)
    requests: int
    samples: int
    values: int
    changed: int
    """Values that differ from those that were sent."""
    decisions: int
    """Samples whose largest value would have been another one."""
    distance: float | None
    """Mean over samples of the Euclidean distance from what was sent; None before the first."""
    cpu_seconds: float
    failed: int
    """Requests of which it made nothing: the policy cannot take their release, say."""
    skipped: int
    """Requests that it was too slow for."""


class ShadowList(_Finite):
    """All shadows."""

    shadows: list[ShadowFigures]


def _plain(url: HttpUrl) -> HttpUrl:
    if url.username or url.password or url.query or url.fragment:
        raise ValueError("only scheme, host, port and path")
    return url


class RouteBody(_Finite):
    """Who answers for a model: the provider at a base URL, or a target, as its file describes it."""

    model_config = example({"upstream": "http://127.0.0.1:8702"})
    upstream: Annotated[HttpUrl, AfterValidator(_plain)] | None = None
    target: dict[str, Any] | None = None
    probe: bool = True
    """Whether a target is asked one sample, and refused if its answer cannot be used."""

    @model_validator(mode="after")
    def _one(self) -> RouteBody:
        if (self.upstream is None) == (self.target is None):
            raise ValueError("a route has an 'upstream' or a 'target'")
        return self


class TargetAsked(_Finite):
    """What a target was asked: samples ``sent``, those of requests that were repeated counted again; samples
    ``answered``; and ``requests``."""

    sent: int
    answered: int
    requests: int


class TargetHealth(_Finite):
    """How a target fared when it was last asked, in seconds since 1970: None where that has not happened."""

    answered: float | None = None
    failed: float | None = None
    failure: str | None = None
    """Why it failed."""


class Route(_Finite):
    """Where requests for a model go."""

    model: Name
    upstream: str | None = None
    target: dict[str, Any] | None = None
    asked: TargetAsked | None = None
    health: TargetHealth | None = None
    tried: list[float] | None = None
    """The release of the sample that a target was asked when the route was made."""


class Routes(_Finite):
    """All routes."""

    routes: list[Route]


GivenKey = Annotated[str, Field(min_length=32, max_length=256, pattern=r"^[\x21-\x7e]+$")]


class KeyRequest(_Finite):
    """A new API key. ``budget`` None: unlimited. ``models`` None: all. ``endpoints`` None: all; but where a
    policy holds, neither ``artifact`` nor the list of the ``gallery``, which no policy can transform."""

    model_config = example(
        {"name": "a partner", "budget": 1000, "models": ["digits"], "endpoints": ["softmax"]}
    )
    name: Annotated[str, Field(min_length=1, max_length=200)]
    budget: Budget | None
    policy: Name | None = None
    """Bound to the key."""
    models: list[Name] | None = None
    endpoints: list[Endpoint] | None = None
    """All that the key may be used for. Whoever may fetch the ``artifact`` can compute undefended releases
    that no budget counts."""
    limits: Limits = []
    """What bounds the key beside its budget, by name: see ``/admin/limits``."""
    counting: Counting = "exact"
    """``exact``: the ledger is asked about every request. ``leased``: each proxy takes a block of the samples
    and answers from it; not together with limits. What a proxy that is killed holds (what it used since it
    last settled, and at most 4,096 more) counts as spent, and changes of the key take effect within a second.
    Requests with an ``Idempotency-Key`` are always counted exactly."""
    id: Name | None = None
    key: GivenKey | None = None
    """The caller's own secret. The same id and key again find the key that is there, unchanged."""
    further_keys: Annotated[list[GivenKey], Field(max_length=4)] = []
    """Valid for the same account, such as those of the secret that replaces another. They are added to an
    account that one of the keys has already."""


class KeyRotation(_Finite):
    """What replaces the key of an account: a new one, while the one before is valid for ``overlap`` more
    seconds."""

    model_config = example({"overlap": 3600})
    overlap: Annotated[int, Field(ge=0, le=31 * 86_400)] = 3600


class KeyChange(_Finite):
    """What changes of a key; what is left out stays, null stands for all as in a new key. Revoking is for
    good."""

    model_config = example({"budget": 2000})
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    budget: Budget | None = None
    """The whole budget, spent samples included. null: unlimited."""
    models: list[Name] | None = None
    endpoints: list[Endpoint] | None = None
    limits: Limits | None = None
    counting: Counting | None = None
    revoked: Literal[True] | None = None


class Account(_Finite):
    """A key and its ledger, in samples where not said otherwise."""

    id: str
    name: str
    policy: str | None
    models: list[str] | None
    endpoints: list[str] | None
    limits: list[str]
    counting: Counting
    revoked: bool
    created: float
    """Seconds since 1970."""
    budget: int | None
    spent: int
    """Answered, or being answered without an ``Idempotency-Key``: such samples are charged when the request
    is admitted, and come back where the provider fails. What a proxy that is killed has in flight stays
    spent, since the answer may have been sent."""
    reserved: int
    """Being answered under an ``Idempotency-Key``. If the proxy is killed they come back, and a repeat is
    answered."""
    held: int
    """Leased by proxies: spent since they last settled, or free to be spent there."""
    remaining: int | None
    """Neither spent, reserved nor held; None: unlimited. Limits may leave less."""
    requests: int
    """Requests answered."""
    replays: int
    """Requests answered again from memory, at no cost."""
    refused: int
    """Requests refused by the budget or a limit."""
    refunded: int
    """Samples given back since the provider failed, or the proxy died with them reserved."""


class NewKey(Account):
    """A key just made: the only answer that ever shows it."""

    key: str


class Accounts(_Finite):
    """All keys."""

    keys: list[Account]


class LimitBody(BaseModel):
    """A limit: its kind and that kind's parameters, e.g. ``{"kind": "window", "samples": 100, "seconds":
    60}``."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False) | example(
        {"kind": "window", "samples": 100, "seconds": 60}
    )

    kind: str


class NamedLimit(LimitBody):
    """A limit by its name."""

    model_config = example(None)
    name: Name


class LimitUse(NamedLimit):
    """A limit, and what is counted under it."""

    used: dict[str, int]
    """Samples, or units where these are weighted, by what they are counted for: a key, a key and a model, or
    all. A window's are as of the last request."""
    spent: dict[str, float] = {}
    """The privacy loss (ε) of each account, under a limit that counts it; its units are billionths of ρ."""


class LimitKind(BaseModel):
    """A kind of limit; ``parameters`` is the JSON schema of each."""

    kind: str
    summary: str
    parameters: dict[str, Any]
    required: list[str]


class LimitList(BaseModel):
    """All limits, and the kinds that there are."""

    limits: list[NamedLimit]
    kinds: list[LimitKind]
