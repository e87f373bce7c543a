"""``/runs/{run}``: what a run does, live; and, once it is over, how it ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from leakrange.store.runs import FINAL
from leakrange.wire.errors import Conflict
from leakrange.wire.runs import RunView
from services.controller.live.boxes import boxes
from services.controller.live.drawing import drawings
from services.controller.live.service import LiveService, Moment
from services.controller.live.state import Account, RunState
from services.controller.live.tour import tour
from services.controller.live.view import View, groups, side, under_way, view, works
from services.controller.pages.rendering import fragment, show
from services.controller.reading.process import ReadingProcess
from services.controller.requests import Identity
from services.controller.runs.service import RunService
from services.controller.visitors import Reader, Reading

T = TypeVar("T")
router = APIRouter(include_in_schema=False)


def _live(request: Request) -> LiveService:
    service: LiveService = request.app.state.live
    return service


Live = Annotated[LiveService, Depends(_live)]


async def _seen(request: Request, run: Identity) -> RunView:
    runs: RunService = request.app.state.runs
    return await runs.view(run)


Seen = Annotated[RunView, Depends(_seen)]


@router.get("/runs/{run}")
async def page(request: Request, visitor: Reading, run: Identity, seen: Seen, live: Live) -> Response:
    """The picture as it is now; a script keeps it so."""
    reading: ReadingProcess = request.app.state.reading
    answer = await reading.sentences(run, visitor) if seen.state in FINAL else []
    told: dict[str, Any] = {"visitor": visitor, "run": seen, "answer": answer}
    try:
        moment = await live.moment(run)
    except Conflict as error:
        return show(request, "run.html.j2", **told, state=None, missing=error.detail)
    return show(request, "run.html.j2", **told, **_values(moment), missing="")


@router.get("/runs/{run}/live", response_class=EventSourceResponse, dependencies=[Reader, Depends(_seen)])
async def changes(
    request: Request,
    run: Identity,
    live: Live,
    last_event_id: Annotated[str | None, Header(max_length=10, pattern=r"^[0-9]+$")] = None,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> AsyncIterator[ServerSentEvent]:
    """What has changed on the page since the event of that number, and then live: a few times a second at
    most, to the end of the run."""
    shown, opened = View(), -1
    if before := min(int(last_event_id or after), 2**31 - 1):
        shown = _lasting(await live.state_at(run, before))
    parts: dict[str, str] = {}
    async for moment in live.follow(run):
        state = moment.state
        fresh = _parts(request, moment, keys=len(state.accounts) != opened)
        said: dict[str, Any] = moment.shown.changed(shown)
        if changed := {name: text for name, text in fresh.items() if parts.get(name) != text}:
            said["html"] = changed
        shown, parts, opened = moment.shown, parts | fresh, len(state.accounts)
        if said:
            yield ServerSentEvent(event="change", id=str(state.seq), raw_data=orjson.dumps(said).decode())
        if state.over:
            yield ServerSentEvent(event="end", raw_data="{}")


def _values(moment: Moment) -> dict[str, Any]:
    state = moment.state
    return {
        "state": state,
        "view": moment.shown,
        "boxes": boxes(state),
        "drawings": drawings(state),
        "groups": groups(state),
        **_lists(state),
    }


def _lists(state: RunState) -> dict[str, Any]:
    return {
        "said": tour(state),
        "works": works(state),
        "under_way": under_way(state),
        "keys": _keys(state),
    }


def _parts(request: Request, moment: Moment, *, keys: bool) -> dict[str, str]:
    """What is exchanged as a whole; lists of ``keys`` only where there are new ones."""
    values = {"view": moment.shown, "state": moment.state, **_lists(moment.state)}
    names = ["said", "kinds", "running", "messages", *(["keys-users", "keys-attackers"] if keys else [])]
    return {name: fragment(request, "run_parts.html.j2", part=name, **values) for name in names}


def _keys(state: RunState) -> dict[str, list[tuple[int, Account]]]:
    """The numbered API keys of either side."""
    found: dict[str, list[tuple[int, Account]]] = {"users": [], "attackers": []}
    for number, account in enumerate(state.accounts.values()):
        found[side(account.holder)].append((number, account))
    return found


def _lasting(state: RunState) -> View:
    """What a page shows of trials, which are many; everything else is told anew."""
    shown = view(state, state.last)

    def cells(values: dict[str, T]) -> dict[str, T]:
        return {place: value for place, value in values.items() if place.startswith("cell.")}

    return View(state=cells(shown.state), share=cells(shown.share), title=cells(shown.title))
