"""``audit endpoint``: from a target and a data set to a verdict on what the model's answers give away."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError

from leakrange.client import Range
from leakrange.clients.cli.console import note, print_json, print_table, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import read_file
from leakrange.clients.cli.options import AsJson, State, Url, connect
from leakrange.clients.cli.progress import watch
from leakrange.clients.cli.target_files import TargetFile, read_file_of
from leakrange.wire.runs import RunView

if TYPE_CHECKING:
    from leakrange.assessment.document import Assessment, AssessmentPlan, Thresholds
    from leakrange.assessment.question import EndpointQuestion
    from leakrange.targets.target import RemoteTarget

__all__ = ["endpoint"]

THRESHOLDS = Path("leakage.toml")
GOING_ON = ("queued", "running")


class FailOn(StrEnum):
    """The least conclusion that ends the command with another status than 0."""

    LEAKS = "leaks"
    CANNOT_TELL = "cannot-tell"


ThresholdsFile = Annotated[
    Path | None, typer.Option("--thresholds", metavar="FILE", help="(default: leakage.toml, if there)")
]
FailsOn = Annotated[FailOn, typer.Option("--fail-on", help="the status is 0 where the conclusion is milder")]


def endpoint(
    target: TargetFile,
    data: Annotated[str, typer.Option("--data", metavar="NAME", help="whose records the model is asked")],
    hidden: Annotated[
        list[str] | None,
        typer.Option("--hidden", metavar="ATTRIBUTE", help="what nobody should learn; may be repeated"),
    ] = None,
    member: Annotated[
        str | None, typer.Option("--member", metavar="COLUMN", help="says who the model was trained on")
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
        typer.Option("--version", help="of the model: answers of an earlier one are not used again"),
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
    # They bring the language, and scikit-learn: only where they are used.
    from leakrange.assessment.exports import form_of, write_assessment
    from leakrange.assessment.plan import planned

    for path in out or ():
        form_of(path)

    question = _question(
        read_file_of(target), data, attribute, hidden, member, budget, version, _thresholds(thresholds)
    ).model_copy(update={"advise": advise})
    plan = planned(question)
    if plan_only:
        print_json(plan) if as_json else _show_plan(plan)
        return
    _note_plan(plan)
    document = _carried_out(question, plan, state, url)
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
    from leakrange.data import datasets

    if version is not None:
        target = target.model_copy(update={"version": version})
    entry = datasets.get(data)
    if attribute is None and entry is not None:
        classes = sorted(target.card.classes)
        same = [name for name, each in entry.attributes.items() if sorted(each.classes) == classes]
        attribute = next(iter(same or entry.attributes))
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


def _carried_out(
    question: EndpointQuestion, plan: AssessmentPlan, state: Path | None, url: str | None
) -> Assessment:
    """The document, once a run of the plan is over. A run of the same plan is gone on with, or read."""
    from leakrange.assessment.judged import assessed
    from leakrange.data import load
    from leakrange.jobs.recipe import DataSpec

    with connect(state, url) as place:
        run = _run(place, plan)
        try:
            view = watch(place, run)
        except KeyboardInterrupt:
            raise CliError(
                "interrupted; the range goes on asking",
                code=Exit.INTERRUPTED,
                hint=f"the same command goes on with it, 'leakrange cancel {run}' ends it",
            ) from None
        results = place.runs.results(run)
    if view.state != "done" and not any(trial.state == "done" for trial in results.trials):
        raise CliError(view.error or f"the run was {view.state}", code=Exit.FAILED)
    data = load(DataSpec(name=question.data))
    return assessed(question, plan, results, records=len(data), fingerprint=data.fingerprint)


def _run(place: Range, plan: AssessmentPlan) -> str:
    """The run of that plan: one that goes on or is done, else a new one."""
    earlier: list[RunView] = [each for each in place.runs.latest() if each.name == plan.name]
    if open_run := next((each for each in earlier if each.state in GOING_ON), None):
        note(f"run {open_run.id} of this plan goes on")
        return open_run.id
    if done := next((each for each in earlier if each.state == "done"), None):
        note(f"run {done.id} of {done.created[:19]} answered all of this: nothing is asked")
        note("was the model changed since? Then say --version, and it is asked anew")
        return done.id
    begun = place.runs.start(plan.scenario)
    note(f"run {begun.id}: {begun.name}, {begun.trials} trials")
    return begun.id


def _show_plan(plan: AssessmentPlan) -> None:
    print_table(
        ("attack", "on", "samples", "made", "why not"),
        [
            (each.attack, each.question, f"{each.samples:,}" if each.samples else "", _state(each), each.why)
            for each in plan.attacks
        ],
        empty="no attack is made",
    )
    say("")
    for line in _summary(plan):
        say(line)


def _note_plan(plan: AssessmentPlan) -> None:
    names = ", ".join(each.attack for each in plan.attacks if each.made)
    note(f"attacks: {names}")
    for line in _summary(plan):
        note(line)


def _state(attack: object) -> str:
    made, in_scope = getattr(attack, "made", False), getattr(attack, "in_scope", False)
    return "yes" if made else "no, though in scope" if in_scope else "no"


def _summary(plan: AssessmentPlan) -> list[str]:
    """What the plan asks, costs, and can show."""
    price = "" if plan.money is None else f", {plan.money:,.2f} {plan.currency}"
    time = "" if not plan.seconds else f", {plan.seconds:,.0f} s at the target's rate"
    lines = [f"asked: {plan.samples:,} samples, of which users ask {plan.uploads:,}{price}{time}"]
    if plan.trained:
        lines.append(f"trained here: {plan.trained} models of the attackers")
    for each in plan.power:
        seen = "nothing" if each.visible is None else f"an AUC of {0.5 + each.visible:.2f}"
        enough = "" if each.enough else f"; to pass takes about {each.needed:,} of either side"
        lines.append(
            f"{each.about}: with {each.cases:,} records of one side and {each.others:,} of the other"
            f" {seen} is seen in 8 of 10 audits{enough}"
        )
        lines += [f"  {sentence}" for sentence in each.rates]
    return lines


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
