"""What a provider promised of its training, beside what was found."""

from __future__ import annotations

from leakrange.report.charts.drawing import Chart
from leakrange.report.findings import find
from leakrange.report.views import views
from leakrange.report.views.promise import in_words
from leakrange.scenario.results import RunResults
from tests.report.build import run

HELD = {  # by provider and seed: found, if Gaussian, promised
    ("digits-honest", 0): (1.25, 1.5, 4.0),
    ("digits-honest", 1): (2.25, 4.5, 4.0),
    ("digits-regularized", 0): (0.125, 0.25, 8.0),
    ("digits-regularized", 1): (0.5, 0.75, 8.0),
    ("digits-parameterized-raw", 0): (6.0, 9.0, None),
    ("digits-parameterized-raw", 1): (5.0, 7.0, None),
}

LEDGER = ("noise", "rate", "steps")


def shown() -> RunResults:
    made = run()
    trials = []
    for each in made.trials:
        found, gaussian, promised = HELD.get((each.provider, each.seed), (None, None, None))
        view = {"found": found, "gaussian": gaussian, "promised": promised, "delta": 1e-5, "canaries": 300}
        view |= {"noise": 1.5, "rate": 0.25, "steps": 40} if promised else dict.fromkeys(LEDGER)
        trials.append(each.model_copy(update={"views": {} if found is None else {"promise": view}}))
    return made.model_copy(update={"trials": trials})


def test_each_provider_s_promise_holds_or_is_broken_in_words() -> None:
    findings = find(shown())
    drawn = views["promise"].draw(findings, findings.subjects[0])
    assert isinstance(drawn, Chart)
    assert drawn.note == (
        "digits-honest: lower bound of ε up to 2.25, 4.50 if Gaussian; promised 4.00: broken in 1 of 2 "
        "trainings. digits-regularized: lower bound of ε up to 0.50, 0.75 if Gaussian; promised 8.00: holds. "
        "digits-parameterized-raw: lower bound of ε up to 6.00, 9.00 if Gaussian; nothing is promised"
    )
    assert drawn.note in drawn.label
    rows = [row for row in drawn.table.rows if row[0] == "digits-honest"]
    assert [row[1:] for row in sorted(rows, key=lambda row: int(str(row[1])))] == [
        [0, 1.25, 1.5, 4.0, 1e-5, 1.5, 0.25, 40, 300, "holds"],
        [1, 2.25, 4.5, 4.0, 1e-5, 1.5, 0.25, 40, 300, "broken"],
    ]


def test_one_picture_serves_all_providers_and_none_is_drawn_without_canaries() -> None:
    findings = find(shown())
    drawn = [views["promise"].draw(findings, subject) is not None for subject in findings.subjects]
    assert drawn.count(True) == 1
    nothing = find(run())
    assert views["promise"].draw(nothing, nothing.subjects[0]) is None


def test_either_bound_breaks_a_promise() -> None:
    held = {"found": 1.0, "gaussian": 0.5, "promised": 0.75}
    assert in_words(held) == "broken"
    assert in_words(held | {"promised": 1.0}) == "holds"
    assert in_words(held | {"gaussian": 2.0, "promised": 1.5}) == "broken"
    assert in_words(held | {"promised": None}) == "none"
