"""``audit endpoint``: from a target and a data set to a verdict on what the model's answers give away."""

from __future__ import annotations

import time
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError

from leakrange.clients.cli.console import note, print_json, print_table, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import read_file
from leakrange.clients.cli.options import AsJson, State, Url, connect
from leakrange.clients.cli.progress import watch
from leakrange.clients.cli.target_files import TargetFile, read_file_of
from leakrange.wire.answers import read

if TYPE_CHECKING:
    from leakrange.assessment.document import Assessment, AssessmentPlan, Thresholds
    from leakrange.assessment.question import EndpointQuestion
    from leakrange.targets.target import RemoteTarget

__all__ = ["endpoint"]

THRESHOLDS = Path("leakage.toml")
LOOK_EVERY = 0.5
WAS = {"new": "has started", "begun": "continues", "done": "has all the answers already: nothing is asked"}
"""What there was of the run, in words."""


class FailOn(StrEnum):
    """The least conclusion that ends the command with another status than 0."""

    LEAKS = "leaks"
    CANNOT_TELL = "cannot-tell"


ThresholdsFile = Annotated[
    Path | None,
    typer.Option(
        "--thresholds", metavar="FILE", help="limits of the verdict (default: leakage.toml, if it is there)"
    ),
]
FailsOn = Annotated[
    FailOn, typer.Option("--fail-on", help="end with 0 if the conclusion is milder than this")
]


def endpoint(
    target: TargetFile,
    data: Annotated[
        str, typer.Option("--data", metavar="NAME", help="the data set with whose records the model is asked")
    ],
    hidden: Annotated[
        list[str] | None,
        typer.Option(
            "--hidden", metavar="ATTRIBUTE", help="an attribute that nobody should learn; may be repeated"
        ),
    ] = None,
    member: Annotated[
        str | None,
        typer.Option("--member", metavar="COLUMN", help="the column that says who the model was trained on"),
    ] = None,
    attribute: Annotated[
        str | None,
        typer.Option("--attribute", help="what the model answers for (default: what has its classes)"),
    ] = None,
    budget: Annotated[
        int, typer.Option("--budget", min=20, help="the most samples that the model is asked, in all")
    ] = 5000,
    version: Annotated[
        str | None,
        typer.Option("--version", help="the model's version: answers of an earlier one are not used again"),
    ] = None,
    thresholds: ThresholdsFile = None,
    fail_on: FailsOn = FailOn.CANNOT_TELL,
    advise: Annotated[
        bool, typer.Option("--advise", help="try policies on the same answers: nothing more is asked")
    ] = False,
    plan_only: Annotated[
        bool, typer.Option("--plan", help="say what would be done, and ask nothing")
    ] = False,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", metavar="FILE", help="write the document here; may be repeated"),
    ] = None,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Attack a model that answers over HTTP, and say what its answers give away. Ends with 0 where it passes,
    with 1 where it leaks, and with 6 where that cannot be told."""
    from leakrange.assessment.exports import form_of, write_assessment  # only where they are used
    from leakrange.assessment.plan import planned

    for path in out or ():
        form_of(path)

    question = _question(
        read_file_of(target), data, attribute, hidden, member, budget, version, _thresholds(thresholds)
    ).model_copy(update={"advise": advise})
    if plan_only:  # takes no range
        plan = planned(question)
        print_json(plan) if as_json else _show_plan(plan)
        return
    document = _carried_out(question, state, url)
    for path in out or ():
        write_assessment(document, path, str(target))
        note(f"document: {path.resolve().as_uri()}")
    print_json(document) if as_json else _show(document)
    _end(document, fail_on)


def _question(
    target: RemoteTarget,
    data: str,
    attribute: str | None,
    hidden: list[str] | None,
    member: str | None,
    budget: int,
    version: str | None,
    thresholds: Thresholds,
) -> EndpointQuestion:
    from leakrange.assessment.question import EndpointQuestion

    if version is not None:
        target = target.model_copy(update={"version": version})
    return EndpointQuestion(
        target=target,
        data=data,
        attribute=attribute or "",
        hidden=tuple(dict.fromkeys(hidden or ())),
        members=member,
        budget=budget,
        thresholds=thresholds,
    )


def _thresholds(path: Path | None) -> Thresholds:
    """What the file says under ``[thresholds]``. Raises `CliError` for a file that cannot be used."""
    from leakrange.assessment.document import Thresholds

    if path is None and not THRESHOLDS.is_file():
        return Thresholds()
    place = path or THRESHOLDS
    try:
        given = tomllib.loads(read_file(place).decode())
        return Thresholds.model_validate(given.get("thresholds", {}))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CliError(f"{place} is no TOML: {error}", code=Exit.USAGE) from error
    except ValidationError as error:
        lines = tuple(f"{place}: {'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise CliError(
            f"{place} has thresholds that cannot be used",
            code=Exit.USAGE,
            hint=f"there are {', '.join(Thresholds.model_fields)}, each a share between 0 and 1",
            lines=lines,
        ) from error


def _carried_out(question: EndpointQuestion, state: Path | None, url: str | None) -> Assessment:
    """The document that the range makes of the question, once its audit is over."""
    from leakrange.assessment.requests import AssessmentAccepted, AssessmentView

    with connect(state, url) as place:
        asked = question.model_dump(mode="json")
        accepted = read(AssessmentAccepted, place.controller.operate("POST", "/v1/assessments", json=asked))
        _note_plan(read(AssessmentView, place.controller.get(accepted.url)).plan)
        note(f"run {accepted.run} of this plan {WAS[accepted.run_was]}")
        if accepted.run_was == "done":
            note("if the model has changed since, give --version, and it is asked again")
        try:
            watch(place, accepted.run)
            while (view := read(AssessmentView, place.controller.get(accepted.url))).state == "running":
                time.sleep(LOOK_EVERY)
        except KeyboardInterrupt:
            raise CliError(
                "interrupted; the range goes on asking",
                code=Exit.INTERRUPTED,
                hint=f"the same command continues it, 'leakrange cancel {accepted.run}' ends it",
            ) from None
    if view.document is None:
        problem = view.problem or {}
        raise CliError(str(problem.get("detail")), code=Exit.FAILED, hint=problem.get("hint"))
    return view.document


def _show_plan(plan: AssessmentPlan) -> None:
    print_table(
        ("attack", "on", "samples", "made", "why not"),
        [
            (each.attack, each.question, f"{each.samples:,}" if each.samples else "", each.making, each.why)
            for each in plan.attacks
        ],
        empty="no attack is made",
    )
    say("")
    for line in plan.sentences():
        say(line)


def _note_plan(plan: AssessmentPlan) -> None:
    names = ", ".join(each.attack for each in plan.attacks if each.made)
    note(f"attacks: {names}")
    for line in plan.sentences():
        note(line)


def _show(document: Assessment) -> None:
    say(f"{document.conclusion.upper()} (grade {document.grade})")
    say(document.headline)
    for each in document.findings:
        if each.sentence not in document.headline:
            say(f"- {each.sentence}")
    for priced in document.prices:
        say(f"- {priced.about}: {priced.sentence}")
    say(document.recommendation)
    for sentence in document.limits:
        note(f"- {sentence}")


def _end(document: Assessment, fail_on: FailOn) -> None:
    if document.conclusion == "leaks":
        raise typer.Exit(Exit.FAILED)
    if document.conclusion == "cannot tell" and fail_on is FailOn.CANNOT_TELL:
        raise typer.Exit(Exit.CANNOT_TELL)
