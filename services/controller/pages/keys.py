"""``/keys``: the proxy's API keys, what each may ask, and what is left of its budget."""

from __future__ import annotations

import re
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse

from leakrange.services.controller.pages.rendering import fragment, see_other, show, stamp
from leakrange.services.controller.visitors import Acting, Operating, Reading
from leakrange.wire.administration import Counting
from leakrange.wire.endpoints import ENDPOINTS
from leakrange.wire.errors import InvalidInput
from leakrange.wire.operator import Proxy

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Form(max_length=4000)]
Listed = Annotated[list[str] | None, Form()]
OfRuns = Annotated[bool, Query(alias="runs")]
OF_A_RUN = re.compile(r"(\d{8}-\d{6}-[0-9a-f]{6})(?:\.(.+))?")
"""The id of a key that a run made: the run's, and what the key is for."""


@router.get("/keys")
async def keys(request: Request, visitor: Reading, of_runs: OfRuns = False) -> Response:
    """The form of a new key, and the keys that people made; those of runs for whoever asks for them."""
    return await _page(request, visitor=visitor, of_runs=of_runs)


@router.get("/keys/list")
async def again(
    request: Request,
    visitor: Reading,
    seen: Annotated[str, Query(max_length=64)] = "",
    of_runs: OfRuns = False,
) -> Response:
    """The table of keys alone; 204 if it has not changed since ``seen``."""
    listed = await _listed(request, of_runs)
    if listed["seen"] == seen:
        return Response(status_code=204)
    return HTMLResponse(fragment(request, "keys_list.html.j2", visitor=visitor, **listed))


@router.post("/keys")
async def create(
    request: Request,
    visitor: Operating,
    name: Text = "",
    budget: Text = "",
    policy: Text = "",
    models: Text = "",
    endpoints: Listed = None,
    limits: Listed = None,
    counting: Annotated[Counting, Form()] = "exact",
) -> Response:
    """Make a key. This answer alone shows it."""
    given: dict[str, Any] = {
        "name": name.strip(),
        "budget": budget.strip(),
        "policy": policy,
        "models": models,
        "endpoints": endpoints or [],
        "limits": limits or [],
        "counting": counting,
    }
    try:
        created = await _proxy(request).create_key(
            given["name"],
            _samples(budget),
            policy=policy or None,
            models=[model.strip() for model in models.split(",") if model.strip()] or None,
            endpoints=endpoints or None,
            limits=limits or [],
            counting=counting,
        )
    except InvalidInput as error:
        return await _page(request, visitor=visitor, given=given, mistakes=_mistakes(error), status=422)
    return await _page(request, visitor=visitor, made=created, status=201)


@router.get("/keys/{id}")
async def key(id: str, request: Request, visitor: Reading) -> Response:
    """One key with its ledger."""
    return show(request, "key.html.j2", visitor=visitor, key=await _proxy(request).account(id), mistakes=[])


@router.post("/keys/{id}")
async def change(id: str, request: Request, visitor: Operating, budget: Text = "") -> Response:
    """Give a key another budget."""
    try:
        await _proxy(request).change_key(id, budget=_samples(budget))
    except InvalidInput as error:
        account, mistakes = await _proxy(request).account(id), _mistakes(error)
        return show(request, "key.html.j2", status=422, visitor=visitor, key=account, mistakes=mistakes)
    return see_other(f"/keys/{id}")


@router.post("/keys/{id}/revoke", dependencies=[Acting])
async def revoke(id: str, request: Request) -> Response:
    """Revoke a key for good."""
    await _proxy(request).change_key(id, revoked=True)
    return see_other(f"/keys/{id}")


def _proxy(request: Request) -> Proxy:
    proxy: Proxy = request.app.state.administration
    return proxy


async def _page(request: Request, *, status: int = 200, of_runs: bool = False, **values: Any) -> Response:
    proxy = _proxy(request)
    shown = {"made": None, "given": {}, "mistakes": []} | values | await _listed(request, of_runs)
    if shown["visitor"].operates:
        shown |= {"policies": await proxy.policies(), "limits": (await proxy.limits()).limits}
    return show(request, "keys.html.j2", status=status, endpoints=ENDPOINTS, **shown)


async def _listed(request: Request, of_runs: bool) -> dict[str, Any]:
    """The keys that people made, and how many runs made; these as well if they are wanted, ``of_runs``."""
    accounts = sorted(await _proxy(request).accounts(), key=lambda each: (each.revoked, -each.created))
    runs = {each.id: match.groups() for each in accounts if (match := OF_A_RUN.fullmatch(each.id))}
    people = [each for each in accounts if each.id not in runs]
    shown = [*people, *(each for each in accounts if each.id in runs and of_runs)]
    content = orjson.dumps([len(runs), *(each.model_dump() for each in shown)])
    return {"keys": shown, "people": len(people), "runs": runs, "of_runs": of_runs, "seen": stamp(content)}


def _samples(written: str) -> int | None:
    """Read a budget from a form; an empty one is None, without limit."""
    plain = written.replace(",", "").replace(" ", "")
    if not plain:
        return None
    if not plain.isdecimal():
        raise InvalidInput(
            "one mistake", mistakes=[{"path": "budget", "message": "a whole number of samples, or nothing"}]
        )
    return min(int(plain), 2**62)  # which is sent, and refused


def _mistakes(error: InvalidInput) -> list[str]:
    mistakes = error.extra.get("mistakes") or [{"path": "", "message": error.detail}]
    return [f"{str(each['path']).removeprefix('body.')}: {each['message']}".strip(": ") for each in mistakes]
