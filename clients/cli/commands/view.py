"""``view``: a result in a file, as a page or as PDF, without a range."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Any

import orjson
import typer
from pydantic import BaseModel, ValidationError

from leakrange.clients.cli.console import note, open_page, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import write_file
from leakrange.wire.errors import Unavailable

__all__ = ["view"]

MOST_BYTES = 256 << 20
MOST_MISTAKES = 5
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What no page and no picture may contain (XML 1.0, 2.2)."""


def view(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="JSON: an assessment, the results of a run, or the verdict on a model"
        ),
    ],
    target: Annotated[
        Path | None, typer.Option("--out", help="file to write, .html or .pdf (default: FILE.html)")
    ] = None,
    opened: Annotated[
        bool, typer.Option("--open/--no-open", help="open it in a browser, if there is a desktop")
    ] = True,
) -> None:
    """Show a result that was written as JSON: as a page in the browser, or as PDF. Takes no range.

    Where the folder of FILE cannot be written to, the page goes into a temporary one.
    """
    if target is not None and target.suffix not in (".html", ".pdf"):
        raise CliError(f"--out {target}: write .html or .pdf", code=Exit.USAGE)
    name, page = _page_of(file)
    printing = target is not None and target.suffix == ".pdf"
    path = _written(_as_pdf(page) if printing else page, file, target)
    say(f"{name}: {path.resolve().as_uri()}")
    if opened:
        open_page(path.resolve().as_uri())


def _written(content: str | bytes, file: Path, target: Path | None) -> Path:
    if target is not None:
        write_file(target, content)
        return target
    path = file.with_name(f"{file.name}.html")
    try:
        write_file(path, content)
    except OSError:
        path = Path(mkdtemp(prefix="leakrange-view-")) / path.name
        write_file(path, content)
    return path


def _as_pdf(page: str) -> bytes:
    from leakrange.report.printing import printed

    note("Chromium prints the page")
    try:
        return printed(page)
    except Unavailable as error:
        raise CliError(error.detail, code=Exit.FAILED, hint=error.hint) from error


def _page_of(file: Path) -> tuple[str, str]:
    """What the file holds, in words, and its page. Raises `CliError` for what no command wrote."""
    content = _object_in(file)
    for name, telling, form, render in _kinds():
        if telling <= content.keys():
            return name, _rendered(file, name, content, form, render)
    raise CliError(
        f"{file} is no assessment, no results of a run and no verdict on a model",
        code=Exit.USAGE,
        hint="give the JSON of an audit, or what 'leakrange report RUN --out run.json' writes",
    )


def _kinds() -> Iterator[tuple[str, set[str], type[BaseModel], Callable[[Any], str]]]:
    """Each kind of result: its name, the fields that tell it from others, its form, and how it is shown."""
    # These take long to import: only where they are needed.
    from leakrange.assessment.document import Assessment
    from leakrange.assessment.page import assessment_page
    from leakrange.jobs.verdict import Verdict
    from leakrange.report.page import render
    from leakrange.report.verdict import verdict_page
    from leakrange.scenario.results import RunResults

    yield "assessment", {"subject", "plan", "grade"}, Assessment, assessment_page
    yield "verdict", {"subject", "material", "findings"}, Verdict, verdict_page
    yield "run", {"run", "trials", "scenario_yaml"}, RunResults, render


def _object_in(file: Path) -> dict[str, Any]:
    if file.is_dir():
        raise CliError(f"{file} is a folder", code=Exit.USAGE, hint="name the JSON file in it")
    try:
        if file.stat().st_size > MOST_BYTES:
            raise CliError(f"{file} has more than {MOST_BYTES >> 20} MiB", code=Exit.USAGE)
        content = orjson.loads(file.read_bytes())
    except OSError as error:
        raise CliError(f"{file}: {error.strerror}", code=Exit.USAGE) from error
    except orjson.JSONDecodeError as error:
        raise CliError(
            f"{file} is no JSON: {error}", code=Exit.USAGE, hint="an HTML report opens in a browser as it is"
        ) from error
    if not isinstance(content, dict):
        raise CliError(f"{file} holds no JSON object", code=Exit.USAGE)
    return content


def _rendered(
    file: Path, name: str, content: dict[str, Any], form: type[BaseModel], render: Callable[[Any], str]
) -> str:
    """The page of what was read, after it was checked against its form."""
    if any(UNPRINTABLE.search(text) for text in _texts(content)):
        raise CliError(f"{file} holds control characters, which no page can show", code=Exit.FAILED)
    try:
        return render(form.model_validate(content))
    except ValidationError as error:
        mistakes = error.errors(include_url=False, include_input=False, include_context=False)
        lines = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in mistakes[:MOST_MISTAKES]]
        raise CliError(
            f"{file} looks like the JSON of one {name}, but has {len(mistakes)} mistakes",
            code=Exit.FAILED,
            hint="it was changed, or another version of Leakrange wrote it",
            lines=tuple(lines),
        ) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # A form leaves open what depends on registered metrics and views.
        raise CliError(
            f"{file} says what no page can show: {type(error).__name__}: {error}",
            code=Exit.FAILED,
            hint="it was changed, or another version of Leakrange wrote it",
        ) from error


def _texts(content: object) -> Iterator[str]:
    """Every text of a JSON value, names included."""
    left = [content]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list):
            left += value
