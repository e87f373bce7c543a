"""Clients that are logged in, and the token that their forms carry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.controller.conftest import OPERATOR

__all__ = ["login", "token"]


@contextmanager
def login(url: str, key: str = OPERATOR) -> Iterator[httpx.Client]:
    """A client whose cookie is of a login by that key."""
    with httpx.Client(base_url=url, timeout=30) as client:
        answer = client.post("/login", data={"key": key})
        assert answer.status_code == 303, answer.text
        yield client


def token(client: httpx.Client) -> str:
    """What the forms of its pages carry."""
    page = client.get("/", headers={"Accept": "text/html"}).text
    return page.split('"X-CSRF-Token": "')[1].split('"')[0]
