"""``/audits/endpoint``: plan an audit of an endpoint, start it, follow it, and read its document."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, Request, Response, UploadFile
from pydantic import BaseModel, Field, ValidationError

from leakrange.assessment.document import AssessmentPlan, Thresholds
from leakrange.assessment.question import BUDGET, EndpointQuestion
from leakrange.data import DataSet, datasets
from leakrange.jobs.step import label
from leakrange.services.controller.assessments.documents import WRITTEN, ReaderOf
from leakrange.services.controller.assessments.endpoints import AssessmentsOf
from leakrange.services.controller.live.service import LiveService
from leakrange.services.controller.pages.problems import mistakes_of
from leakrange.services.controller.pages.rendering import see_other, show
from leakrange.services.controller.pages.run_actions import RunsOf
from leakrange.services.controller.reading.process import ReadingProcess
from leakrange.services.controller.requests import Identity, of_app
from leakrange.services.controller.visitors import Operating, Reading, Visitor
from leakrange.targets.target import RemoteTarget, read_target, target_of
from leakrange.wire.errors import Conflict, InvalidInput, LeakrangeError
from leakrange.wire.operator import Proxy

__all__ = ["documents", "router"]

router = APIRouter(include_in_schema=False)
documents = APIRouter(include_in_schema=False)
"""Pages of documents, which the process that reads draws."""
Text = Annotated[str, Field(max_length=2000)]


class AskedInForm(BaseModel):
    """What the form of an audit of an endpoint has: a ``known`` target, or what is ``written`` of one."""

    known: Text = ""
    written: str = ""
    data: Text = ""
    hidden: Annotated[list[str], Field(max_length=100)] = []
    members: Text = ""
    budget: Text = str(BUDGET)
    version: Text = ""
    advise: bool = False
    little: Text = str(Thresholds().little)
    bound: Text = str(Thresholds().bound)
    found_members: Text = str(Thresholds().found_members)


async def _given(
    asked: Annotated[AskedInForm, Form()], file: Annotated[UploadFile | None, File()] = None
) -> AskedInForm:
    """A file of a target is as if it were written. Attributes that another data set had are left out."""
    if file is not None and file.filename:
        asked.written = (await file.read()).decode(errors="replace")
    there = _columns(asked.data)
    asked.hidden = [name for name in asked.hidden if name in there]
    asked.members = asked.members if asked.members in there else ""
    asked.written = asked.written.replace("\r\n", "\n")
    return asked


Given = Annotated[AskedInForm, Depends(_given)]


@router.get("/audits/endpoint")
async def write(request: Request, visitor: Reading, known: str = "") -> Response:
    """The form of a new audit; ``known`` is a registered target."""
    return await _form(request, visitor, AskedInForm(known=known))


@router.post("/audits/endpoint")
async def plan(request: Request, visitor: Operating, given: Given, service: AssessmentsOf) -> Response:
    """The form again with its plan, or with what is wrong. Its script takes the plan alone."""
    try:
        planned = await service.plan(await _question(request, given))
    except (ValidationError, LeakrangeError) as error:
        return await _form(request, visitor, given, mistakes=mistakes_of(error))
    return await _form(request, visitor, given, plan=planned)


@router.post("/audits/endpoint/start")
async def start(request: Request, visitor: Operating, given: Given, service: AssessmentsOf) -> Response:
    """Begin, and go to the audit; or say what is wrong."""
    try:
        accepted = await service.start(await _question(request, given))
    except (ValidationError, LeakrangeError) as error:
        return await _form(request, visitor, given, mistakes=mistakes_of(error), status=422)
    return see_other(f"/audits/endpoint/{accepted.id}")


@router.get("/audits/endpoint/{assessment}")
async def assessment(
    assessment: Identity,
    request: Request,
    visitor: Reading,
    service: AssessmentsOf,
    runs: RunsOf,
    live: Annotated[LiveService, of_app("live")],
    reading: Annotated[ReadingProcess, of_app("reading")],
) -> Response:
    """One audit: how far its run is, or its document."""
    audit = await service.view(assessment)
    if audit.document is not None:
        return await reading.answer(request)
    run, asked = await runs.view(audit.run), None
    try:
        accounts = (await live.moment(audit.run)).state.accounts.values()
        asked = sum(each.spent for each in accounts)
    except Conflict:
        pass  # another version planned the run: it has no picture
    shown: dict[str, Any] = {"audit": audit, "run": run, "asked": asked, "label": label, "document": None}
    return show(request, "assessment_audit.html.j2", visitor=visitor, **shown)


@documents.get("/audits/endpoint/{assessment}")
async def document(assessment: Identity, request: Request, visitor: Reading, service: ReaderOf) -> Response:
    """One audit that is over, with its document."""
    from leakrange.assessment.page import parts_of

    audit = await service.view(assessment)
    if audit.document is None:
        raise Conflict(f"the audit is {audit.state}", hint="load the page again")
    parts = await asyncio.to_thread(parts_of, audit.document)
    values = {"visitor": visitor, "audit": audit, "forms": list(WRITTEN), **parts}
    return await asyncio.to_thread(show, request, "assessment_audit.html.j2", **values)


async def _question(request: Request, given: AskedInForm) -> EndpointQuestion:
    """The question of a form. Raises `ValidationError` and `InvalidInput`."""
    if given.written.strip():
        target = read_target(given.written)
    elif given.known in (known := (await _targets(request))[0]):
        target = known[given.known]
    else:
        raise InvalidInput("there is no target yet: choose one, or give its file")
    if given.version:
        target = RemoteTarget.model_validate(target.model_dump(by_alias=True) | {"version": given.version})
    return EndpointQuestion.model_validate(
        {
            **given.model_dump(include={"data", "hidden", "budget", "advise"}),
            "target": target,
            "members": given.members or None,
            "thresholds": given.model_dump(include=set(Thresholds.model_fields)),
        }
    )


async def _targets(request: Request) -> tuple[dict[str, RemoteTarget], str | None]:
    """The targets that the proxy has, by name, and why there are none where it does not answer."""
    proxy: Proxy = request.app.state.administration
    try:
        routes = await proxy.routes()
    except LeakrangeError as error:
        return {}, error.detail
    there = [target_of(route.target) for route in routes if route.target is not None]
    return {each.name: each for each in there}, None


def _columns(data: str) -> dict[str, tuple[str, ...]]:
    """The attributes of a data set with their classes; none where there is no such set."""
    entry: type[DataSet] | None = datasets.get(data)
    return {} if entry is None else {name: tuple(each.classes) for name, each in entry.attributes.items()}


async def _form(
    request: Request,
    visitor: Visitor,
    given: AskedInForm,
    *,
    plan: AssessmentPlan | None = None,
    mistakes: list[str] | None = None,
    status: int = 200,
) -> Response:
    targets, away = await _targets(request)
    sets = [name for name, entry in datasets.items() if entry.available() is None]
    given.data = given.data or next(iter(sets), "")
    return show(
        request,
        "assessment_form.html.j2",
        status=status,
        visitor=visitor,
        given=given,
        targets=sorted(targets),
        away=away,
        sets=sets,
        columns=_columns(given.data),
        plan=plan,
        mistakes=mistakes or [],
    )
