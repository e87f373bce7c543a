"""The logins: each has an address of its own, below which its pages lie.

Browsers send a cookie to every port of its host, but only below its path. The ports of a range's host belong
to parties that distrust each other. So the cookie of a login has a path that nobody can guess,
``/in/<secret>``. Another server does not get it: no page can have a browser ask for an address that it
does not know. At any other address, the plain ones of the same pages included, the cookie is worth nothing;
and so is the address without the cookie, when somebody passes it on.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from fastapi import Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leakrange.service.bodies import Lingering
from leakrange.wire.errors import Unauthenticated
from leakrange.wire.problems import problem_response

__all__ = ["BelowLogins", "Login", "Logins", "Role", "looked_at"]

IN = "/in/"
LASTS = 12 * 3600
"""Seconds for which a login is valid."""
OFFERED = 600
"""Seconds for which a link that logs in can be used."""
MOST = 1000
"""Logins at a time, and links; one more ends the oldest."""
Role = Literal["stranger", "viewer", "operator"]


@dataclass(frozen=True)
class Login:
    """One login: its role, and the secrets that its browser and its forms show, ``ends`` in Unix seconds."""

    role: Role
    ends: float
    name: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def root(self) -> str:
        """The prefix of the addresses of its pages."""
        return IN + self.name

    @property
    def cookie_name(self) -> str:
        """The name of its cookie. Nobody else can guess it, and set another one beside it."""
        return f"leakrange-{self.name}"


class Logins:
    """All logins of this process. They end with it: the keys of its settings made them.

    ``clock`` gives Unix seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._open: dict[str, Login] = {}
        self._offers: dict[str, tuple[Role, float]] = {}

    def offer(self, role: Role) -> str:
        """A secret that begins one login of that role, once, within ten minutes."""
        while len(self._offers) >= MOST:
            del self._offers[next(iter(self._offers))]
        secret = secrets.token_urlsafe(24)
        self._offers[secret] = role, self.clock() + OFFERED
        return secret

    def accept(self, secret: str) -> Login | None:
        """Begin the login of an offer; None where there is none, or not any more."""
        role, ends = self._offers.pop(secret, ("stranger", 0.0))
        return self.begin(role) if self.clock() < ends else None

    def begin(self, role: Role) -> Login:
        """Begin a new login."""
        self._open = {name: login for name, login in self._open.items() if self.stands(login)}
        while len(self._open) >= MOST:
            self.end(next(iter(self._open.values())))
        begun = Login(role, self.clock() + LASTS)
        self._open[begun.name] = begun
        return begun

    def end(self, login: Login) -> None:
        """End the login; repeating it changes nothing."""
        self._open.pop(login.name, None)

    def stands(self, login: Login) -> bool:
        """Whether it was not ended and has not expired."""
        return login.name in self._open and self.clock() < login.ends

    def shown(self, name: str, header: str) -> Login | None:
        """The login of that name whose cookie is in the ``Cookie`` header; None if there is none."""
        login = self._open.get(name)
        if login is None or not self.stands(login):
            return None
        cookie = cookie_parser(header).get(login.cookie_name, "")
        return login if hmac.compare_digest(cookie.encode(), login.cookie.encode()) else None


class BelowLogins:
    """Answers below the address of a login as ``app`` does elsewhere, with ``request.state.login``.

    Nothing inside sees the address, so that no log or error tells it. A login that is not valid leads people
    to the plain address of the same page, and refuses programs and forms.
    """

    def __init__(self, app: ASGIApp, logins: Logins) -> None:
        self.app, self._logins = app, logins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""
        if scope["type"] != "http" or not scope["path"].startswith(IN):
            return await self.app(scope, receive, send)
        name, _, rest = scope["path"].removeprefix(IN).partition("/")
        # The handler of unforeseen errors is outside of this, and reads the same scope.
        scope["path"] = "/" + rest.lstrip("/")
        headers = Headers(scope=scope)
        login = self._logins.shown(name, headers.get("Cookie", ""))
        if login is None:
            lingering = Lingering(receive, send)
            return await _over(scope, headers)(scope, lingering.receive, lingering.send)
        scope.setdefault("state", {})["login"] = login

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                answered["Cache-Control"] = "no-store"
                leads = answered.get("Location", "")
                if leads.startswith("/") and not leads.startswith(IN) and self._logins.stands(login):
                    answered["Location"] = login.root + leads
            await send(message)

        await self.app(scope, receive, sent)


def looked_at(headers: Headers) -> bool:
    """Whether a person asks with these headers, and not a program or a script of a page."""
    return "text/html" in headers.get("Accept", "") and "HX-Request" not in headers


def _over(scope: Scope, headers: Headers) -> Response:
    if not looked_at(headers):
        return problem_response(Unauthenticated("this login is over", hint="log in again"), scope["path"])
    query = scope["query_string"].decode("latin-1")
    plain = scope["path"] + (f"?{query}" if query else "")
    reads = scope["method"] in ("GET", "HEAD")
    return RedirectResponse(f"{plain if reads else '/login'}#over", 303, {"Cache-Control": "no-store"})
