"""The documentation as a site: it holds what the code holds, and asks no other server."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from leakrange.attacks import attacks
from leakrange.data import datasets
from leakrange.defences.chain import STAGES
from leakrange.metrics.registry import metrics
from leakrange.providers.behaviours import behaviours
from leakrange.services.controller.settings import ControllerSettings
from tests.browsers import chromium, needs_chromium
from tests.docs.blocks import ROOT


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder of the site: what `make docs` has built, where no page is newer."""
    site = ROOT / "build" / "site"
    pages = [ROOT / "mkdocs.yml", *(ROOT / "docs").rglob("*"), *(ROOT / "infra" / "site").glob("*.py")]
    done = site / "sitemap.xml"
    if not done.exists() or done.stat().st_mtime < max(page.stat().st_mtime for page in pages):
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True)
    return site


@pytest.fixture
def served(built: Path) -> Iterator[str]:
    """Its address on this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(built))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _text(built: Path, page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", (built / "reference" / page).read_text()))


def test_all_that_is_registered_is_described(built: Path) -> None:
    headings = set(re.findall(r'<h3 id="[^"]*">([^<]+)<', (built / "reference/registries.html").read_text()))
    everything = {*attacks, *behaviours, *(name for registry in STAGES.values() for name in registry)}
    assert everything <= headings
    cells = set(
        re.findall(r"<td><code>([^<]+)</code></td>", (built / "reference/registries.html").read_text())
    )
    assert {*datasets, *metrics} <= cells


def test_commands_and_their_options_are_described(built: Path) -> None:
    page = _text(built, "commands.html")
    for said in ("leakrange audit population", "--ports <int>", "default: 8700", "exact|leased"):
        assert said in page


@pytest.mark.parametrize(
    ("service", "paths"),
    [
        ("controller", ["POST /v1/runs", "GET /v1/runs/{run}/events"]),
        ("proxy", ["PUT /admin/policies/{name}", "POST /v1/models/{model}/softmax"]),
        ("provider", ["PUT /v1/operator/models/{model}", "POST /v1/models/{model}/outputs"]),
        ("edge", ["POST /v1/sessions"]),
    ],
)
def test_endpoints_are_described(built: Path, service: str, paths: list[str]) -> None:
    page = _text(built, f"http/{service}.html")
    for path in paths:
        assert path in page
    text = (built / f"reference/http/{service}.html").read_text()
    linked, there = set(re.findall(r'href="#([^"]+)"', text)), set(re.findall(r'id="([^"]+)"', text))
    assert linked <= there


def test_the_library_is_described_by_its_docstrings(built: Path) -> None:
    page = (built / "reference/python/metrics.html").read_text()
    assert 'id="leakrange.metrics.accuracy.nag"' in page
    assert "operator_key" not in page
    assert ControllerSettings.__name__ not in page


def test_it_asks_no_other_server(built: Path) -> None:
    asked = re.compile(r"<(?:script|img|link|iframe|source)\b[^>]*\s(?:src|href)=\"(?:https?:)?//[^\"]+\"")
    for page in built.rglob("*.html"):
        assert asked.findall(page.read_text()) == [], page
    for style in built.rglob("*.css"):
        assert re.findall(r"url\([\"']?(?:https?:)?//[^)]+\)", style.read_text()) == [], style


@needs_chromium
def test_it_is_read_and_searched_in_a_browser_that_reaches_nobody_else(served: str) -> None:
    heard: list[str] = []
    with chromium() as browser:
        tab = browser.new_page()
        tab.on("console", lambda message: heard.append(message.text))
        tab.on("pageerror", lambda error: heard.append(str(error)))
        tab.on("request", lambda it: heard.append(it.url) if not it.url.startswith(served) else None)
        tab.goto(f"{served}/index.html")
        tab.get_by_role("link", name="Five minutes").first.click()
        expect(tab.get_by_role("heading", name="Five minutes")).to_be_visible()
        tab.get_by_placeholder("Search").fill("adaptivity gap")
        expect(tab.get_by_role("link", name=re.compile("Concepts")).first).to_be_visible()
    assert heard == []


def test_every_variable_is_described(built: Path) -> None:
    page = (built / "reference/variables.html").read_text()
    described = set(re.findall(r"<code>LEAKRANGE_(\w+)</code>", page))
    assert {name.upper() for name in ControllerSettings.model_fields} <= described
    assert "The number of edge-client sessions that are under way at a time." in page
