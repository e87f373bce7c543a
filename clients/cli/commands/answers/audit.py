"""``answers audit``: what a file of answers tells of the records behind them. Needs no range."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakrange.clients.cli.console import note, print_json, print_table, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import write_file
from leakrange.clients.cli.options import AsJson

if TYPE_CHECKING:
    from leakrange.report.contents import Contents
    from leakrange.scenario.results import TrialResult

__all__ = ["audit_answers"]

REPORTS = (".html", ".json", ".csv")
FIGURES = ("auc", "beyond_blind", "beyond_imputation", "tpr_at_001", "tpr_at_0001", "curiosity", "majority")
"""The metrics of the table, as far as some attack has them; the report has all."""


class Release(StrEnum):
    """What the scores are."""

    SOFTMAX = "softmax"
    LOGITS = "logits"
    FEATURES = "features"
    DECISION = "decision"


def audit_answers(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, Parquet or npz, a row for each answer")],
    values: Annotated[
        list[str],
        typer.Option("--values", help="columns of the model's scores, such as 'p_*'; may be repeated"),
    ],
    member: Annotated[
        str | None, typer.Option("--member", help="the column that says who was trained on")
    ] = None,
    hidden: Annotated[str | None, typer.Option("--hidden", help="the column that attacks infer")] = None,
    target: Annotated[str | None, typer.Option("--target", help="the column of the true classes")] = None,
    person: Annotated[
        str | None, typer.Option("--person", help="the column that says whose row it is")
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            "--known", help="a column that is known without the model, for the controls; may be repeated"
        ),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="a file with further columns, whose rows are joined")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="a column of both files, by which --labels are joined; may be repeated"),
    ] = None,
    release: Annotated[Release, typer.Option("--release", help="what the scores are")] = Release.SOFTMAX,
    seed: Annotated[int, typer.Option(min=0, help="draws the records that attackers learn from")] = 0,
    report: Annotated[
        Path | None, typer.Option("--report", help="write the report here, as .html, .json or .csv")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make every attack that needs no further question on recorded answers. Ends with 1 where they leak.

    A row is an answer to one record: the model's scores, and beside them who was trained on, or an attribute.
    """
    if report is not None and report.suffix not in REPORTS:
        raise CliError(f"--report {report}: the ending says no form", code=Exit.USAGE, hint="use .html")
    if (labels is None) != (not by):
        raise CliError("--labels are joined --by columns: give both, or none", code=Exit.USAGE)
    from leakrange.data.importing.answer_columns import AnswerColumns
    from leakrange.data.importing.answers import read_answers

    columns = AnswerColumns(tuple(values), member, hidden, target, person, tuple(known or ()))
    answers = read_answers(path, columns, release.value, labels=labels, by=by or ())
    note(f"{len(answers.values):,} answers of {answers.values.shape[1]} values: attacks are made")
    import torch  # seconds: only where it is needed

    from leakrange.report.contents import read
    from leakrange.scenario.recorded import recorded_results

    torch.set_num_threads(1)
    contents = read(recorded_results(answers, seed))
    _tell(contents, report, as_json=as_json)
    if contents.findings.leaking():
        raise typer.Exit(Exit.FAILED)


def _tell(contents: Contents, report: Path | None, *, as_json: bool) -> None:
    if report is not None:
        _write(contents, report)
    if as_json:
        print_json(contents.results)
    else:
        _show(contents)


def _write(contents: Contents, path: Path) -> None:
    if path.suffix == ".json":
        text = contents.results.model_dump_json(indent=2)
    elif path.suffix == ".csv":
        from leakrange.report.table import to_csv

        text = to_csv(contents.results)
    else:
        from leakrange.report.page import rendered

        text = rendered(contents)
    write_file(path, text)
    note(f"report: {path.resolve().as_uri()}")


def _show(contents: Contents) -> None:
    for sentence in contents.sentences:
        say(sentence)
    say("")
    from leakrange.metrics import described

    trials = contents.results.trials
    figures = [name for name in FIGURES if any(name in trial.metrics for trial in trials)]
    print_table(
        ("attack", "on", "records", *(described(name).title for name in figures)),
        [
            (
                trial.attack,
                trial.sensitive,
                f"{trial.victims or 0:,}",
                *(_cell(trial, each) for each in figures),
            )
            for trial in trials
        ],
        empty="no attack was made",
    )
    for notes in contents.results.data_notes.values():
        for sentence in notes:
            note(f"- {sentence}")


def _cell(trial: TrialResult, metric: str) -> str:
    """A figure with its 95 % interval."""
    from leakrange.metrics import described, numbers

    estimate, unit = trial.metrics.get(metric), described(metric).unit
    if estimate is None:
        return ""
    text = numbers.figure(estimate.value, unit)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({numbers.interval((estimate.low, estimate.high), unit)})"
