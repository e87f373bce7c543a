"""``/audits``: have a model audited, and read the verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request, Response
from pydantic import BaseModel, Field, ValidationError

from leakrange.data import datasets
from leakrange.jobs.audits import AuditRequest
from leakrange.jobs.verdict import Verdict
from leakrange.services.controller.audits.endpoints import Service
from leakrange.services.controller.pages.problems import mistakes_of
from leakrange.services.controller.pages.rendering import see_other, show
from leakrange.services.controller.requests import WITHOUT_NUL, After, Identity
from leakrange.services.controller.visitors import Operating, Reading
from leakrange.store.audits import AuditStore
from leakrange.store.engine import Database
from leakrange.store.tables import AuditKind, AuditRow
from leakrange.wire.errors import DataUnavailable, InvalidInput

router = APIRouter(include_in_schema=False)
A_PAGE = 50
TESTS = ("viciousness", "entropy")
Text = Annotated[str, Field(max_length=2000)]


class Wanted(BaseModel):
    """What a list of audits shows, and in which order: ``order`` is that of one page."""

    kind: AuditKind | Literal[""] = ""
    conclusion: Annotated[str, Field(max_length=16, pattern="^[a-z ]*$")] = ""
    name: Annotated[str, Field(max_length=256, pattern=WITHOUT_NUL)] = ""
    order: Literal["newest", "worst", "name"] = "newest"
    after: After = None


ORDERS: dict[str, Callable[[AuditRow], Any]] = {
    "worst": lambda row: -((row.brief or {}).get("lead") or 0.0),
    "name": lambda row: row.subject.lower(),
}


@router.get("/audits")
async def audits(request: Request, visitor: Reading, wanted: Annotated[Wanted, Query()]) -> Response:
    """All audits, newest first, and the form of a new one."""
    return await _page(request, visitor=visitor, wanted=wanted)


class Filled(BaseModel):
    """What the form of an audit of a model has."""

    model: Text = ""
    url: Text = ""
    key: Text = ""
    data: Text = ""
    size: Text = ""
    labelled: Text = "500"
    test: Text = "1000"
    sensitive: Text = ""
    seed: Text = "0"

    def asked(self) -> AuditRequest:
        """What is asked of the range; raises `ValidationError`."""
        plan = {
            "data": {"name": self.data, "size": self.size or None},
            "labelled": self.labelled,
            "test": self.test,
            "tests": [*TESTS, *(["curiosity"] if self.sensitive else [])],
            "sensitive": self.sensitive or None,
            "seed": self.seed,
        }
        given = {"model": self.model, "url": self.url or None, "key": self.key or None, "plan": plan}
        return AuditRequest.model_validate(given)


@router.post("/audits")
async def start(
    request: Request, visitor: Operating, given: Annotated[Filled, Form()], service: Service
) -> Response:
    """Start an audit, or show what is wrong with it."""
    try:
        accepted = await service.start(given.asked())
    except (ValidationError, InvalidInput, DataUnavailable) as error:
        shown = {"given": given, "mistakes": mistakes_of(error)}
        return await _page(request, visitor=visitor, status=422, **shown)
    return see_other(f"/audits/{accepted.id}")


@router.get("/audits/{audit}")
async def audit(audit: Identity, request: Request, visitor: Reading, service: Service) -> Response:
    """One audit: what is asked of it, and its verdict."""
    view = await service.view(audit)
    headline, chip = await asyncio.to_thread(_headline_and_chip, view.verdict) if view.verdict else ("", "")
    return show(
        request,
        "audit.html.j2",
        visitor=visitor,
        audit=view,
        verdict=view.verdict,
        headline=headline,
        chip=chip,
    )


def _headline_and_chip(verdict: Verdict) -> tuple[str, str]:
    from leakrange.report.verdict import CHIPS, HEADLINES  # which takes long to import

    return HEADLINES[verdict.conclusion], CHIPS[verdict.conclusion]


async def _page(request: Request, *, status: int = 200, **values: Any) -> Response:
    shown: dict[str, Any] = {"given": Filled(), "mistakes": [], "wanted": Wanted()} | values
    wanted: Wanted = shown["wanted"]
    database: Database = request.app.state.database
    async with database.read() as session:
        rows, following = await AuditStore(session).listed(
            kind=wanted.kind or None,
            conclusion=wanted.conclusion or None,
            subject=wanted.name,
            limit=A_PAGE,
            after=wanted.after,
        )
    sets = [name for name, entry in datasets.items() if entry.available() is None]
    return show(
        request,
        "audits.html.j2",
        status=status,
        audits=sorted(rows, key=ORDERS[wanted.order]) if wanted.order in ORDERS else rows,
        older=following and urlencode(wanted.model_dump(exclude_defaults=True) | {"after": following}),
        sets=sets,
        **shown,
    )
