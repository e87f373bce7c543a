"""``/scenarios/new``: an editor of scenarios, whose checks run here."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, Query, Request, Response
from fastapi.responses import HTMLResponse

from leakrange.scenario.answers import ScenarioAnswers, scenario_text
from leakrange.scenario.shipped import shipped
from leakrange.scenario.yaml_source import MAX_BYTES
from leakrange.services.controller.pages.rendering import fragment, see_other, show
from leakrange.services.controller.requests import FORM, LONGEST
from leakrange.services.controller.runs.service import RunService
from leakrange.services.controller.scenarios.schemas import Checked, Mistake
from leakrange.services.controller.scenarios.service import ScenarioService
from leakrange.services.controller.visitors import Operating, Reading, Visitor
from leakrange.wire.errors import InvalidScenario, NotFound

router = APIRouter(include_in_schema=False)

SECTIONS = ("seeds", "data", "providers", "clients", "defences", "attacks", "budgets")

Text = Annotated[str, Form(max_length=MAX_BYTES)]
Origin = Annotated[str, Form(max_length=LONGEST, pattern=r"^[A-Za-z0-9-]*$")]
Ready = Annotated[str, Path(max_length=LONGEST, pattern=FORM)]
Source = Annotated[str, Query(alias="from", max_length=LONGEST, pattern=FORM)]


@router.get("/scenarios/new")
async def write(
    request: Request,
    visitor: Reading,
    source: Source = "",
    at: Annotated[str, Query(max_length=32, pattern="^[a-z]*$")] = "",
) -> Response:
    """The editor, with a ready scenario, that of a run, or one that is short."""
    text, origin, load = scenario_text(ScenarioAnswers()), "", False
    if source in shipped():
        text = shipped()[source].text
    elif source:
        runs: RunService = request.app.state.runs
        written = await runs.written(source)
        text, origin, load = written.text, source, written.load
    return await editor(request, visitor, text.replace("\r\n", "\n"), origin=origin, load=load, at=at)


@router.post("/scenarios/check")
async def check(
    request: Request, visitor: Reading, text: Text = "", origin: Origin = "", load: bool = Form(False)
) -> Response:
    """The editor again with what is wrong, or that alone for the script that exchanges it."""
    text = text.replace("\r\n", "\n")
    if "HX-Request" in request.headers:
        values = await _checked_and_changes(request, visitor, text, origin)
        return HTMLResponse(fragment(request, "checked.html.j2", visitor=visitor, **values))
    return await editor(request, visitor, text, origin=origin, load=load)


@router.post("/scenarios/start")
async def start(
    request: Request, operator: Operating, text: Text = "", origin: Origin = "", load: bool = Form(False)
) -> Response:
    """Begin a run and go to its page; where the scenario has mistakes, show them."""
    return await begin(request, operator, text.replace("\r\n", "\n"), origin=origin, load=load)


@router.post("/scenarios/start/{name}")
async def start_ready(name: Ready, request: Request, operator: Operating) -> Response:
    """The same for a ready scenario."""
    if name not in shipped():
        raise NotFound(f"there is no ready scenario {name!r}", hint="the page of scenarios lists them")
    return await begin(request, operator, shipped()[name].text)


async def begin(
    request: Request, operator: Visitor, text: str, *, origin: str = "", load: bool = False
) -> Response:
    """Begin a run of a scenario and go to its page; where it has mistakes, or its data is not here, show that
    in the editor."""
    runs: RunService = request.app.state.runs
    try:
        begun = await runs.start(text.encode(), load=load, origin=origin or None)
    except InvalidScenario as error:
        mistakes = [Mistake.model_validate(each) for each in error.extra["mistakes"]]
        refused = Checked(valid=False, mistakes=mistakes)
        return await editor(
            request, operator, text, origin=origin, load=load, checked=refused, status=error.status
        )
    return see_other(f"/runs/{begun.id}")


async def editor(
    request: Request,
    visitor: Visitor,
    text: str,
    *,
    origin: str = "",
    load: bool = False,
    at: str = "",
    checked: Checked | None = None,
    status: int = 200,
) -> Response:
    """The editor with that text, and what is wrong with it."""
    values = await _checked_and_changes(request, visitor, text, origin, checked)
    return show(
        request,
        "editor.html.j2",
        status=status,
        visitor=visitor,
        text=text,
        origin=origin,
        load=load,
        at=_line_of(text, at),
        **values,
    )


async def _checked_and_changes(
    request: Request, visitor: Visitor, text: str, origin: str, checked: Checked | None = None
) -> dict[str, Any]:
    """The result of checking a scenario, and its changes to the run that it was taken from."""
    service: ScenarioService = request.app.state.scenarios
    if checked is None:
        checked = await service.check(text.encode(), operates=visitor.operates)
    before = await _original(request, origin)
    changes = None if before is None else await service.changes(before, text, operates=visitor.operates)
    return {"checked": checked, "changes": changes}


async def _original(request: Request, origin: str) -> str | None:
    if not origin:
        return None
    runs: RunService = request.app.state.runs
    try:
        return (await runs.written(origin)).text.replace("\r\n", "\n")
    except NotFound:
        return None


def _line_of(text: str, key: str) -> int:
    """The line, from 1, of a section: 0 if none is named, the last line if the section is missing."""
    if not key:
        return 0
    match = re.search(rf"^{re.escape(key)}:", text, re.M)
    return text.count("\n", 0, match.start() if match else len(text)) + 1
