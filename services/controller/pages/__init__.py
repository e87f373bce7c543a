"""The pages that people look at: server-rendered, with what the browser needs served from here.

Each page is a module here with a router of its own and templates of its name; `navigation` lists those that
stand in the menu.
"""

from __future__ import annotations

from fastapi import FastAPI

from leakrange.services.controller.logins import BelowLogins, Logins
from leakrange.services.controller.pages import (
    acts,
    assessments,
    assets,
    audits,
    board,
    compare,
    editor,
    home,
    keys,
    login,
    models,
    protection,
    run,
    run_actions,
    scenarios,
    steps,
    victim,
)
from leakrange.services.controller.pages.login import LoginGuesses
from leakrange.services.controller.pages.problems import told_as_pages

__all__ = ["add_pages"]

PAGES = (
    assets,
    login,
    home,
    run,
    board,
    run_actions,
    steps,
    editor,
    scenarios,
    compare,
    models,
    protection,
    keys,
    acts,
    assessments,  # before audits, of which none has the name "endpoint"
    audits,
    victim,
)


def add_pages(app: FastAPI) -> None:
    """Let ``app`` answer with pages, and tell people who look at them of errors in a page."""
    app.state.logins, app.state.guesses = Logins(), LoginGuesses()
    app.add_middleware(BelowLogins, logins=app.state.logins)
    app.include_router(assets.charts)
    app.include_router(login.api)
    for page in PAGES:
        app.include_router(page.router)
    told_as_pages(app)
