"""The admin API: policies, bindings, routes, limits and keys, for the operator alone. PUTs may be
repeated."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from leakrange.defences.output import Chain
from leakrange.service.acts import admit_operator
from leakrange.services.proxy.admin_limits import router as limits
from leakrange.services.proxy.admin_parts import ActTable, KeyTable, Live, PolicyTable, TargetTable
from leakrange.services.proxy.admin_shadows import router as shadows
from leakrange.services.proxy.openapi import KEY
from leakrange.services.proxy.snapshot import Base, Binding
from leakrange.services.proxy.targets import TargetFailed
from leakrange.targets.dialogue import Refused, probe_of
from leakrange.targets.target import RemoteTarget, target_of
from leakrange.wire.acts import ProxyActs
from leakrange.wire.administration import (
    Account,
    Accounts,
    BindingBody,
    Bindings,
    Endpoint,
    KeyChange,
    KeyRequest,
    KeyRotation,
    NewKey,
    Policies,
    Policy,
    PolicyBody,
    Route,
    RouteBody,
    Routes,
    TargetAsked,
)
from leakrange.wire.errors import NotFound
from leakrange.wire.schemas import Name

router = APIRouter(prefix="/admin", tags=["admin"], dependencies=[Depends(admit_operator), KEY])
router.include_router(limits)
router.include_router(shadows)


@router.get("/policies")
async def list_policies(live: Live) -> Policies:
    """All policies."""
    policies = (await live.refresh()).policies
    return Policies(policies=[_policy(name, chain) for name, chain in sorted(policies.items())])


@router.get("/policies/{name}")
async def get_policy(name: Name, live: Live) -> Policy:
    """One policy."""
    policies = (await live.refresh()).policies
    if name not in policies:
        raise NotFound(f"there is no policy {name!r}")
    return _policy(name, policies[name])


@router.put("/policies/{name}")
async def put_policy(name: Name, body: PolicyBody, store: PolicyTable) -> Policy:
    """Create or replace a policy. All mistakes of a chain are reported at once."""
    chain = Chain.parse(body.chain)
    await store.put_policy(name, chain)
    return _policy(name, chain)


@router.delete("/policies/{name}", status_code=204)
async def delete_policy(name: Name, store: PolicyTable) -> None:
    """Delete a policy without bindings."""
    await store.delete_policy(name)


@router.get("/bindings")
async def list_bindings(live: Live) -> Bindings:
    """All bindings, the default first."""
    bindings = (await live.refresh()).bindings.items()
    ordered = sorted(bindings, key=lambda item: [part or "" for part in item[0]])
    return Bindings(
        bindings=[
            BindingBody.model_validate({**each._asdict(), "policy": policy}) for each, policy in ordered
        ]
    )


@router.put("/bindings")
async def put_binding(body: BindingBody, store: PolicyTable) -> BindingBody:
    """Bind a policy to a key, a model, one endpoint of a model, or (none of them) to all other requests."""
    await store.put_binding(Binding(body.key, body.model, body.endpoint), body.policy)
    return body


@router.delete("/bindings", status_code=204)
async def delete_binding(
    store: PolicyTable,
    key: Annotated[Name | None, Query()] = None,
    model: Annotated[Name | None, Query()] = None,
    endpoint: Annotated[Endpoint | None, Query()] = None,
) -> None:
    """Delete the binding of exactly these."""
    await store.delete_binding(Binding(key, model, endpoint))


@router.get("/routes", response_model_exclude_none=True)
async def list_routes(live: Live) -> Routes:
    """All routes."""
    routes = (await live.refresh()).routes
    return Routes(routes=[_route(model, routes[model]) for model in sorted(routes)])


@router.get("/routes/{model}", response_model_exclude_none=True)
async def get_route(model: Name, live: Live, targets: TargetTable) -> Route:
    """One route; of a target, with what it was asked, and how it fared."""
    routes = (await live.refresh()).routes
    if model not in routes:
        raise NotFound(f"there is no route for {model!r}")
    base = routes[model]
    if isinstance(base, str):
        return _route(model, base)
    asked, health = TargetAsked(**(await targets.counts(base))._asdict()), await targets.health(base)
    return _route(model, base).model_copy(update={"asked": asked, "health": health})


@router.put("/routes/{model}", response_model_exclude_none=True)
async def put_route(model: Name, body: RouteBody, store: PolicyTable, targets: TargetTable) -> Route:
    """Send requests for a model to the provider at ``upstream``, or to a ``target``, which is asked one
    sample first (all zeros) unless ``probe`` is false."""
    base: Base = str(body.upstream).rstrip("/") if body.target is None else target_of(body.target)
    tried = None
    if isinstance(base, RemoteTarget) and body.probe:
        try:
            tried = await targets.release(base, probe_of(base), None)
        except TargetFailed as error:
            if error.away:  # it may come back
                raise
            raise Refused(error.detail, hint=error.hint) from error
    await store.put_route(model, base)
    route = _route(model, base)
    return route if tried is None else route.model_copy(update={"tried": tried[0].tolist()})


@router.delete("/routes/{model}", status_code=204)
async def delete_route(model: Name, store: PolicyTable) -> None:
    """Stop serving a model."""
    await store.delete_route(model)


@router.post(
    "/keys", status_code=201, responses={200: {"description": "This id and key were there", "model": NewKey}}
)
async def create_key(body: KeyRequest, store: KeyTable, response: Response) -> NewKey:
    """Make an API key. It is shown this once, and only its hash is kept."""
    account, key, new = await store.create(body)
    response.status_code = 201 if new else 200
    response.headers["Cache-Control"] = "no-store"
    return NewKey(**account.model_dump(), key=key)


@router.get("/keys")
async def list_keys(store: KeyTable) -> Accounts:
    """All keys with their ledgers."""
    return Accounts(keys=await store.all())


@router.get("/keys/{id}")
async def get_key(id: Name, store: KeyTable) -> Account:
    """One key with its ledger."""
    return await store.get(id)


@router.patch("/keys/{id}")
async def change_key(id: Name, body: KeyChange, store: KeyTable) -> Account:
    """Change a key's name, budget, models, endpoints or limits, or revoke it."""
    return await store.change(id, body)


@router.post("/keys/{id}/rotation")
async def rotate_key(id: Name, body: KeyRotation, store: KeyTable, response: Response) -> NewKey:
    """Give an account another key, shown this once. The one before is valid a while longer; budget, ledger
    and permissions stay."""
    account, key = await store.rotate(id, body.overlap)
    response.headers["Cache-Control"] = "no-store"
    return NewKey(**account.model_dump(), key=key)


@router.get("/acts")
async def list_acts(
    store: ActTable, since: Annotated[float, Query(ge=0, allow_inf_nan=False)] = 0.0
) -> ProxyActs:
    """What the operator did at the proxies from that time on (seconds since 1970), oldest first. The
    controller reads it for its log."""
    return ProxyActs(acts=await store.since(since))


def _route(model: str, base: Base) -> Route:
    if isinstance(base, str):
        return Route(model=model, upstream=base)
    return Route(model=model, target=base.model_dump(mode="json", by_alias=True, exclude_unset=True))


def _policy(name: str, chain: Chain) -> Policy:
    return Policy(name=name, chain=chain.spec(), digest=chain.digest(), deterministic=chain.deterministic)
