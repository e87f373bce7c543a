"""``/login`` and ``/logout``: a key makes somebody a viewer or an operator."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response

from services.controller.pages.logins import LASTS, Login, Logins
from services.controller.pages.rendering import see_other, show
from services.controller.pages.visitors import role_of

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
    begun = _logins(request).begin(role)
    response = see_other(begun.root + _here(after))
    response.set_cookie(
        begun.cookie_name,
        begun.cookie,
        max_age=LASTS,
        path=begun.root,
        httponly=True,
        samesite="lax",
        # Behind a gateway that ends TLS this server is asked in plain HTTP; the browser knows better.
        secure=(request.headers.get("Origin") or str(request.url)).startswith("https:"),
    )
    return response


@router.post("/logout")
async def logout(request: Request) -> Response:
    """End the login. What its browser keeps of it is worth nothing from then on."""
    response = see_other("/#over")
    ended: Login | None = getattr(request.state, "login", None)
    if ended is not None:
        _logins(request).end(ended)
        response.delete_cookie(ended.cookie_name, ended.root, httponly=True, samesite="lax")
    return response


def _logins(request: Request) -> Logins:
    logins: Logins = request.app.state.logins
    return logins


def _here(path: str) -> str:
    """The path if it is one of this server, else the first page: a link must not lead elsewhere."""
    inside = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if inside else "/"
