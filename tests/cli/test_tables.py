"""Tables fit the screen, no name in them is cut in two, and messages name commands instead of requests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from leakrange.clients.cli import console
from leakrange.clients.cli.commands.runs import print_answer
from leakrange.report.as_data import as_data
from leakrange.report.contents import read
from tests.embedded import leakrange
from tests.report.build import PROVIDERS, run, trials

ROOT = Path(__file__).parents[2]
NAMES = [f"run-{number}-{'abcdef' * 4}" for number in range(3)]


def printed(capsys: pytest.CaptureFixture[str], width: int, columns: int) -> list[str]:
    """The lines of a table of that many columns of long names beside a sentence, on such a screen."""
    rows = [(*([name] * columns), "what became of it in the end") for name in NAMES]
    before = console._out.width
    console._out.width = width
    try:
        console.print_table((*(f"name {place}" for place in range(columns)), "said"), rows, empty="")
    finally:
        console._out.width = before
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(("width", "used"), [(80, False), (160, True)])
def test_a_run_ends_with_a_line_for_each_provider(
    width: int, used: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where five defences do not fit beside what users got, the grades do."""
    few = [trial for trial in trials() if trial.data == "digits"]
    monkeypatch.setattr(console._out, "width", width)
    print_answer(as_data(read(run(trials=few, models=[]))))
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("digits-", " "))]
    assert {line.split()[0] for line in shown} == {f"digits-{name}" for name in PROVIDERS}
    assert len(shown) == len(PROVIDERS)
    assert all(("(honesty" in line) == used for line in shown)
    assert all(len(re.findall(r" [A-E?] 0\.\d{3}", line)) == 5 for line in shown)


@pytest.mark.parametrize(("width", "lines"), [(60, 1 + 3), (59, 1 + 2 * 3), (45, 1 + 3 * 3)])
def test_what_is_too_wide_is_folded_between_words(
    width: int, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = printed(capsys, width, 1)
    assert len(shown) == lines
    assert max(map(len, shown)) <= width
    assert [line.split()[0] for line in shown if line.startswith("run-")] == NAMES


def test_what_cannot_be_folded_is_printed_row_by_row_with_its_heads(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = printed(capsys, 80, 4)
    assert max(map(len, shown)) <= 80
    assert [line.strip() for line in shown[:5]] == [
        NAMES[0],
        *(f"name {place}  {NAMES[0]}" for place in (1, 2, 3)),
        "said    what became of it in the end",
    ]
    assert len(shown) == 5 * len(NAMES)


def test_the_list_of_data_sets_fits_a_screen_and_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(console._out, "_width", 80)
    done = leakrange("data", "list", LEAKRANGE_DATA="")
    assert max(map(len, done.stdout.splitlines())) <= 80
    first, missing = done.stdout.split("\nnot here ")
    assert re.search(r"^digits +picture 16x16x1 +yes +digit \(10\), parity", first, re.MULTILINE)
    assert re.search(r"^cifar10 +picture 32x32x3 +no ", first, re.MULTILINE)
    assert re.search(r"^cifar10 +set LEAKRANGE_DATA to the folder that holds", missing, re.MULTILINE)
    assert "\ndigits " not in missing


def test_no_hint_names_a_request() -> None:
    """Who types commands, or looks at pages, cannot type a request."""
    named = []
    for folder in ("services", "clients", "shared/leakrange"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                hint = isinstance(node, ast.keyword) and node.arg == "hint"
                default = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "default_hint"
                if (hint or default) and re.search(r"\b(GET|PUT|POST|DELETE) /", text := ast.unparse(node)):
                    named.append(f"{file}: {text}")
    assert not named
