"""``target new``: makes a target's file from a pasted curl command, an OpenAPI document, an Open Inference
address or a preset."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakrange.clients.cli.console import note, print_table, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import read_file, settings_of, write_file
from leakrange.clients.cli.options import Force
from leakrange.clients.cli.target_files import release_rows
from leakrange.wire.errors import InvalidInput
from leakrange.wire.names import is_name

if TYPE_CHECKING:
    from leakrange.clients.cli.target_data import AskedData
    from leakrange.clients.cli.target_draft import TargetDraft
    from leakrange.clients.cli.target_requests import Exchange
    from leakrange.targets.answer_guess import AnswerGuess

__all__ = ["new"]

MOST_CLASSES = 10_000


def new(
    curl: Annotated[
        Path | None, typer.Option(metavar="FILE", help="a curl command; '-', or no source: standard input")
    ] = None,
    open_inference: Annotated[
        str | None, typer.Option(metavar="URL", help="a server of the Open Inference Protocol; with --model")
    ] = None,
    openapi: Annotated[
        str | None, typer.Option(metavar="FILE|URL", help="an OpenAPI document, such as /openapi.json")
    ] = None,
    operation: Annotated[
        str | None, typer.Option(metavar="'POST /score'", help="which of the document's operations")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="a protocol: see the guide; with --url")] = None,
    url: Annotated[str | None, typer.Option(help="the server's address")] = None,
    model: Annotated[str | None, typer.Option(help="the model's name at its server")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="an option of the preset, or a part of the operation's address"
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="the target's name (default: the model's, or the file's)")
    ] = None,
    owner: Annotated[str | None, typer.Option(help="who runs the model")] = None,
    authorised: Annotated[
        str | None, typer.Option(help="who allowed the test: 'ticket 4711, until 2027-01-31'")
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="NAME", help="the data set whose samples it is to be asked")
    ] = None,
    attribute: Annotated[
        str | None, typer.Option(help="with --data: what the model answers (default: the set's first)")
    ] = None,
    classes: Annotated[str | None, typer.Option(metavar="A,B,...", help="the classes, in order")] = None,
    columns: Annotated[str | None, typer.Option(metavar="A,B,...", help="the columns of a table")] = None,
    shape: Annotated[str | None, typer.Option(metavar="8x8x3", help="the lengths of a sample's axes")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="where to write it (default: NAME.yaml)")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="ask no question")] = False,
    force: Force = False,
) -> None:
    """Make a target's file: ask the model one sample, and guess from its answer what it releases. What
    cannot be known is marked in the file."""
    plain = name or model or (out.stem if out is not None else "target")
    path = _free_file(plain, out, force=force)
    _check_terminal(yes=yes)
    base: dict[str, Any] = {"name": plain, "owner": owner or "somebody"}
    base |= {"authorised": authorised} if authorised else {}
    asked = _asked(data, attribute)
    sources = _Sources(curl, open_inference, openapi, operation, preset, url, model)
    try:
        draft = _draft(sources, base, _looks(columns, shape) or asked, settings_of(option or []))
        if owner is None:
            draft.doubts["owner"] = "who runs this model, and can be asked?"
        named = None if classes is None else [each.strip() for each in classes.split(",")][:MOST_CLASSES]
        _finish(draft, path, named, asked, yes=yes)
    except InvalidInput as error:
        if "'authorised'" not in error.detail:
            raise
        hint = "--authorised 'ticket 4711, until 2027-01-31'"
        raise CliError(error.detail, code=Exit.USAGE, hint=hint) from error


def _free_file(name: str, out: Path | None, *, force: bool) -> Path:
    """Where the file of the target of that name is written. Raises `CliError`."""
    if not is_name(name):
        raise CliError(f"{name!r} is no target's name: letters, digits, '.', '_' and '-'", code=Exit.USAGE)
    path = out or Path(f"{name}.yaml")
    if path.exists() and not force:
        raise CliError(
            f"{path} is there already", code=Exit.USAGE, hint="name another file by --out, or say --force"
        )
    return path


def _check_terminal(*, yes: bool) -> None:
    if not yes and not sys.stdin.isatty():
        raise CliError(
            "nobody can confirm what is asked: this is no terminal", code=Exit.USAGE, hint="say --yes"
        )


@dataclass(frozen=True)
class _Sources:
    """What the user has of the target: one of the first three, or a preset."""

    curl: Path | None
    open_inference: str | None
    openapi: str | None
    operation: str | None
    preset: str | None
    url: str | None
    model: str | None

    def __post_init__(self) -> None:
        given = (self.curl, self.open_inference, self.openapi, self.preset)
        if sum(source is not None for source in given) > 1:
            raise CliError(
                "name one source: --curl, --open-inference, --openapi or --preset", code=Exit.USAGE
            )


def _draft(
    sources: _Sources,
    base: dict[str, Any],
    looks: dict[str, Any] | AskedData | None,
    options: dict[str, str],
) -> TargetDraft:
    # They bring aiohttp and Pillow: only where they are used.
    from leakrange.clients.cli.target_draft import of_curl, of_open_inference, of_openapi, of_preset

    url, model = sources.url, sources.model
    described = looks if looks is None or isinstance(looks, dict) else looks.input
    if sources.preset is not None:
        if url is None:
            raise CliError("--preset wants --url, the server's address", code=Exit.USAGE)
        return of_preset(sources.preset, url, model, base, described, **options)
    if sources.openapi is not None:
        operation = sources.operation
        return of_openapi(sources.openapi, operation, url, base, described, options, read_file, _heard)
    if sources.open_inference is not None:
        if model is None:
            raise CliError("--open-inference wants --model, the model's name", code=Exit.USAGE)
        return of_open_inference(sources.open_inference, model, base, described, _heard, os.environ)
    if sources.curl is None or str(sources.curl) == "-":
        if sys.stdin.isatty():
            note("paste the curl command, then press Ctrl-D on a line of its own:")
        command = sys.stdin.read()
    else:
        command = read_file(sources.curl).decode("utf-8", "replace")
    return of_curl(command, base, looks, read_file)


def _asked(data: str | None, attribute: str | None) -> AskedData | None:
    """The data set that the user named, if any."""
    from leakrange.clients.cli.target_data import asked_data

    if data is None and attribute is not None:
        raise CliError("--attribute is of a data set: name it by --data", code=Exit.USAGE)
    return None if data is None else asked_data(data, attribute)


def _finish(
    draft: TargetDraft, path: Path, classes: list[str] | None, asked: AskedData | None, *, yes: bool
) -> None:
    """Ask one sample, write the file, and tell what is left to do."""
    from leakrange.targets.draft import doubtful_lines, written

    step = draft.question().steps[-1]
    note(f"one sample is sent to {step.url}: {_in_words(draft.input)}")
    if not yes and not typer.confirm("Send it?", err=True):
        raise CliError("nothing was sent", code=Exit.FAILED)
    reply = draft.ask(_heard, os.environ)
    try:
        guess = draft.guess(reply)
    except InvalidInput as error:
        note(f"the answer was not understood: {error.detail}")
        guess = _nothing()
    by_data = None if asked is None else list(asked.classes)
    draft.complete(guess, classes or by_data, ordered=classes is not None)
    note(f"{guess.reason}")
    try:
        target, values = draft.answered(reply)
        heading = "class" if target.card.classes else "value"
        print_table((heading, "answered"), release_rows(target, values), empty="")
    except InvalidInput as error:
        note(f"the answer cannot be read yet: {error.detail}")
        draft.doubts.setdefault("classes", f"the answer does not fit: {error.detail}")
    if not yes and not typer.confirm(f"Is this right? It is written to {path}.", err=True):
        raise CliError(
            "nothing was written", code=Exit.FAILED, hint="--classes, --columns and --shape say more"
        )
    text = written(draft.given, draft.remarks, draft.doubts)
    write_file(path, text)
    for number, name, doubt in doubtful_lines(text):
        note(f"{path}:{number}: {name}: {doubt}")
    for variable in draft.secrets:
        note(
            f"a secret was pasted, and is not in the file: export {variable}=…, here and where the proxy runs"
        )
    note(f"next: leakrange target check {path}; then name it in a scenario ('endpoint: {path}'),")
    note(f"or have the proxy serve it: leakrange targets put {path}")
    say(str(path))


def _in_words(described: Mapping[str, Any]) -> str:
    """A sample in words, such as "a table's row of age, hours"."""
    if described.get("columns"):
        return f"a table's row of {', '.join(described['columns'])}"
    return f"a {described['encoding']} of {' x '.join(map(str, described['shape']))}"


def _nothing() -> AnswerGuess:
    """The stand-in for an answer that was not understood."""
    from leakrange.targets.answer_guess import AnswerGuess

    doubts = {
        "read": "where do the values of one sample stand in the answer?",
        "release": "softmax, logits, features or score?",
        "classes": "their names, in order",
    }
    return AnswerGuess(
        "softmax", 2, "it is left to you to say what this is", read={"values": "$"}, doubts=doubts
    )


def _heard(exchange: Exchange) -> None:
    note(exchange.summary())
    note(f"  {exchange.answer()}")


def _looks(columns: str | None, shape: str | None) -> dict[str, Any] | None:
    """What the user said of a sample; None if nothing."""
    if columns is not None:
        return {"encoding": "table", "columns": [column.strip() for column in columns.split(",")]}
    if shape is None:
        return None
    try:
        sides = [int(side) for side in shape.lower().split("x")]
    except ValueError as error:
        raise CliError(f"--shape {shape}: write 4, 100x6 or 28x28x1", code=Exit.USAGE) from error
    if len(sides) > 3:
        raise CliError(f"--shape {shape}: a sample has one to three axes", code=Exit.USAGE)
    return {"encoding": ("vector", "series", "picture")[len(sides) - 1], "shape": sides}
