"""Who looks at a page: their role, and the proof that a form came from one of our pages.

Who logs in by a key gets a signed cookie that holds the role and a random word, and no key. A form carries a
token made from that word: another site can have a browser send the cookie, but not know the token.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Request, Response
from itsdangerous import BadData, URLSafeTimedSerializer

from leakrange.service.app import bearer
from leakrange.wire.errors import Forbidden, Unauthenticated
from services.controller.settings import ControllerSettings

__all__ = ["Acting", "Operating", "Reader", "Reading", "Visitor", "enter", "leave", "role_of", "visitor_of"]

COOKIE = "leakrange-session"
LASTS = 12 * 3600
"""Seconds for which a login is valid."""
Role = Literal["stranger", "viewer", "operator"]


@dataclass(frozen=True)
class Visitor:
    """Somebody at a page. A stranger may read nothing, a viewer may read, an operator may also act."""

    role: Role
    token: str = ""
    """What forms of this visitor carry; empty without a login."""

    @property
    def operates(self) -> bool:
        """Whether this is an operator."""
        return self.role == "operator"

    @property
    def logged_in(self) -> bool:
        """Whether a key was shown."""
        return bool(self.token)


def role_of(key: str, settings: ControllerSettings) -> Role:
    """The role that a key gives. Takes constant time."""
    given = key.encode()
    if hmac.compare_digest(given, settings.operator_key.get_secret_value().encode()):
        return "operator"
    own = settings.viewer_key
    if own is not None and hmac.compare_digest(given, own.get_secret_value().encode()):
        return "viewer"
    return "stranger"


def enter(request: Request, response: Response, role: Role) -> None:
    """Have the browser remember the role."""
    word = secrets.token_urlsafe(18)
    response.set_cookie(
        COOKIE,
        _signer(request, "session").dumps([role, word]),
        max_age=LASTS,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


def leave(response: Response) -> None:
    """Have the browser forget the role."""
    response.delete_cookie(COOKIE, httponly=True, samesite="lax")


def visitor_of(request: Request) -> Visitor:
    """Who asks, by the cookie. Without one it is a viewer, or a stranger where viewers need a key."""
    settings: ControllerSettings = request.app.state.settings
    nobody = Visitor("viewer" if settings.viewer_key is None else "stranger")
    try:
        role, word = _signer(request, "session").loads(request.cookies.get(COOKIE, ""), max_age=LASTS)
    except BadData:
        return nobody
    return Visitor(role, _signer(request, "form").dumps(word))


def _signer(request: Request, purpose: str) -> URLSafeTimedSerializer:
    settings: ControllerSettings = request.app.state.settings
    viewer = settings.viewer_key.get_secret_value() if settings.viewer_key else ""
    # A new key of either kind ends all sessions.
    return URLSafeTimedSerializer([settings.operator_key.get_secret_value() + viewer], salt=purpose)


def _reader(request: Request) -> Visitor:
    visitor = visitor_of(request)
    if visitor.role != "stranger":
        return visitor
    settings: ControllerSettings = request.app.state.settings
    role = role_of(bearer(request.headers.get("Authorization")), settings)
    if role == "stranger":
        raise Forbidden("this endpoint is for those with a viewer's or the operator's key")
    return Visitor(role)


async def _operator(request: Request, visitor: Annotated[Visitor, Depends(visitor_of)]) -> Visitor:
    if visitor.role == "stranger" or not visitor.logged_in:
        raise Unauthenticated("this wants the operator's login")
    if not visitor.operates:
        raise Forbidden(
            "viewers cannot change anything", hint="log out, and log in again with the operator key"
        )
    if request.method in ("GET", "HEAD"):
        return visitor
    token = request.headers.get("X-CSRF-Token") or (await request.form()).get("csrf")
    try:
        word = _signer(request, "form").loads(token if isinstance(token, str) else "", max_age=LASTS)
        _, own = _signer(request, "session").loads(request.cookies.get(COOKIE, ""), max_age=LASTS)
    except BadData as error:
        raise Forbidden(
            "the form does not come from a page of this login", hint="load the page again, and retry"
        ) from error
    if word != own:
        raise Forbidden("the form comes from another login", hint="load the page again, and retry")
    return visitor


Reader = Depends(_reader)
"""Refuses whoever may not read, by cookie or by key."""
Reading = Annotated[Visitor, Reader]
"""Who reads."""
Acting = Depends(_operator)
"""Refuses whoever is not an operator, or whose form does not carry the token of the login."""
Operating = Annotated[Visitor, Acting]
"""Who acts."""
