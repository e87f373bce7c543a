"""How often an audit of an endpoint errs: 48 models of scikit-learn whose truth is known, half of which leak.

    python -m leakrange.load.bench.audits --records 40 150 600

prints a table in Markdown: of the models that leak and of those that do not, how many are said to leak, to
pass, and to tell nothing, by the number of records on either side. Attacks are those that need no further
question and no models of their own (`leakrange answers audit` makes the same), judged as an audit judges.
Members are trained on; each model is well-trained or has learnt them by heart, by how it is made. An
attribute leaks where scores depend on it beyond the true class. Traps: members that differ by themselves from
others, and an attribute that goes with the true class. Some attributes are had by one in ten.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from leakrange.assessment.document import AssessmentPlan, Finding
from leakrange.assessment.judged import assessed
from leakrange.assessment.known import KnownModels, Outcomes
from leakrange.assessment.plan import power_of
from leakrange.assessment.question import EndpointQuestion
from leakrange.data.importing.answer_columns import AnswerColumns
from leakrange.data.importing.answers import RecordedAnswers
from leakrange.data.importing.roles import ImportedLabels
from leakrange.data.samples import Attribute
from leakrange.scenario.recorded import recorded_results
from leakrange.targets.target import read_target

__all__ = ["MODELS", "KnownModel", "audited"]

TARGET = """\
name: model
owner: nobody@example.com
card: {input: {encoding: vector, shape: [8]}, classes: ["0", "1"]}
steps: [{post: "http://127.0.0.1:9/", json: {rows: "${rows}"}, read: {each: "$[*]", values: "$"}}]
"""
FEATURES = 8
Make = Callable[[], Any]


@dataclass(frozen=True)
class KnownModel:
    """A model whose truth is known. ``about`` is "membership" or "attribute". ``share`` of the people have
    the attribute. ``planted``: how much surer it is of them. ``shifted``: members differ by themselves.
    ``goes_along``: the attribute goes with the true class. ``noise``: how much of the true
    class is chance."""

    name: str
    make: Make
    about: str
    leaks: bool
    share: float = 0.5
    planted: float = 0.0
    shifted: float = 0.0
    goes_along: bool = False
    noise: float = 1.5


def _scaled(net: Any) -> Any:
    return make_pipeline(StandardScaler(), net)


BY_HEART: dict[str, Make] = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(30, bootstrap=False, max_features=1, random_state=0),
    "nearest": lambda: KNeighborsClassifier(1),
    "two nearest": lambda: KNeighborsClassifier(2),
    "boosting, 300 deep trees": lambda: GradientBoostingClassifier(
        n_estimators=300, max_depth=6, learning_rate=0.3, random_state=0
    ),
    "net, 256 wide": lambda: _scaled(MLPClassifier((256,), alpha=0.0, max_iter=600, random_state=0)),
}
WELL: dict[str, Make] = {
    "logistic": lambda: _scaled(LogisticRegression()),
    "logistic, regular": lambda: _scaled(LogisticRegression(C=0.05)),
    "naive Bayes": GaussianNB,
    "forest, leaves of 40": lambda: RandomForestClassifier(50, min_samples_leaf=40, random_state=0),
    "boosting, 20 stumps": lambda: GradientBoostingClassifier(n_estimators=20, max_depth=1, random_state=0),
    "tree of depth 2": lambda: DecisionTreeClassifier(max_depth=2, min_samples_leaf=40, random_state=0),
}


def _models() -> Iterator[KnownModel]:
    for label, make in BY_HEART.items():
        yield KnownModel(f"{label}, by heart", make, "membership", leaks=True)
        yield KnownModel(f"{label}, by heart, noisier", make, "membership", leaks=True, noise=3.0)
    for label, make in WELL.items():
        yield KnownModel(f"{label}, well-trained", make, "membership", leaks=False)
        yield KnownModel(f"{label}, members differ", make, "membership", leaks=False, shifted=1.0)
        for share, planted in ((0.5, 1.5), (0.1, 2.5)):
            name = f"{label}, planted, {share:.0%}"
            yield KnownModel(name, make, "attribute", leaks=True, share=share, planted=planted)
        yield KnownModel(f"{label}, no attribute, 10%", make, "attribute", leaks=False, share=0.1)
        yield KnownModel(f"{label}, goes along", make, "attribute", leaks=False, goes_along=True)


MODELS = tuple(_models())


def answers_of(model: KnownModel, records: int, seed: int) -> RecordedAnswers:
    """The model's answers about so many members and as many others."""
    rng = np.random.default_rng([seed, records, sum(model.name.encode())])
    members = np.repeat([True, False], records)
    rows = rng.normal(size=(2 * records, FEATURES))
    rows[members, 0] += model.shifted
    labels = (rows[:, 1:4].sum(axis=1) + model.noise * rng.normal(size=len(rows)) > 0).astype(np.int64)
    if model.goes_along:
        attribute = np.where(rng.random(len(rows)) < 0.75, labels, 1 - labels)
    else:
        attribute = (rng.random(len(rows)) < model.share).astype(np.int64)
    fitted = model.make().fit(rows[members], labels[members])
    second = np.clip(fitted.predict_proba(rows)[:, 1], 1e-4, 1 - 1e-4)
    # How sure the model is tells the attribute, and its decision does not: what that tells is no leak.
    odds = np.log(second / (1 - second)) * np.exp(model.planted * (attribute - 0.5))
    second = 1 / (1 + np.exp(-odds))
    about_members = model.about == "membership"
    hidden = Attribute("attribute", ("no", "yes"))
    return RecordedAnswers(
        name="model",
        sha256="",
        values=np.stack([1 - second, second], axis=1).astype(np.float32),
        release="softmax",
        classes=("0", "1"),
        columns=AnswerColumns(("p_*",), target="label"),
        labels=labels,
        members=members if about_members else None,
        hidden=None if about_members else ImportedLabels(hidden, attribute, "as it stands"),
        known=rows.astype(np.float32),
    )


def audited(model: KnownModel, records: int, seed: int = 0) -> Finding:
    """What an audit finds of the model by so many records on either side."""
    answers = answers_of(model, records, seed)
    results = recorded_results(answers, seed)
    attacks = len({trial.attack for trial in results.trials})
    question = EndpointQuestion(
        target=read_target(TARGET),
        data="model",
        attribute="label",
        hidden=() if answers.hidden is None else (answers.hidden.attribute.name,),
        members="members" if answers.members is not None else None,
    )
    cases, others = _sides(answers)
    about = "membership" if answers.members is not None else question.hidden[0]
    power = power_of(about, cases, others, attacks, question.thresholds)
    plan = AssessmentPlan(
        name="model", scenario="", attacks=(), power=(power,), samples=2 * records, uploads=0
    )
    [finding] = assessed(question, plan, results, records=2 * records).findings
    return finding


def _sides(answers: RecordedAnswers) -> tuple[int, int]:
    if answers.members is not None:
        return int(answers.members.sum()), int((~answers.members).sum())
    assert answers.hidden is not None
    judged: NDArray[np.int64] = answers.hidden.values
    cases = int(min(judged.sum(), len(judged) - judged.sum()) * 0.6)  # two fifths are the attacker's
    return cases, int(len(judged) * 0.6) - cases


def outcomes(findings: list[Finding]) -> Outcomes:
    """What was said of several models."""
    words = Counter(each.conclusion for each in findings)
    return Outcomes(
        models=len(findings),
        leaks=words["leaks"],
        passes=words["passes"],
        cannot_tell=words["cannot tell"],
        leads=tuple(
            round(each.value - (each.control or 0.5), 4) for each in findings if each.value is not None
        ),
    )


def measured(records: int, seed: int) -> Iterator[KnownModels]:
    """All models with so many records on either side, by what is asked of them."""
    findings: dict[tuple[str, bool], list[Finding]] = {}
    for model in MODELS:
        finding = audited(model, records, seed)
        findings.setdefault((model.about, model.leaks), []).append(finding)
        if finding.conclusion == ("passes" if model.leaks else "leaks"):
            print(f"<!-- {model.name}, {records} records: {finding.conclusion} -->", flush=True)
    for about in ("membership", "attribute"):
        leaking, others = (outcomes(findings[about, leaks]) for leaks in (True, False))
        yield KnownModels.model_validate(
            {"about": about, "records": records, "leaking": leaking, "others": others}
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, nargs="+", default=[40, 150, 600])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="the figures as YAML, as audits read them")
    options = parser.parse_args()
    print("| about | records a side | truth | models | leaks | passes | cannot tell |")
    print("|---|---|---|---|---|---|---|")
    rows = [each for records in options.records for each in measured(records, options.seed)]
    for row in rows:
        for truth, said in (("leaks", row.leaking), ("does not", row.others)):
            shown = f"{said.models} | {said.leaks} | {said.passes} | {said.cannot_tell}"
            print(f"| {row.about} | {row.records} | {truth} | {shown} |")
    if options.write is not None:
        content = [row.model_dump(mode="json") for row in rows]
        options.write.write_text(yaml.safe_dump(content, sort_keys=False, default_flow_style=None))


if __name__ == "__main__":
    main()
