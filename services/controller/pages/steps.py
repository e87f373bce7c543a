"""``/runs/{run}/steps``: a run step by step, for a class that looks at it together."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from leakrange.services.controller.live.lesson import ShownStep, followed, shown_steps
from leakrange.services.controller.live.state import RunState
from leakrange.services.controller.pages.rendering import show, stamp
from leakrange.services.controller.pages.run import Live, ReadingOf, Seen
from leakrange.services.controller.requests import Identity
from leakrange.services.controller.visitors import Reading
from leakrange.wire.errors import NotFound

router = APIRouter(include_in_schema=False)


@router.get("/runs/{run}/steps")
async def page(
    request: Request,
    visitor: Reading,
    run: Identity,
    record: Seen,
    live: Live,
    reading: ReadingOf,
    provider: Annotated[str | None, Query(max_length=128)] = None,
    seen: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """All steps, as they are now; 204 where they are what was ``seen``. Raises `NotFound` for a provider that
    the run has not, and `Conflict` for a run that another version planned."""
    state = (await live.moment(run)).state
    chosen = followed(state) if provider is None else state.providers.get(provider)
    if chosen is None:
        raise NotFound("this run has no such provider", hint="choose one on the page of its steps")
    found = await reading.lesson(run, chosen.name, visitor) if record.trials.done else []
    steps = shown_steps(state, chosen, found)
    now = _stamp(state, steps)
    if seen == now:
        return Response(status_code=204)
    values: dict[str, Any] = {"run": record, "state": state, "provider": chosen, "steps": steps, "seen": now}
    return show(request, "steps.html.j2", visitor=visitor, **values)


def _stamp(state: RunState, steps: list[ShownStep]) -> str:
    return stamp(json.dumps([state.over, [asdict(step) for step in steps]]).encode())
