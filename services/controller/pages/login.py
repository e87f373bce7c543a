"""``/login`` and ``/logout``: a key, or a link that works once, makes somebody a viewer or an operator."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Form, Path, Query, Request, Response
from pydantic import BaseModel

from leakrange.service.acts import mark_operator
from leakrange.services.controller.logins import LASTS, OFFERED, Login, Logins
from leakrange.services.controller.pages.rendering import see_other, show
from leakrange.services.controller.requests import Operator
from leakrange.services.controller.visitors import role_of

__all__ = ["LoginGuesses", "LoginLink", "api", "router"]

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/v1/logins", tags=["logins"])
LONGEST = 2000
EACH = (5, 2.0)
"""Wrong keys that one address may try at once, and the seconds until one more."""
ALL = (30, 0.5)
"""The same for all addresses together."""
REMEMBERED = 10_000
"""Addresses of wrong keys, and of right ones."""


class LoginGuesses:
    """Wrong keys, and how soon another may be tried: from each address, and from all of them.

    Whoever logged in from an address before does not wait for the wrong keys of others. ``clock`` gives
    seconds that never jump back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all = 0.0
        self._each: OrderedDict[str, float] = OrderedDict()
        """The time from which as many wrong keys are allowed as at first."""
        self._right: OrderedDict[str, None] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds until a key from that address is checked; 0 if it is checked now."""
        others = 0.0 if address in self._right else self._left(self._all, ALL)
        return max(0.0, others, self._left(self._each.get(address, 0.0), EACH))

    def wrong(self, address: str) -> None:
        """Count a wrong key."""
        now = self._clock()
        self._all = max(self._all, now) + ALL[1]
        self._each[address] = max(self._each.pop(address, now), now) + EACH[1]
        while len(self._each) > REMEMBERED:
            self._each.popitem(last=False)

    def right(self, address: str) -> None:
        """Remember that somebody logged in from there."""
        self._right.pop(address, None)
        self._right[address] = None
        while len(self._right) > REMEMBERED:
            self._right.popitem(last=False)

    def _left(self, until: float, limit: tuple[int, float]) -> float:
        most, every = limit
        return until - self._clock() - (most - 1) * every


class LoginLink(BaseModel):
    """The path of a page that logs in whoever opens it first, within so many ``seconds``."""

    path: str
    seconds: int


@router.get("/login")
async def login(request: Request, after: Annotated[str, Query(max_length=LONGEST)] = "/") -> Response:
    """The form."""
    return show(request, "login.html.j2", after=_here(after), refused="")


@router.post("/login")
async def check(
    request: Request,
    key: Annotated[str, Form(max_length=LONGEST)] = "",
    after: Annotated[str, Form(max_length=LONGEST)] = "/",
) -> Response:
    """Go on to the page that was wanted, or show the form again."""
    guesses: LoginGuesses = request.app.state.guesses
    address = request.client.host if request.client else ""
    if wait := math.ceil(guesses.wait(address)):
        refused = f"Too many wrong keys were tried. This one was not looked at: try again in {wait} s."
        response = show(request, "login.html.j2", status=429, after=_here(after), refused=refused)
        response.headers["Retry-After"] = str(wait)
        return response
    role = role_of(key.strip(), request.app.state.settings)
    if role == "stranger":
        guesses.wrong(address)
        refused = "This key is not known here."
        return show(request, "login.html.j2", status=403, after=_here(after), refused=refused)
    guesses.right(address)
    if role == "operator":
        mark_operator(request, "login")
    return _logged_in(request, _logins(request).begin(role), after)


@api.post("", status_code=201, dependencies=[Operator])
async def offer(request: Request) -> LoginLink:
    """A link that logs a browser in as the operator: once, within ten minutes. It stands for the key."""
    return LoginLink(path=f"/login/once/{_logins(request).offer('operator')}", seconds=OFFERED)


@router.get("/login/once/{secret}")
async def accept(
    request: Request,
    secret: Annotated[str, Path(max_length=LONGEST)],
    after: Annotated[str, Query(max_length=LONGEST)] = "/",
) -> Response:
    """Log in by a link, or show the form where the link is used up."""
    begun = _logins(request).accept(secret)
    if begun is None:
        refused = "This link was used already, or is older than ten minutes. 'leakrange open' makes another."
        return show(request, "login.html.j2", status=403, after=_here(after), refused=refused)
    return _logged_in(request, begun, after)


def _logged_in(request: Request, begun: Login, after: str) -> Response:
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
