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

__all__ = ["page", "style"]

FOLD_AFTER = 12
"""So many charts of a group are open; the rest fold away."""


def page(template: str, *, script: str = "", **values: Any) -> str:
    """The page of a template that extends ``base.html.j2``. Its policy forbids all requests, and all scripts
    but the asset named ``script``."""
    source = _asset(script) if script else ""
    allowed = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return (
        _environment()
        .get_template(template)
        .render(style=style(), script=source, script_hash=allowed, fold_after=FOLD_AFTER, **values)
    )


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
    environment.globals["packed"] = _packed
    return environment


def _packed(text: str) -> str:
    """Compressed, as the address of a link; the same text gives the same address."""
    packed = gzip.compress(text.encode(), mtime=0)
    return f"data:application/gzip;base64,{base64.b64encode(packed).decode()}"


def _asset(name: str) -> str:
    return (files("leakrange.report") / "templates" / name).read_text(encoding="utf-8")
