"""``/runs/{run}``: what a run does, live; and, once it is over, how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import HTMLResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

from leakrange.services.controller.live.drawing import boxes, drawings
from leakrange.services.controller.live.service import LiveMoment, LiveService
from leakrange.services.controller.live.state import LiveAccount, RunState
from leakrange.services.controller.live.tour import tour
from leakrange.services.controller.live.view import LiveView, groups, lasting, side, under_way, works
from leakrange.services.controller.pages.rendering import fragment, part, show
from leakrange.services.controller.pages.run_actions import RunsOf
from leakrange.services.controller.reading.process import ReadingProcess
from leakrange.services.controller.requests import Identity, of_app
from leakrange.services.controller.runs.endpoints import Seat
from leakrange.services.controller.visitors import Reading
from leakrange.store.runs import FINAL
from leakrange.wire.errors import Conflict
from leakrange.wire.runs import RunView

router = APIRouter(include_in_schema=False)
PARTS = ("said", "kinds", "running", "messages")
KEYS = ("keys-users", "keys-attackers")
"""The parts of the page that are exchanged as a whole."""
Live = Annotated[LiveService, of_app("live")]
ReadingOf = Annotated[ReadingProcess, of_app("reading")]


async def _seen(runs: RunsOf, run: Identity) -> RunView:
    return await runs.view(run)


Seen = Annotated[RunView, Depends(_seen)]


@router.get("/runs/{run}")
async def page(
    request: Request, visitor: Reading, run: Identity, seen: Seen, live: Live, reading: ReadingOf
) -> Response:
    """The picture as it is now; a script keeps it so."""
    answer = await reading.sentences(run, visitor) if seen.state in FINAL else []
    values: dict[str, Any] = {"visitor": visitor, "run": seen, "answer": answer, "final": FINAL}
    try:
        return await live.drawn(
            run, lambda moment: show(request, "run.html.j2", **values, **_values(moment), missing="")
        )
    except Conflict as error:
        return show(request, "run.html.j2", **values, state=None, errors=[], missing=error.detail)


@router.get("/runs/{run}/found")
async def found(
    request: Request, visitor: Reading, run: Identity, seen: Seen, live: Live, reading: ReadingOf
) -> Response:
    """What can be done with the run, and what it found so far, in the first sentence of its report: parts of
    the page, which its script reads anew while the run goes on. Nothing is found until a trial has a
    result."""
    answer = await reading.sentences(run, visitor) if seen.trials.done else []
    values: dict[str, Any] = {"run": seen, "answer": answer, "final": FINAL, "state": None, "errors": []}
    with suppress(Conflict):  # of another version: it has no picture
        state = (await live.moment(run)).state
        values |= {"state": state, "errors": _errors(state)}
    parts = ("run_actions.html.j2", "run_found.html.j2")
    return HTMLResponse("".join(fragment(request, name, visitor=visitor, **values) for name in parts))


@router.get("/runs/{run}/live", response_class=EventSourceResponse, dependencies=[Seat])
async def changes(
    run: Identity,
    live: Live,
    last_event_id: Annotated[str | None, Header(max_length=10, pattern=r"^[0-9]+$")] = None,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> AsyncIterator[ServerSentEvent]:
    """What has changed on the page since the event of that number, and then live: a few times a second at
    most, to the end of the run."""
    before, shown, opened = int(last_event_id or after), LiveView(), -1
    parts: dict[str, str] = {}
    async for moment in live.follow(run):
        if opened < 0 and before:
            shown = lasting(moment.state, moment.shown, before)
        # Lists of keys are exchanged only where there are new ones.
        left_out = KEYS if moment.accounts == opened else ()
        change: dict[str, Any] = moment.shown.changed(shown)
        if html := {
            name: text
            for name, text in moment.parts.items()
            if name not in left_out and parts.get(name) != text
        }:
            change["html"] = html
        shown, parts, opened = moment.shown, moment.parts, moment.accounts
        if change:
            yield ServerSentEvent(event="change", id=str(moment.seq), raw_data=orjson.dumps(change).decode())
        if moment.over:
            yield ServerSentEvent(event="end", raw_data="{}")


def _values(moment: LiveMoment) -> dict[str, Any]:
    state = moment.state
    return {
        "state": state,
        "view": moment.shown,
        "boxes": boxes(state),
        "drawings": drawings(state),
        "groups": groups(state),
        "errors": _errors(state),
        **_lists(state),
    }


def _errors(state: RunState) -> list[tuple[str, int]]:
    """Why trials failed, and how many for each reason, the commonest first."""
    failed = Counter(cell.error for cell in state.trials.values() if cell.state == "failed")
    return failed.most_common()


def _lists(state: RunState) -> dict[str, Any]:
    return {
        "said": tour(state),
        "works": works(state),
        "under_way": under_way(state),
        "keys": _keys(state),
    }


def parts_of(state: RunState, shown: LiveView) -> dict[str, str]:
    """The parts of the page that are exchanged as a whole, by name."""
    values = {"view": shown, "state": state, **_lists(state)}
    return {name: part("run_parts.html.j2", part=name, **values) for name in (*PARTS, *KEYS)}


def _keys(state: RunState) -> dict[str, list[tuple[int, LiveAccount]]]:
    """The numbered API keys of either side."""
    accounts: dict[str, list[tuple[int, LiveAccount]]] = {"users": [], "attackers": []}
    for number, account in enumerate(state.accounts.values()):
        accounts[side(account.holder)].append((number, account))
    return accounts
