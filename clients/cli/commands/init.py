"""``init``: from four answers to a scenario, or to the file of a model that answers over HTTP."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from leakrange.clients.cli.console import note, say
from leakrange.clients.cli.exits import CliError, Exit, refusal
from leakrange.clients.cli.files import write_file
from leakrange.clients.cli.options import Force
from leakrange.wire.errors import InvalidScenario, LeakrangeError
from leakrange.wire.names import is_name

__all__ = ["init"]

ADDRESS = re.compile(r"https?://")
SERVED = re.compile(r"(?P<server>.+)/v2/models/(?P<model>[^/]+)(/infer)?/?")
"""The address of a model by the Open Inference Protocol."""
SHOWN = 20
"""Choices that a question lists; of more it says where they are."""


def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="the file to write")] = Path(
        "my-scenario.yaml"
    ),
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="NAME|FILE", help="a data set, or your own table: CSV, Parquet"),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="the attribute, or column, that the model learns")
    ] = None,
    hidden: Annotated[
        str | None, typer.Option("--hidden", help="the attribute, or column, that users hide")
    ] = None,
    defence: Annotated[
        str | None, typer.Option("--defence", help="an output defence that is tried, or 'none'")
    ] = None,
    behaviour: Annotated[
        str, typer.Option("--behaviour", help="what stands beside an honest provider: curious/parameterized")
    ] = "honest",
    endpoint: Annotated[
        str | None,
        typer.Option("--endpoint", metavar="URL", help="write the file of this model instead, for an audit"),
    ] = None,
    authorised: Annotated[
        str | None, typer.Option("--authorised", help="with --endpoint: who allowed the test")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="ask nothing: take the defaults")] = False,
    force: Force = False,
) -> None:
    """Ask four questions and write a scenario, or the file of a model that answers over HTTP. Options answer
    without a terminal."""
    if not is_name(file.stem):
        raise CliError(
            f"{file.name}: a scenario is named after its file", code=Exit.USAGE, hint="write letters and '-'"
        )
    if file.exists() and not force:
        raise CliError(f"{file} is there already", code=Exit.USAGE, hint="name another file, or say --force")
    ask = _Questions(yes=yes)
    if endpoint is None and data is None:
        data = ask("--data", "Which data set, CSV file of yours, or address of a model?", None, "digits")
    if endpoint is None and data is not None and ADDRESS.match(data):
        endpoint, data = data, None
    if endpoint is not None:
        _write_target(file, endpoint, data, target, hidden, authorised, ask, force=force)
        return
    assert data is not None
    try:
        text, data = _scenario(file.stem, data, target, hidden, defence, behaviour, ask)
    except InvalidScenario as error:
        raise CliError(
            "these answers make no scenario, and nothing was written",
            code=Exit.USAGE,
            hint="answer again; 'leakrange data list' shows data sets and their attributes",
            lines=tuple(f"{each['path']}: {each['message']}" for each in error.mistakes),
        ) from error
    write_file(file, text)
    _note_missing(data)
    note(f"next: leakrange up --detach && leakrange run {file}")
    say(str(file))


class _Questions:
    """Asks for what no option says, on a terminal; with ``yes`` it takes the defaults."""

    def __init__(self, *, yes: bool) -> None:
        self.yes = yes

    def __call__(self, option: str, question: str, choices: Sequence[str] | None, default: str | None) -> str:
        """The answer, one of the ``choices`` if there are any. Raises `CliError` where nobody can give it."""
        if self.yes and default is not None:
            return default
        if self.yes or not sys.stdin.isatty():
            where = "" if self.yes else "this is no terminal to answer on: "
            instead = "" if default is None else f", or --yes for all defaults ({option} {default})"
            raise CliError(f"{where}{question}", code=Exit.USAGE, hint=f"answer by {option}{instead}")
        if choices is not None and len(choices) <= SHOWN:
            question = f"{question} ({', '.join(choices)})"
        while True:
            answer = str(typer.prompt(question, default=default, err=True))
            if choices is None or answer in choices:
                return answer
            near = difflib.get_close_matches(answer, choices, n=1)
            note(f"did you mean {near[0]!r}?" if near else f"{answer!r} is none of {', '.join(choices)}")


def _scenario(
    name: str,
    data: str,
    target: str | None,
    hidden: str | None,
    defence: str | None,
    behaviour: str,
    ask: _Questions,
) -> tuple[str, str]:
    """The text of the scenario, and its data set: a table of one's own is imported first, and is no longer
    kept where no scenario comes of it. Raises `InvalidScenario`, and the errors of an import."""
    from leakrange.data import datasets
    from leakrange.data.importing import ColumnUse, import_set, remove_set
    from leakrange.data.importing.files import records_of
    from leakrange.scenario.answers import ScenarioAnswers, answer_defences, scenario_text

    table = Path(data) if Path(data).is_file() else None
    usual = ScenarioAnswers()
    if table is not None:
        columns, first, second = list(records_of(table).columns), None, None
        data = re.sub(r"[^a-z0-9]+", "-", table.name.partition(".")[0].lower()).strip("-")
    else:
        columns = list(datasets[data].attributes) if data in datasets else []
        first, second = (usual.target, usual.hidden) if data == usual.data else [*columns, None, None][:2]
    target = target or ask("--target", "What does the model learn?", columns or None, first)
    others = [each for each in columns if each != target]
    second = second if second != target else next(iter(others), None)
    hidden = hidden or ask("--hidden", "What would its users hide?", others or None, second)
    known = ["none", *answer_defences()]
    defence = defence or ask("--defence", "Which defence is tried beside none?", known, "none")
    if table is not None:
        import_set(table, data, ColumnUse(target, (hidden,)))
    try:
        answers = ScenarioAnswers(
            name=name,
            data=data,
            target=target,
            hidden=hidden,
            behaviour=behaviour,
            defences=() if defence == "none" else (defence,),
        )
        text = scenario_text(answers)
    except LeakrangeError:
        if table is not None:
            remove_set(data)
        raise
    if table is not None:
        note(f"imported {table} as the data set {data!r}")
    return text, data


def _note_missing(data: str) -> None:
    from leakrange.scenario.missing import missing_data

    for name, remedy in missing_data([data]).items():
        note(f"the data set {name!r} is not here yet: {remedy}")


def _write_target(
    file: Path,
    address: str,
    data: str | None,
    target: str | None,
    hidden: str | None,
    authorised: str | None,
    ask: _Questions,
    *,
    force: bool,
) -> None:
    """Ask the model at that address one sample, write its file, and say how it is audited. Raises
    `CliError`, and what `target new` raises."""
    from leakrange.clients.cli.commands.target_new import new
    from leakrange.data import datasets

    if not ADDRESS.match(address) or not urlsplit(address).hostname:
        raise CliError(f"--endpoint {address}: write it in full, http://host:port/...", code=Exit.USAGE)
    data = data or ask("--data", "Which data set holds the records that it is asked about?", None, None)
    columns = list(datasets[data].attributes) if data in datasets else []
    target = target or ask("--target", "What does the model answer for?", columns or None, None)
    others = [each for each in columns if each != target]
    hidden = hidden or ask("--hidden", "What would its users hide?", others or None, None)
    served = SERVED.fullmatch(address)
    document = address if address.endswith((".json", ".yaml")) else f"{address.rstrip('/')}/openapi.json"
    try:
        new(
            open_inference=served["server"] if served else None,
            model=served["model"] if served else None,
            openapi=None if served else document,
            name=file.stem,
            authorised=authorised,
            data=data,
            attribute=target,
            out=file,
            yes=ask.yes,
            force=force,
        )
    except (CliError, LeakrangeError) as error:
        failed = refusal(error) if isinstance(error, LeakrangeError) else error
        more = "'leakrange target new' takes more than an address, such as a curl command"
        failed.hint = f"{failed.hint}; {more}" if failed.hint else more
        raise failed from error
    note(f"next: leakrange up --detach && leakrange audit endpoint {file} --data {data} --hidden {hidden}")
