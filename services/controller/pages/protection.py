"""``/protection``: the models behind the proxy, who answers for each, what holds for it, who may ask."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, Request, Response
from fastapi.responses import HTMLResponse

from leakrange.services.controller.pages.protected import (
    curl_for,
    endpoint_for,
    health_of,
    holding,
    keys_of,
    sample_of,
)
from leakrange.services.controller.pages.rendering import fragment, show
from leakrange.services.controller.visitors import Operating, Reading
from leakrange.targets.target import target_of
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.names import NAME
from leakrange.wire.operator import Proxy

router = APIRouter(include_in_schema=False)
Model = Annotated[str, Path(pattern=f"^{NAME}$")]


@router.get("/protection")
async def protection(request: Request, visitor: Reading) -> Response:
    """All models that the proxy serves."""
    proxy = _proxy(request)
    bindings, accounts = await proxy.bindings(), await proxy.accounts()
    rows = [
        {
            "route": route,
            "target": None if route.target is None else target_of(route.target),
            "policy": holding(bindings, route.model),
            "apart": sum(each.model == route.model and bool(each.key or each.endpoint) for each in bindings),
            "keys": keys_of(accounts, route.model),
        }
        for route in await proxy.routes()
    ]
    return show(request, "protection.html.j2", visitor=visitor, rows=rows)


@router.get("/protection/{model}")
async def model(model: Model, request: Request, visitor: Reading) -> Response:
    """One model, and a box to try it."""
    return await _page(request, visitor, model)


@router.get("/protection/{model}/health")
async def health(model: Model, request: Request, visitor: Reading) -> Response:
    """How the one who answers fares: a part of the list of all models."""
    proxy = _proxy(request)
    fares = await health_of(await proxy.route(model), proxy.transport)
    return HTMLResponse(fragment(request, "protection_health.html.j2", visitor=visitor, health=fares))


@router.post("/protection/{model}/try")
async def attempt(
    model: Model,
    request: Request,
    visitor: Operating,
    key: Annotated[str, Form(max_length=256)] = "",
    sample: Annotated[str, Form(max_length=2**20)] = "",
) -> Response:
    """Ask for one sample through the proxy with a key, as its owner does: a part of the page, or the whole
    page without scripts. The key is neither kept nor shown."""
    tried: dict[str, Any] = {"model": model, "error": None}
    try:
        user = _proxy(request).as_user(key.strip())
        card = await user.card(model)
        endpoint = endpoint_for(card)
        values = await user.query(
            model, endpoint, sample_of(sample, card.input, pair=card.default_release == "score")
        )
        names = card.classes if len(card.classes) == values.shape[1] else range(values.shape[1])
        tried |= {"endpoint": endpoint, "values": list(zip(names, values[0].tolist(), strict=True))}
    except LeakrangeError as error:
        tried |= {"error": error.detail, "hint": error.hint}
    if "HX-Request" in request.headers:
        return HTMLResponse(fragment(request, "protection_tried.html.j2", visitor=visitor, tried=tried))
    return await _page(request, visitor, model, tried=tried, status=422 if tried["error"] else 200)


async def _page(
    request: Request, visitor: Any, model: str, *, tried: dict[str, Any] | None = None, status: int = 200
) -> Response:
    proxy = _proxy(request)
    route, bindings = await proxy.route(model), await proxy.bindings()
    policies = {policy.name: policy for policy in await proxy.policies()}
    fares = await health_of(route, proxy.transport)
    card = fares.card
    endpoint = None if card is None else endpoint_for(card)
    keys = keys_of(await proxy.accounts(), model)
    asking = {None, *(key.id for key in keys)}
    bound = [each for each in bindings if each.model in (None, model) and each.key in asking]
    return show(
        request,
        "protected.html.j2",
        status=status,
        visitor=visitor,
        route=route,
        target=None if route.target is None else target_of(route.target),
        health=fares,
        card=card,
        policy=holding(bindings, model, endpoint=endpoint),
        bound=[(each, policies[each.policy].in_words() if each.policy in policies else "") for each in bound],
        keys=[(each, holding(bindings, model, key=each.id, endpoint=endpoint)) for each in keys],
        curl=curl_for(card, model, request.app.state.settings.proxy_for_clients),
        tried=tried,
    )


def _proxy(request: Request) -> Proxy:
    proxy: Proxy = request.app.state.administration
    return proxy
