"""``audit model``: one model, of a range or in a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakrange.client.audits import AuditFailed
from leakrange.clients.cli.commands.audit.options import (
    TESTS,
    Changed,
    Data,
    Labelled,
    Limit,
    Seed,
    Sensitive,
    Size,
    Tested,
    planned,
)
from leakrange.clients.cli.console import note, print_json, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import read_file, write_file
from leakrange.clients.cli.given_model import check_model
from leakrange.clients.cli.options import AsJson, State, Url, connect
from leakrange.wire.errors import LeakrangeError

if TYPE_CHECKING:
    from leakrange.jobs.audit import AuditPlan
    from leakrange.jobs.verdict import Verdict

__all__ = ["model"]


def model(
    data: Data,
    name: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="the name that it is served under; none with --file")
    ] = None,
    size: Size = None,
    limit: Limit = None,
    labelled: Labelled = 500,
    test: Tested = 1000,
    sensitive: Sensitive = None,
    seed: Seed = 0,
    changed: Changed = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="audit this model file here, without a range")
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(
            "--card", help="what the --file takes and gives, where others made it: see 'models add'"
        ),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="with --card: the file may run code, see 'models add'")
    ] = False,
    provider: Annotated[
        str | None,
        typer.Option(help="a server elsewhere that serves the model; its API key is in $LEAKRANGE_API_KEY"),
    ] = None,
    population: Annotated[
        Path | None,
        typer.Option(help="known models, as 'audit population' writes them: how often the tests err"),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="write the verdict here, as .html or .json")
    ] = None,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Audit a model with labelled samples. Ends with 0 where it passes, with 1 where it does not."""
    _check_sources(name, file, card, trust)
    plan = planned(
        data=data,
        size=size,
        limit=limit,
        labelled=labelled,
        test=test,
        sensitive=sensitive,
        seed=seed,
        changed=changed,
        population=population,
        tests=TESTS if card is None else ["entropy"],
    )
    if file is not None:
        verdict = _of_file(file, plan) if card is None else _of_others(file, card, plan, trust)
    else:
        verdict = _served(str(name), provider, plan, state, url)
    _tell(verdict, report, as_json)
    if verdict.conclusion != "passes":
        raise typer.Exit(Exit.FAILED)


def _check_sources(name: str | None, file: Path | None, card: Path | None, trust: bool) -> None:
    """Raise `CliError` where the options name no model, or two, or describe what is not there."""
    if (name is None) == (file is None):
        raise CliError("audit a MODEL that is served, or a --file", code=Exit.USAGE)
    if (card is not None and file is None) or (trust and card is None):
        raise CliError("--card describes a --file, and --trust is for a file with a --card", code=Exit.USAGE)


def _tell(verdict: Verdict, report: Path | None, as_json: bool) -> None:
    if report is not None:
        _write(verdict, report)
    if as_json:
        print_json(verdict)
    else:
        _show(verdict)


def _of_file(file: Path, plan: AuditPlan) -> Verdict:
    content = read_file(file)
    check_model(file, content)
    import torch  # seconds: only where it is needed

    from leakrange.audit.examination import examine

    torch.set_num_threads(1)
    try:
        return examine(content, plan)
    except LeakrangeError as error:
        raise CliError(error.detail, code=Exit.USAGE, hint=error.hint) from error


def _of_others(file: Path, card: Path, plan: AuditPlan, trust: bool) -> Verdict:
    """The verdict on a model file that others made; raises the errors of `examine_file`."""
    from leakrange.audit.model_file import examine_file
    from leakrange.providers.foreign.card import FileCard, read_card

    note("a file of others cannot be trained further here: the test of viciousness is left out")
    return examine_file(file, read_card(read_file(card), FileCard), plan, trusted=trust)


def _served(name: str, provider: str | None, plan: AuditPlan, state: Path | None, url: str | None) -> Verdict:
    """Return the verdict of the range's fleet; raises `CliError` if it reaches none."""
    key = os.environ.get("LEAKRANGE_API_KEY") if provider is not None else None
    with connect(state, url) as place:
        accepted = place.audits.start(name, plan, url=provider, key=key)
        note(f"audit {accepted.id} of {name}")
        try:
            return place.audits.verdict(accepted)
        except AuditFailed as error:
            raise CliError(error.detail, code=Exit.REFUSED, hint=error.hint) from error


def _write(verdict: Verdict, path: Path) -> None:
    if path.suffix == ".json":
        text = verdict.model_dump_json(indent=2)
    else:
        from leakrange.report.verdict import verdict_page

        text = verdict_page(verdict)
    write_file(path, text)
    note(f"verdict: {path.resolve().as_uri()}")


def _show(verdict: Verdict) -> None:
    subject = verdict.subject
    say(f"{subject.name or 'model file'} (SHA-256 {subject.sha256[:12]}…): {verdict.conclusion}")
    for finding in verdict.findings:
        say(f"{finding.test}: {finding.conclusion}. {finding.meaning}")
    note(verdict.confidence)
    for sentence in verdict.limits:
        note(f"- {sentence}")
