"""Errors as pages: for people who look at a page; programs get problem details as ever."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from leakrange.services.controller.logins import looked_at
from leakrange.services.controller.pages.rendering import see_other, show
from leakrange.services.controller.visitors import visitor_of
from leakrange.wire.errors import InvalidInput, LeakrangeError, NotFound, Unauthenticated

__all__ = ["mistakes_of", "told_as_pages"]

Handler = Callable[[Request, Any], Awaitable[Response]]


def mistakes_of(error: LeakrangeError | ValidationError | RequestValidationError) -> list[str]:
    """What is wrong with a form, in sentences that its page shows."""
    if isinstance(error, LeakrangeError):
        return [error.detail]
    return [f"{each['loc'][-1] if each['loc'] else 'the form'}: {each['msg']}" for each in error.errors()]


def told_as_pages(app: FastAPI) -> None:
    """Tell browsers that ask for a page of an error by a page."""
    for kind in (LeakrangeError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _page(app.exception_handlers[kind]))  # type: ignore[arg-type]


def _page(otherwise: Handler) -> Handler:
    async def tell(request: Request, error: Any) -> Response:
        if not looked_at(request.headers):
            return await otherwise(request, error)
        if _helped_by_login(request, error):
            wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return see_other(f"/login?after={quote(wanted, safe='')}")
        known = _known(request, error)
        if known is None:
            answer = await otherwise(request, error)
            if isinstance(error, HTTPException):
                return answer
            known = LeakrangeError("an error that nobody foresaw; the controller's log tells more")
        return show(request, "problem.html.j2", status=known.status, problem=known.problem())

    return tell


def _helped_by_login(request: Request, error: Any) -> bool:
    # An operator who is refused lacks a key of another kind, as for /metrics: the login would lead back here.
    asked = isinstance(error, Unauthenticated) and request.method == "GET"
    return asked and not visitor_of(request).operates


def _known(request: Request, error: Any) -> LeakrangeError | None:
    if isinstance(error, LeakrangeError):
        return error
    if isinstance(error, RequestValidationError):
        return InvalidInput("; ".join(mistakes_of(error)[:5]))
    if isinstance(error, HTTPException) and error.status_code == 404:
        return NotFound(
            f"there is no page {request.url.path}", hint="the menu above leads to those there are"
        )
    return None
