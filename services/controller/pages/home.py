"""``/``: the runs of this range, as they go on."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from leakrange.services.controller.pages.rendering import fragment, show, stamp
from leakrange.services.controller.requests import WITHOUT_NUL
from leakrange.services.controller.runs.service import RunService
from leakrange.services.controller.visitors import Reading
from leakrange.store.runs import Order
from leakrange.wire.runs import State

router = APIRouter(include_in_schema=False)
A_PAGE = 50
FALLING = ("leak", "created")
"""The columns whose largest values come first, where nobody says otherwise."""


class WantedRuns(BaseModel):
    """Which runs are shown, and in which order; ``start`` is the number of the first of the page."""

    text: Annotated[str, Field(max_length=200, pattern=WITHOUT_NUL)] = ""
    state: State | Literal[""] = ""
    by: Order = "created"
    down: bool = True
    start: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0

    def address(self, **changes: Any) -> str:
        """The query of these runs, with some changes; what is as usual is left out."""
        fields = self.model_copy(update=changes).model_dump(exclude_defaults=True, exclude={"seen"})
        return urlencode(fields)

    def sorted_by(self, by: Order) -> str:
        """The query of the same runs by that column: the other way round if they are sorted by it."""
        return self.address(by=by, down=not self.down if by == self.by else by in FALLING, start=0)


class WantedRunsSeen(WantedRuns):
    """The same for a page that has the list ``seen`` already."""

    seen: Annotated[str, Field(max_length=64)] = ""


@router.get("/")
async def home(request: Request, visitor: Reading, wanted: Annotated[WantedRuns, Query()]) -> Response:
    """Runs, newest first."""
    return show(request, "home.html.j2", visitor=visitor, **await _listed(request, wanted))


@router.get("/runs/list")
async def again(request: Request, visitor: Reading, wanted: Annotated[WantedRunsSeen, Query()]) -> Response:
    """The list alone; 204 if it has not changed since it was ``seen``, so that nothing moves under a reader's
    hands."""
    listed = await _listed(request, wanted)
    if listed["seen"] == wanted.seen:
        return Response(status_code=204)
    return HTMLResponse(fragment(request, "runs.html.j2", visitor=visitor, **listed))


async def _listed(request: Request, wanted: WantedRuns) -> dict[str, Any]:
    service: RunService = request.app.state.runs
    runs, total = await service.table(
        wanted.by,
        down=wanted.down,
        text=wanted.text,
        state=wanted.state or None,
        limit=A_PAGE,
        start=wanted.start,
    )
    content = b"".join(run.model_dump_json().encode() for run in runs)
    return {
        "runs": runs,
        "seen": stamp(content + str(total).encode()),
        "wanted": wanted,
        "total": total,
        "a_page": A_PAGE,
        "states": get_args(State),
    }
