"""``/login`` and ``/logout``: a key makes somebody a viewer or an operator."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response

from services.controller.pages.rendering import see_other, show
from services.controller.pages.visitors import enter, leave, role_of

router = APIRouter(include_in_schema=False)
LONGEST = 2000


@router.get("/login")
async def login(request: Request, after: Annotated[str, Query(max_length=LONGEST)] = "/") -> Response:
    """The form."""
    return show(request, "login.html.j2", after=_here(after), refused=False)


@router.post("/login")
async def check(
    request: Request,
    key: Annotated[str, Form(max_length=LONGEST)] = "",
    after: Annotated[str, Form(max_length=LONGEST)] = "/",
) -> Response:
    """Go on to the page that was wanted, or show the form again."""
    role = role_of(key.strip(), request.app.state.settings)
    if role == "stranger":
        return show(request, "login.html.j2", status=403, after=_here(after), refused=True)
    response = see_other(_here(after))
    enter(request, response, role)
    return response


@router.post("/logout")
async def logout() -> Response:
    """Forget who it was. Another site could do that too, and gains nothing by it."""
    response = see_other("/")
    leave(response)
    return response


def _here(path: str) -> str:
    """The path if it is one of this server, else the first page: a link must not lead elsewhere."""
    inside = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if inside else "/"
