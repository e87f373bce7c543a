"""The first sentence of a run and the grades of its cells, whole, on results of which the truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from leakrange.metrics import Estimate
from leakrange.report.findings import find
from leakrange.report.glance import glance
from leakrange.report.headline import headline
from leakrange.scenario.results import RunResults, TrialResult
from tests.report.build import area, run

Cell = tuple[str, str, float | Estimate | None]
"""A provider, a defence, and the AUC of its attack; None where the trial failed."""
FEW = 25
"""Records of either side, of which nothing can be told."""


def results(
    cells: Sequence[Cell],
    *,
    kind: str = "attribute",
    sensitive: str = "beard",
    knowledge: str = "aware",
    honesty: Mapping[str, float] = {},
    figures: Mapping[str, float] = {},
    guessed: float | None = None,
    defences: Mapping[str, object] | None = None,
) -> RunResults:
    trials = [
        TrialResult(
            id=f"{provider}.{defence}",
            kind=kind,
            provider=provider,
            data="faces",
            behaviour="remote",
            release="softmax",
            target="glasses",
            sensitive=sensitive,
            defence=defence,
            attack="outside",
            knowledge=knowledge,
            budget=1000,
            seed=0,
            state="failed" if auc is None else "done",
            victims=1000,
            spent=1000,
            metrics={}
            if auc is None
            else {
                "honesty": Estimate(value=honesty.get(defence, 0.9)),
                "auc": area(auc) if isinstance(auc, float) else auc,
                **{name: Estimate(value=value) for name, value in figures.items()},
                **(_controlled(auc, guessed) if guessed and isinstance(auc, float) else {}),
            },
        )
        for provider, defence, auc in cells
    ]
    chains = defences or {name: [] if name == "none" else [{"argmax": {}}] for _, name, _ in cells}
    return run(trials=trials, models=[], ledger=[], scenario={"defences": chains})


def _controlled(auc: float, guessed: float) -> dict[str, Estimate]:
    lead = auc - guessed
    beyond = Estimate(value=lead, low=lead - 0.02, high=lead + 0.02)
    return {"imputation_auc": Estimate(value=guessed), "beyond_imputation": beyond}


def told(found: RunResults) -> tuple[str, str, dict[str, str]]:
    """Sentence, recommendation, and the grades by provider and defence."""
    findings = find(found)
    first = headline(findings)
    grades = {
        f"{row.subject.provider}/{defence}": str(cell.grade)
        for rows in glance(findings).values()
        for row in rows
        for defence, cell in zip(findings.defences, row.cells, strict=True)
        if cell is not None
    }
    plain = (text.replace("\N{NO-BREAK SPACE}", " ") for text in (first.sentence, first.recommendation))
    sentence, recommendation = plain
    return sentence, recommendation, grades


BLUR = {"none": [], "round": [{"round": {"decimals": 1}}], "noise": [{"noise": {"scale": 1.0}}]}
CASES: dict[str, tuple[RunResults, str, str, dict[str, str]]] = {
    "one leaks, and a label stops it for nothing": (
        results(
            [
                *(("a", "none", 0.93), ("a", "round", 0.9), ("a", "noise", 0.51)),
                *(("b", "none", 0.51), ("b", "round", 0.5), ("b", "noise", 0.5)),
            ],
            defences=BLUR,
        ),
        "One of two providers, “a”, gives away “beard”; “noise” stops that and costs nothing.",
        "Use “noise”.",
        {"a/none": "E", "a/round": "E", "a/noise": "A", "b/none": "A", "b/round": "A", "b/noise": "A"},
    ),
    "all leak, and what stops it costs": (
        results(
            [(name, defence, auc) for name in "abc" for defence, auc in (("none", 0.7), ("noise", 0.505))],
            defences=BLUR,
            honesty={"none": 0.9, "noise": 0.82},
        ),
        "All three providers give away “beard”; “noise” stops that and costs 8.0 points of honesty.",
        "Use “noise”.",
        {
            f"{name}/{defence}": "D" if defence == "none" else "A"
            for name in "abc"
            for defence in ("none", "noise")
        },
    ),
    "a leak that no defence stops": (
        results([("a", "none", 0.8), ("a", "round", 0.79), ("a", "noise", 0.7)], defences=BLUR),
        "The provider “a” gives away “beard”; none of two defences is certain to stop that.",
        "Do not let these answers out as they are. “noise” leaves attackers least, and not little enough.",
        {"a/none": "E", "a/round": "E", "a/noise": "D"},
    ),
    "a leak that was not defended": (
        results([("a", "none", 0.8)]),
        "The provider “a” gives away “beard”; no defence was tried.",
        "Try defences on these answers: list them under “defences”.",
        {"a/none": "E"},
    ),
    "a defence that was tried on attackers who do not know of it": (
        results([("a", "none", 0.8), ("a", "noise", 0.5)], knowledge="unaware", defences=BLUR),
        "The provider “a” gives away “beard”; “noise” stops that and costs nothing.",
        "Use “noise”. Attackers who know of it were not tried: try them first.",
        {"a/none": "E", "a/noise": "A"},
    ),
    "a leak that shows by AUC alone, at the accuracy of the majority": (
        results([("a", "none", 0.62)], figures={"curiosity": 0.9, "majority": 0.9}),
        "The provider “a” gives away “beard”; no defence was tried.",
        "Try defences on these answers: list them under “defences”.",
        {"a/none": "D"},
    ),
    "a leak beyond what the true label tells, which remains": (
        results([("a", "none", 0.9), ("a", "noise", 0.81)], guessed=0.815, defences=BLUR),
        "The provider “a” gives away “beard”; “noise” stops that and costs nothing. What the true label"
        " tells already remains: AUC 0.810.",
        "Use “noise”.",
        {"a/none": "C", "a/noise": "A"},
    ),
    "nothing leaks beyond what the true label tells": (
        results([("a", "none", 0.815)], guessed=0.815),
        "No attack that was made learns “beard” from “a”: a lead of more than 0.020 over what the "
        "true label tells already is excluded. What the true label tells already remains: AUC 0.815.",
        "A stronger attack may exist: nothing here says that none does.",
        {"a/none": "A"},
    ),
    "what one gives away, another does not": (
        results([("a", "none", 0.9)]).model_copy(
            update={
                "trials": [
                    *results([("a", "none", 0.9), ("b", "none", 0.5)]).trials,
                    *results([("b", "none", 0.8)], sensitive="age").trials,
                ]
            }
        ),
        "Both providers give away something: “beard” and “age”; no defence was tried.",
        "Try defences on these answers: list them under “defences”.",
        {"a/none": "E", "b/none": "E"},
    ),
    "one that leaks beside one of whom it cannot be told": (
        results([("a", "none", 0.9), ("b", "none", area(0.56, FEW, FEW))]),
        "One of two providers, “a”, gives away “beard”; no defence was tried. Of “b” it cannot be told.",
        "Try defences on these answers: list them under “defences”.",
        {"a/none": "E", "b/none": "?"},
    ),
    "what stops one leak makes another": (
        results(
            [("a", "none", 0.9), ("a", "noise", 0.5), ("b", "none", 0.5), ("b", "noise", 0.8)], defences=BLUR
        ),
        "One of two providers, “a”, gives away “beard”; the defence that was tried is not certain to stop"
        " that.",
        "Do not let these answers out as they are.",
        {"a/none": "E", "a/noise": "A", "b/none": "A", "b/noise": "E"},
    ),
    "a defence with which users fare better, by chance": (
        results([("a", "none", 0.9), ("a", "noise", 0.5)], defences=BLUR, honesty={"noise": 0.91}),
        "The provider “a” gives away “beard”; “noise” stops that and costs no honesty in the mean.",
        "Use “noise”.",
        {"a/none": "E", "a/noise": "A"},
    ),
    "nothing leaks": (
        results([("a", "none", 0.51), ("b", "none", 0.50)]),
        "No attack that was made learns “beard” from either provider: a lead of more than 0.028 over "
        "guessing is excluded.",
        "A stronger attack may exist: nothing here says that none does.",
        {"a/none": "A", "b/none": "A"},
    ),
    "too few records": (
        results([("a", "none", area(0.55, FEW, FEW))]),
        "Whether “a” gives away “beard” cannot be told.",
        "To find out, run it with more users.",
        {"a/none": "?"},
    ),
    "one of whom it cannot be told beside one that does not leak": (
        results([("a", "none", area(0.56, FEW, FEW)), ("b", "none", 0.5)]),
        "Whether “a” gives away “beard” cannot be told; no leak was found at the other.",
        "To find out, run it with more users.",
        {"a/none": "?", "b/none": "A"},
    ),
    "labels alone stop attackers who read scores, and nothing follows from that": (
        results([("a", "none", 0.8), ("a", "label", 0.5)], kind="membership", sensitive="membership"),
        "The provider “a” gives away who was in the training set; the defence that was tried is not certain"
        " to stop that.",
        "Do not let these answers out as they are.",
        {"a/none": "E", "a/label": "?"},
    ),
    "every trial failed": (
        results([("a", "none", None), ("a", "noise", None)], defences=BLUR),
        "No attack has come to an end, so nothing can be told.",
        "",
        {},
    ),
    "no undefended answers": (
        results([("a", "noise", 0.5)], defences={"noise": BLUR["noise"]}),
        "What providers give away without a defence was not measured.",
        "",
        {"a/noise": "A"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_sentence_and_the_grades_say_what_is_so(name: str) -> None:
    found, sentence, recommendation, grades = CASES[name]
    assert told(found) == (sentence, recommendation, grades)
