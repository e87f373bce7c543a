"""Printing by a browser that is not there, does not end, or prints nothing."""

from __future__ import annotations

from pathlib import Path

import psutil
import pypdfium2
import pytest

from leakrange.metrics import described
from leakrange.report.page import render
from leakrange.report.printing import printed
from leakrange.wire.errors import Unavailable
from tests.browsers import A4, MARGIN, needs_chromium, rightmost
from tests.embedded import wait_for
from tests.report.build import PROVIDERS, model, run, trials

FOREVER = "98765.4321"


def sleeping() -> bool:
    return any(FOREVER in (each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"]))


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only command there is; the test says what it does."""
    path = tmp_path / "google-chrome"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return path


def left(browser: Path) -> list[str]:
    return [each.name for each in browser.parent.glob("leakrange-pdf-*")]


def does(browser: Path, script: str) -> None:
    browser.write_text(f"#!/bin/sh\n{script}\n")
    browser.chmod(0o755)


def test_without_a_browser_it_says_what_to_install(browser: Path) -> None:
    with pytest.raises(Unavailable, match="none of the commands chromium, google-chrome") as refused:
        printed("<p>")
    assert "apt-get install chromium" in str(refused.value.hint)
    assert left(browser) == []


def test_a_browser_that_does_not_end_is_killed_with_all_that_it_started(browser: Path) -> None:
    does(browser, f"/bin/sleep {FOREVER} & wait")
    with pytest.raises(Unavailable, match="printed nothing in 2 seconds") as refused:
        printed("<p>", seconds=2)
    assert "print it from there" in str(refused.value.hint)
    wait_for(lambda: not sleeping(), "its child to be gone", 20)
    assert left(browser) == []


@pytest.mark.parametrize(
    "script",
    [
        "echo no display >&2; exit 1",
        'echo no display >&2; for each; do echo "$each"; done; :>"${each%.html}.pdf"',
    ],
)
def test_a_browser_that_prints_nothing_is_quoted(browser: Path, script: str) -> None:
    does(browser, script)
    with pytest.raises(Unavailable, match="no display"):
        printed("<p>")
    assert left(browser) == []


@needs_chromium
def test_on_paper_everything_unfolds_and_nothing_is_cut_off() -> None:
    """With twice as many figures as a line of A4 holds."""
    few = [trial for trial in trials() if trial.data == "digits" and trial.budget == 1000]
    paper = pypdfium2.PdfDocument(printed(render(run(trials=few, models=[model("digits", "honest", 0)]))))
    pages = [" ".join(page.get_textpage().get_text_range().split()) for page in paper]
    assert {tuple(round(side) for side in page.get_size()) for page in paper} == {A4}
    assert "providers give away “loop”" in pages[0]
    assert f"digits-{next(iter(PROVIDERS))}" in pages[0]
    text = " ".join(pages)
    for folded in ("In detail", "guesses “loop” right", "top-1", "name: what-a-curious-classifier-learns"):
        assert folded in text
    rows = {(trial.provider, trial.defence, trial.knowledge) for trial in few}
    assert text.count(f"{described('nag').title} ") >= len(rows)
    for page in paper:
        assert rightmost(page) <= A4[0] - MARGIN + 1
    paper.close()
