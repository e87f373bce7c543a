"""Self-contained pages: one HTML file each, in one style, which load nothing."""

from __future__ import annotations

import base64
import gzip
import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from leakrange.metrics import numbers
from leakrange.report.glossary import explained
from leakrange.scenario.labels import role
from leakrange.wire.runs import STATES

__all__ = ["FOLD_AFTER", "packed", "page", "policy", "style"]

FOLD_AFTER = 12
"""The number of a group's charts that are open; the rest fold away."""


def page(template: str, *, script: str = "", **values: Any) -> str:
    """The page of a template that extends ``base.html.j2``. Its policy forbids all requests, and all scripts
    but the asset named ``script``."""
    source = _asset(script) if script else ""
    return (
        _environment()
        .get_template(template)
        .render(style=style(), script=source, policy=policy(script), fold_after=FOLD_AFTER, **values)
    )


def policy(script: str = "") -> str:
    """The content security policy that a page with that script contains. Whoever serves the page should send
    the same, and also who may frame it, which a page cannot say itself."""
    scripts = ""
    if script:
        digest = base64.b64encode(hashlib.sha256(_asset(script).encode()).digest()).decode()
        scripts = f"script-src 'sha256-{digest}'; "
    before, after = "default-src 'none'; style-src 'unsafe-inline'; ", "img-src data:; base-uri 'none'; "
    return f"{before}{scripts}{after}form-action 'none'"


def style() -> str:
    """The style sheet of all pages."""
    return _asset("page.css")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("leakrange.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["numbers"] = numbers
    environment.filters["utc"] = numbers.utc
    environment.filters["explained"] = explained
    environment.globals["packed"] = packed
    environment.globals |= {"state_words": STATES, "role": role}
    return environment


def packed(text: str) -> str:
    """The compressed text as the address of a link; the same text gives the same address."""
    packed = gzip.compress(text.encode(), mtime=0)
    return f"data:application/gzip;base64,{base64.b64encode(packed).decode()}"


def _asset(name: str) -> str:
    return (files("leakrange.report") / "templates" / name).read_text(encoding="utf-8")
