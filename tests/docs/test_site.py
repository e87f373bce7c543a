"""The documentation as a site: it holds what the code holds, and asks no other server."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import threading
import time
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
from leakrange.report.glossary import glossary, meaning
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


def _pages(built: Path, folder: str) -> str:
    """All pages of a folder of the reference, one after the other."""
    return "\n".join(page.read_text() for page in sorted((built / "reference" / folder).rglob("*.html")))


def _text(built: Path, folder: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", _pages(built, folder)))


def test_all_that_is_registered_is_described(built: Path) -> None:
    pages = _pages(built, "registries")
    headings = set(re.findall(r'<h2 id="[^"]*">([^<]+)<', pages))
    everything = {*attacks, *behaviours, *(name for registry in STAGES.values() for name in registry)}
    assert everything <= headings
    assert {*datasets, *metrics} <= set(re.findall(r"<td><code>([^<]+)</code></td>", pages))


def test_commands_and_their_options_are_described(built: Path) -> None:
    pages = _text(built, "commands")
    for part in ("leakrange audit population", "--ports <int>", "default: 8700", "exact|leased"):
        assert part in pages


def test_no_command_is_without_a_subject(built: Path) -> None:
    assert not (built / "reference" / "commands" / "others.html").exists(), "name it in command_pages.py"


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
    text = _text(built, f"http/{service}")
    for path in paths:
        assert path in text
    for page in (built / "reference" / "http" / service).glob("*.html"):
        for address, anchor in re.findall(r'href="([\w-]*(?:\.html)?)#([\w.-]+)"', page.read_text()):
            target = page.parent / address if address else page
            assert f'id="{anchor}"' in target.read_text(), (page, address, anchor)


def test_a_body_is_shown_by_an_example(built: Path) -> None:
    page = _text(built, "http/proxy")
    assert '{"chain": [{"round": {"decimals": 1}}, "argmax"]}' in page
    assert '"artifact": "0c1e0c1e' in _text(built, "http/provider")


def test_the_glossary_has_every_word(built: Path) -> None:
    page = html.unescape((built / "reference" / "glossary.html").read_text())
    assert all(f"<strong>{term}</strong>" in page for term in glossary())
    assert meaning("AUC") in page


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


@needs_chromium
@pytest.mark.parametrize("page", ["index.html", "guides/own-data.html"])
def test_it_is_searched_where_its_folder_is_opened_without_a_server(built: Path, page: str) -> None:
    with chromium() as browser:
        tab = browser.new_page()
        tab.set_default_timeout(120_000)  # ms; a busy machine reads the index slowly
        asked: list[str] = []
        tab.on("request", lambda it: asked.append(it.url))
        tab.goto((built / page).as_uri())
        field, hits = tab.get_by_placeholder("Search"), tab.locator(".md-search-result a")
        until = time.monotonic() + 120
        while hits.count() == 0 and time.monotonic() < until:  # what comes before the index is lost
            field.fill("")
            field.press_sequentially("adaptivity gap")
            tab.wait_for_timeout(500)
        hits.filter(has_text="Glossary").first.click()
        expect(tab.get_by_role("heading", name="Glossary")).to_be_visible()
    assert {each.partition(":")[0] for each in asked} <= {"file", "data"}


def test_every_variable_is_described(built: Path) -> None:
    page = _pages(built, "variables")
    described = set(re.findall(r"<code>LEAKRANGE_(\w+)</code>", page))
    assert {name.upper() for name in ControllerSettings.model_fields} <= described
    assert "The number of edge-client sessions that are under way at a time." in page
