"""``leakrange view``: results in files, and files that are none."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from typer.testing import CliRunner, Result

from leakrange.clients.cli.exits import CliError
from leakrange.clients.cli.main import app
from tests.assessment.page_examples import leaking
from tests.attacks.kinds.test_audit import verdict
from tests.browsers import needs_chromium
from tests.report.build import run, trials


def few() -> BaseModel:
    return run(trials=[each for each in trials() if each.provider == "digits-regularized"][:4], models=[])


def judged() -> BaseModel:
    return verdict().model_copy(update={"made": "2026-11-28T06:30:00+00:00"})


def viewed(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["view", *map(str, words)])


@pytest.fixture
def desktop(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pages that a desktop's browser was sent to."""
    pages: list[str] = []
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.setattr(webbrowser, "open", pages.append)
    return pages


def page_of(told: Result) -> Path:
    return Path(unquote(urlsplit(told.stdout.split(": ", 1)[1].strip()).path))


@pytest.mark.parametrize(
    ("name", "result", "text"),
    [
        ("assessment", leaking, "Grade"),
        ("run", few, "Key figures"),
        ("verdict", judged, "This model is suspicious"),
    ],
)
def test_each_result_is_shown_beside_its_file(
    name: str, result: Any, text: str, tmp_path: Path, desktop: list[str]
) -> None:
    file = tmp_path / "a result.json"
    file.write_text(result().model_dump_json(indent=2))
    told = viewed(file)
    assert told.exit_code == 0, told.output
    page = tmp_path / "a result.json.html"
    assert told.stdout == f"{name}: {page.as_uri()}\n"
    assert text in page.read_text()
    assert desktop == [page.as_uri()]
    assert viewed(file, "--no-open").exit_code == 0
    assert len(desktop) == 1


def test_where_it_cannot_write_the_page_goes_elsewhere(tmp_path: Path, desktop: list[str]) -> None:
    file = tmp_path / "audit.json"
    file.write_text(leaking().model_dump_json())
    (tmp_path / "audit.json.html").mkdir()
    told = viewed(file)
    assert told.exit_code == 0, told.output
    page = page_of(told)
    assert page.parent != tmp_path
    assert leaking().headline in page.read_text()
    page.unlink()
    page.parent.rmdir()


@needs_chromium
def test_it_prints_a_pdf(tmp_path: Path) -> None:
    file, paper = tmp_path / "audit.json", tmp_path / "new" / "audit.pdf"
    file.write_text(leaking().model_dump_json())
    told = viewed(file, "--out", paper, "--no-open")
    assert told.exit_code == 0, told.output
    assert paper.read_bytes().startswith(b"%PDF")


def test_without_chromium_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    file = tmp_path / "audit.json"
    file.write_text(leaking().model_dump_json())
    told = viewed(file, "--out", tmp_path / "audit.pdf")
    assert isinstance(told.exception, CliError)
    assert (told.exception.code, "apt-get install chromium" in str(told.exception.hint)) == (1, True)
    assert list(tmp_path.iterdir()) == [file]


def changed(**fields: object) -> bytes:
    return json.dumps(json.loads(leaking().model_dump_json()) | fields).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", "is no JSON"),
        (b"", "is no JSON"),
        (b"\xff\xfe", "is no JSON"),
        (b"[" * 5000, "is no JSON"),
        (changed(spent=float("nan")), "is no JSON"),
        (b"[]", "holds no JSON object"),
        (b'{"providers": {}}', "no assessment, no results of a run and no verdict"),
        (changed(format=2, grade="F"), "looks like the JSON of one assessment, but has 2 mistakes"),
        (changed(headline="a\x07bell"), "holds control characters"),
        (changed(created="yesterday"), "says what no page can show"),
    ],
)
def test_what_is_no_result_is_told_and_nothing_is_written(
    content: bytes, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "some.json"
    file.write_bytes(content)
    told = viewed(file)
    assert isinstance(told.exception, CliError), told.output
    assert message in told.exception.message
    assert list(tmp_path.iterdir()) == [file]


def test_mistakes_are_named_by_their_fields(tmp_path: Path) -> None:
    file = tmp_path / "some.json"
    file.write_bytes(changed(grade="F"))
    told = viewed(file).exception
    assert isinstance(told, CliError)
    assert told.lines == ("grade: Input should be 'A', 'B', 'C', 'D', 'E' or '?'",)


def test_folders_missing_files_and_other_forms_are_refused(tmp_path: Path) -> None:
    for words, message in (
        ([tmp_path], "is a folder"),
        ([tmp_path / "none.json"], "No such file"),
        ([tmp_path / "none.json", "--out", "page.docx"], "write .html or .pdf"),
    ):
        told = viewed(*words).exception
        assert isinstance(told, CliError)
        assert message in told.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(each for name, inner in steps for each in leaves(inner, (*path, name)))][
        0 if path else 1 :
    ]


WHOLE = [json.loads(each.model_dump_json()) for each in (leaking(), few(), judged())]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_result_is_shown_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    content = json.loads(json.dumps(data.draw(st.sampled_from(WHOLE))))
    *above, last = data.draw(st.sampled_from(leaves(content)))
    inner = content
    for step in above:
        inner = inner[step]
    inner[last] = data.draw(JSON)
    file = tmp_path / "damaged.json"
    file.write_text(json.dumps(content))
    told = viewed(file, "--no-open")
    assert told.exit_code == 0 or isinstance(told.exception, CliError), told.exception
