"""Renders pages from templates, with the policy that browsers hold them to."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

import leakrange
from leakrange.metrics import numbers
from leakrange.scenario.labels import role
from leakrange.service.documents import PAGES
from leakrange.services.controller.pages.assets import CHARTS, address
from leakrange.services.controller.pages.navigation import MENU
from leakrange.services.controller.visitors import Visitor, visitor_of
from leakrange.wire.runs import STATES

__all__ = ["fragment", "part", "see_other", "show", "stamp"]

REQUEST = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) /")
HEADERS = {
    "Content-Security-Policy": PAGES,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def show(
    request: Request, template: str, *, status: int = 200, visitor: Visitor | None = None, **values: Any
) -> Response:
    """The page of a template that extends ``frame.html.j2``."""
    return HTMLResponse(fragment(request, template, visitor=visitor, **values), status, HEADERS)


def fragment(request: Request, template: str, *, visitor: Visitor | None = None, **values: Any) -> str:
    """The text of a template: a page, or the part of one that is exchanged while somebody looks at it."""
    seen_by = visitor or visitor_of(request)
    return (
        _templates()
        .get_template(template)
        .render(visitor=seen_by, root=seen_by.root, path=request.url.path, **values)
    )


def part(template: str, **values: Any) -> str:
    """The text of a template that is the same for all who look."""
    return _templates().get_template(template).render(**values)


def stamp(shown: bytes) -> str:
    """The digest by which a page tells that a part of it, made of these bytes, has not changed."""
    return hashlib.sha256(shown).hexdigest()[:16]


def see_other(path: str) -> Response:
    """Answer a form with the page to go to."""
    return RedirectResponse(path, 303)


@cache
def _templates() -> Environment:
    environment = Environment(
        # Templates of reports are named by their path: their package takes long to import.
        loader=ChoiceLoader(
            [
                PackageLoader("leakrange.services.controller.pages"),
                PackageLoader("leakrange", "report/templates"),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "asset": address,
        "charts": CHARTS,
        "menu": MENU,
        "numbers": numbers,
        "packed": _packed,
        "version": leakrange.__version__,
        "role": role,
        "state_words": STATES,
    }
    environment.filters |= {"utc": numbers.utc, "explained": _explained, "for_people": _for_people}
    return environment


def _explained(text: str) -> str:
    from leakrange.report.glossary import explained

    return explained(text)


def _for_people(hint: str | None) -> str:
    """The hint, if it is one for people: what names a request is for programs."""
    return "" if hint is None or REQUEST.search(hint) else hint


def _packed(text: str) -> str:
    from leakrange.report.rendering import packed  # whose package takes long to import

    return packed(text)
