"""How often an audit of an endpoint errs: models whose truth is known, by what is asked, budget and attack.

    OMP_NUM_THREADS=1 python -m leakrange.load.bench.audits --keep FOLDER --write FILE [RUN.json ...]

audits 48 models of scikit-learn on drawn tables (`leakrange.load.bench.known_tables`), three draws of each,
with as many records of either side as ``--records`` says, by the attacks that need neither further questions
nor models of their own (``leakrange answers audit`` makes the same), and judges as an audit judges. RUN.json
are results of ``scenarios/known-models.yaml`` and its like: each of their providers under each policy is
judged as an endpoint of its own. Each audit of a table's model is kept in FOLDER when it is finished, so that
the bench goes on where it was stopped. FILE gets the figures as audits read them
(``assessment/known_models.yaml``); the tables in the documentation are `in_markdown` of these.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from leakrange.assessment.document import AssessmentPlan, Finding
from leakrange.assessment.judged import assessed
from leakrange.assessment.known import TABLES, KnownModels, Outcomes
from leakrange.assessment.plan import power_of
from leakrange.assessment.question import EndpointQuestion
from leakrange.data.importing.answers import RecordedAnswers
from leakrange.load.bench.known_tables import SECOND, KnownModel, answers_of
from leakrange.scenario.recorded import recorded_results
from leakrange.scenario.results import RunResults, TrialResult
from leakrange.targets.target import read_target

__all__ = ["KnownAudit", "audits_of", "in_markdown", "rows_of", "served"]

TARGET = """\
name: model
owner: nobody@example.com
card: {input: {encoding: vector, shape: [8]}, classes: ["0", "1"]}
steps: [{post: "http://127.0.0.1:9/", json: {rows: "${rows}"}, read: {each: "$[*]", values: "$"}}]
"""
MEMBERSHIP = "membership"
SEEDS = (1, 2, 3)
PLANTED = ("curious", "vicious")
"""What the names of providers end with in whose answers an attribute is planted."""


class KnownAudit(NamedTuple):
    """What was found of a model by one ``attack``, or by all ("")."""

    task: str
    policy: str
    about: str
    records: int
    attack: str
    leaks: bool
    conclusion: str
    lead: float | None


def audits_of(model: KnownModel, records: int, seed: int) -> list[KnownAudit]:
    """What an audit finds of the model by so many records on either side: by all attacks, and by each."""
    answers = answers_of(model, records, seed)
    results = recorded_results(answers, seed)
    hidden = MEMBERSHIP if answers.hidden is None else answers.hidden.attribute.name
    return [
        KnownAudit(
            TABLES, "none", model.about, records, attack, model.leaks, finding.conclusion, _lead(finding)
        )
        for attack, finding in _by_attack(results, hidden, *_sides(answers))
    ]


def served(results: RunResults) -> list[KnownAudit]:
    """What audits of an attribute find of the providers of a run, each under each policy and of each seed: a
    provider is named TASK-BEHAVIOUR. Whether such a net leaks its members is not known by how it is made.
    Records of either side are the fewest that any of a task's models was judged on."""
    audits = list(_served(results))
    fewest: dict[str, int] = {}
    for each in audits:
        fewest[each.task] = min(each.records, fewest.get(each.task, each.records))
    return [each._replace(records=fewest[each.task]) for each in audits]


def _served(results: RunResults) -> Iterator[KnownAudit]:
    groups: dict[tuple[str, str, int, str], list[TrialResult]] = {}
    for trial in results.trials:
        if "control" not in trial.metrics and trial.sensitive != MEMBERSHIP:
            groups.setdefault((trial.provider, trial.defence, trial.seed, trial.sensitive), []).append(trial)
    for (provider, policy, _, hidden), trials in groups.items():
        task, _, behaviour = provider.rpartition("-")
        alone = results.model_copy(
            update={
                "trials": [each.model_copy(update={"defence": "none"}) for each in trials],
                "summaries": [],
                "scenario": results.scenario | {"defences": {"none": results.scenario["defences"][policy]}},
            }
        )
        sides = _judged_people(trials[0])
        for attack, finding in _by_attack(alone, hidden, *sides):
            if attack and policy != "none":
                continue  # of policies it is enough what the whole audit says
            leaks, lead = behaviour in PLANTED, _lead(finding)
            yield KnownAudit(task, policy, "attribute", min(sides), attack, leaks, finding.conclusion, lead)


def _judged_people(trial: TrialResult) -> tuple[int, int]:
    """How many people of either side an attack was judged on: by the share of the most frequent class."""
    majority, people = trial.metrics["majority"].value, trial.victims or 0
    return round(people * (1 - majority)), round(people * majority)


def _by_attack(results: RunResults, hidden: str, cases: int, others: int) -> Iterator[tuple[str, Finding]]:
    """The finding of an audit that makes every attack of these results (""), and of one that makes each
    alone."""
    names = sorted({trial.attack for trial in results.trials})
    for name in ("", *names):
        trials = [each for each in results.trials if not name or each.attack == name]
        question = EndpointQuestion(
            target=read_target(TARGET),
            data="model",
            attribute="label",
            hidden=() if hidden == MEMBERSHIP else (hidden,),
            members="members" if hidden == MEMBERSHIP else None,
        )
        power = power_of(hidden, cases, others, len(names) if not name else 1, question.thresholds)
        plan = AssessmentPlan(name="model", scenario="", attacks=(), power=(power,), samples=0, uploads=0)
        alone = results.model_copy(update={"trials": trials})
        [finding] = assessed(question, plan, alone, records=cases + others).findings
        yield name, finding


def _sides(answers: RecordedAnswers) -> tuple[int, int]:
    if answers.members is not None:
        return int(answers.members.sum()), int((~answers.members).sum())
    assert answers.hidden is not None
    judged: NDArray[np.int64] = answers.hidden.values
    cases = int(min(judged.sum(), len(judged) - judged.sum()) * 0.6)  # two fifths are the attacker's
    return cases, int(len(judged) * 0.6) - cases


def _lead(finding: Finding) -> float | None:
    return None if finding.value is None else round(finding.value - (finding.control or 0.5), 4)


def rows_of(audits: Iterable[KnownAudit]) -> list[KnownModels]:
    """The audits, counted: a row for each task, policy, question, number of records and attack."""
    groups: dict[tuple[str, str, str, int, str], dict[bool, list[KnownAudit]]] = {}
    for each in audits:
        sides = groups.setdefault(each[:5], {True: [], False: []})
        sides[each.leaks].append(each)
    return [
        KnownModels.model_validate(
            {
                **dict(zip(("task", "policy", "about", "records", "attack"), key, strict=True)),
                "leaking": _outcomes(sides[True], key[-1]),
                "others": _outcomes(sides[False], key[-1]),
            }
        )
        for key, sides in groups.items()
    ]


def _outcomes(audits: list[KnownAudit], attack: str) -> Outcomes:
    words = Counter(each.conclusion for each in audits)
    return Outcomes(
        models=len(audits),
        leaks=words["leaks"],
        passes=words["passes"],
        cannot_tell=words["cannot tell"],
        # A figure is compared with that of the strongest attack.
        leads=() if attack else tuple(each.lead for each in audits if each.lead is not None),
    )


def in_markdown(rows: Iterable[KnownModels]) -> str:
    """The rows as a table: false alarms are leaks of those that do not, misses passes of those that do."""
    lines = [
        "| task | policy | about | records of either side | attack | leaking: found | missed | cannot tell "
        "| others: false alarms | passed | cannot tell |",
        f"|{'---|' * 11}",
    ]
    for row in sorted(rows, key=_place):
        of, no = row.leaking, row.others
        figures = (of.leaks, of.passes, of.cannot_tell, no.leaks, no.passes, no.cannot_tell)
        names = (row.task, row.policy, row.about, f"{row.records:,}", row.attack or "all")
        lines.append(f"| {' | '.join(map(str, (*names, *figures)))} |")
    return "\n".join(lines)


def _place(row: KnownModels) -> tuple[object, ...]:
    """Drawn tables come first, then each task without a policy and behind each."""
    return (
        *(row.task != TABLES, row.task, row.policy != "none", row.policy, row.about != MEMBERSHIP),
        *(row.records, row.attack),
    )


def _kept(folder: Path, model: KnownModel, records: int, seed: int) -> list[KnownAudit]:
    """The audits of the model: those of an earlier call, or new ones, which are kept."""
    file = folder / f"{model.name.replace(' ', '-')}.{records}.{seed}.json"
    if not file.exists():
        made = json.dumps(audits_of(model, records, seed))
        half = file.with_suffix(".part")
        half.write_text(made)
        half.replace(file)
    return [KnownAudit(*each) for each in json.loads(file.read_text())]


def main() -> None:
    """Print the table, and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="*", metavar="RUN.json")
    parser.add_argument("--records", type=int, nargs="+", default=[40, 150, 600])
    parser.add_argument("--keep", type=Path, required=True, help="the folder of finished audits")
    parser.add_argument("--write", type=Path, help="the figures as YAML, as audits read them")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    audits = [
        audit
        for records in options.records
        for model in SECOND
        for seed in SEEDS
        for audit in _kept(options.keep, model, records, seed)
    ]
    for path in options.runs:
        audits += served(RunResults.model_validate_json(path.read_bytes()))
    rows = rows_of(audits)
    print(in_markdown(rows))
    if options.write is not None:
        content = [row.model_dump(mode="json") for row in rows]
        options.write.write_text(yaml.safe_dump(content, sort_keys=False, default_flow_style=None))


if __name__ == "__main__":
    main()
