"""Visitors of pages: their role, and the proof that a form came from one of our pages.

Forms carry the token of their login, which its pages alone hold. See `leakrange.services.controller.logins`.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from leakrange.service.acts import mark_operator
from leakrange.service.app import bearer
from leakrange.services.controller.logins import Login, Role
from leakrange.services.controller.settings import ControllerSettings
from leakrange.wire.errors import Forbidden, Unauthenticated
from leakrange.wire.keys import is_key

__all__ = ["Acting", "Operating", "Reader", "Reading", "Visitor", "reader", "role_of", "visitor_of"]


@dataclass(frozen=True)
class Visitor:
    """Somebody at a page. A stranger may read nothing, a viewer may read, an operator may also act."""

    role: Role
    token: str = ""
    """The token in forms of this visitor; empty without a login."""
    root: str = ""
    """The prefix of the addresses of this visitor's pages; empty without a login."""

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
    if is_key(key, settings.operator_key.get_secret_value()):
        return "operator"
    viewer_key = settings.viewer_key
    if viewer_key is not None and is_key(key, viewer_key.get_secret_value()):
        return "viewer"
    return "stranger"


def visitor_of(request: Request) -> Visitor:
    """The visitor, by the login. Without one it is a viewer, or a stranger if viewers need a key."""
    login: Login | None = getattr(request.state, "login", None)
    if login is not None:
        return Visitor(login.role, login.token, login.root)
    settings: ControllerSettings = request.app.state.settings
    return Visitor("viewer" if settings.viewer_key is None else "stranger")


def reader(request: Request) -> Visitor:
    """The reader, by login or by key. If viewers need a key, raises `Unauthenticated` without either, and
    `Forbidden` for another key."""
    visitor = visitor_of(request)
    if visitor.logged_in or (visitor.role == "viewer" and "Authorization" not in request.headers):
        return visitor
    role: Role = "stranger"
    try:
        role = role_of(bearer(request.headers.get("Authorization")), request.app.state.settings)
    except Unauthenticated:
        if visitor.role == "stranger":
            raise
    if role != "stranger":
        return Visitor(role)
    if visitor.role == "stranger":
        raise Forbidden("this endpoint is for those with a viewer's or the operator's key")
    return visitor


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
    if not isinstance(token, str) or not hmac.compare_digest(token.encode(), visitor.token.encode()):
        raise Forbidden(
            "the form does not come from a page of this login", hint="load the page again, and retry"
        )
    mark_operator(request, "login")
    return visitor


Reader = Depends(reader)
"""Refuses whoever may not read, by login or by key."""
Reading = Annotated[Visitor, Reader]
"""Who reads."""
Acting = Depends(_operator)
"""Refuses whoever is not an operator, or whose form does not carry the token of the login."""
Operating = Annotated[Visitor, Acting]
"""Who acts."""
