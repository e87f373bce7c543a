"""What audits said of models whose truth is known, and what is said by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakrange.assessment.known import TABLES, KnownModels, Outcomes, known_models, nearest
from leakrange.load.bench.audits import KnownAudit, audits_of, in_markdown, main, rows_of, served
from leakrange.load.bench.known_tables import FIRST, SECOND
from leakrange.metrics import Estimate
from leakrange.scenario.results import TrialResult
from tests.report.build import run, trials

FEW = KnownModels(
    task=TABLES,
    policy="none",
    about="membership",
    records=40,
    attack="",
    leaking=Outcomes(models=12, leaks=10, passes=0, cannot_tell=2, leads=(0.4, 0.3)),
    others=Outcomes(models=13, leaks=1, passes=3, cannot_tell=9, leads=(0.0, 0.02, 0.04)),
)


def test_a_figure_is_counted_in_deviations_of_models_that_do_not_leak() -> None:
    assert FEW.z(0.12) == pytest.approx(5.0)
    assert FEW.z(0.0) == pytest.approx(-1.0)
    for leads in ((0.1, 0.1), (0.1,)):
        alike = FEW.others.model_copy(update={"leads": leads})
        assert FEW.model_copy(update={"others": alike}).z(0.12) is None


def test_a_figure_is_shown_among_those_of_models_that_leak_and_of_others() -> None:
    assert FEW.among(0.35) == (
        "Its lead is 0.35: more than that of 3 of 3 known models (drawn tables) in which no such leak is "
        "planted, 16.5 deviations above their mean, and than that of 1 of 2 in which one is."
    )
    assert "of 1 of 3 known models (drawn tables)" in FEW.among(0.01)
    assert "0.5 deviations below their mean" in FEW.among(0.01)


def test_the_sentence_tells_false_alarms_from_misses() -> None:
    assert FEW.sentence == (
        "How often such an audit errs: with 40 records of either side, of 12 known models that leak by who "
        "was trained on it said so of 10, let 0 pass, and could not tell of 2; of 13 in which no such leak "
        "is planted, it accused 1, let 3 pass, and could not tell of 9. These are models of scikit-learn on "
        "drawn tables, attacked without models of the attackers' own."
    )
    faces = FEW.model_copy(update={"task": "synthfaces"})
    assert faces.sentence.endswith("These are nets for synthfaces that the range trained.")


def test_those_of_the_nearest_task_with_no_more_records_are_compared_with() -> None:
    tables = sorted({each.records for each in known_models() if each.task == TABLES})
    assert len(tables) >= 3
    for about in ("membership", "attribute"):
        least, middle, most = tables[0], tables[1], tables[-1]
        for records, size in ((least - 1, least), (middle, middle), (middle + 1, middle), (10**6, most)):
            row = nearest(about, records, task="bank", pictures=False)
            assert row is not None
            assert (row.task, row.policy, row.about, row.records, row.attack) == (
                *(TABLES, "none", about),
                *(size, ""),
            )
            assert row.leaking.models == row.others.models > 0
        same = nearest(about, 10**6, task="digits", pictures=True)
        assert same is not None
        assert same.task == ("digits" if about == "attribute" else TABLES)
        other = nearest(about, 10**6, task="photographs", pictures=True)
        assert other is not None
        assert other.task in (("digits", "synthfaces") if about == "attribute" else (TABLES,))
    assert nearest("reconstruction", 100, task="digits", pictures=True) is None


def test_the_two_halves_have_no_model_in_common_and_half_of_each_leaks() -> None:
    for half in (FIRST, SECOND):
        assert sum(model.leaks for model in half) == sum(not model.leaks for model in half) == 24
    assert not {model.name for model in FIRST} & {model.name for model in SECOND}


def test_the_bench_finds_what_was_planted_and_falls_into_no_trap() -> None:
    named = {model.name: model for model in SECOND}
    wanted = {
        "extra trees, by heart": "leaks",
        "binary Bayes, members differ": "cannot tell",
        "discriminant, planted, 10%": "leaks",
    }
    for name, conclusion in wanted.items():
        audits = {each.attack: each for each in audits_of(named[name], 150, 1)}
        assert audits[""].conclusion == conclusion, name
        by_itself = "attribute-inference" if named[name].about == "attribute" else "loss-threshold"
        assert audits[by_itself].about == named[name].about


def audit(attack: str, conclusion: str, leaks: bool, lead: float | None = 0.2) -> KnownAudit:
    return KnownAudit("digits", "none", "attribute", 40, attack, leaks, conclusion, lead)


def test_audits_are_counted_by_attack_and_by_truth() -> None:
    rows = rows_of(
        [
            *(audit("", each, True, lead) for each, lead in (("leaks", 0.3), ("passes", None))),
            *(audit("", each, False) for each in ("leaks", "passes", "passes")),
            audit("lira", "cannot tell", True),
        ]
    )
    assert [row.attack for row in rows] == ["", "lira"]
    assert rows[0].leaking == Outcomes(models=2, leaks=1, passes=1, cannot_tell=0, leads=(0.3,))
    assert rows[0].others.passes == 2
    assert rows[1].leaking == Outcomes(models=1, leaks=0, passes=0, cannot_tell=1, leads=())
    assert "| digits | none | attribute | 40 | all | 1 | 1 | 0 | 1 | 2 | 0 |" in in_markdown(rows)


def trial(provider: str, defence: str, value: float) -> TrialResult:
    sample = next(each for each in trials() if each.attack == "outside")
    figures = {
        "auc": Estimate(value=value, low=value - 0.02, high=value + 0.02),
        "majority": Estimate(value=0.75, low=None, high=None),
    }
    changed = {"provider": provider, "defence": defence, "metrics": figures, "victims": 400, "seed": 0}
    return sample.model_copy(update={**changed, "id": f"{provider}.{defence}"})


def test_each_provider_of_a_run_is_audited_under_each_policy() -> None:
    results = run(
        trials=[
            trial("digits-curious", "none", 0.9),
            trial("digits-curious", "rounded", 0.5),
            trial("digits-honest", "none", 0.51),
            trial("digits-overfitted", "none", 0.9).model_copy(update={"victims": 300}),
            trial("digits-overfitted", "none", 0.9).model_copy(update={"sensitive": "membership"}),
        ],
        models=[],
    )
    every = [each for each in served(results) if not each.attack]
    # A fourth of 400 people has the attribute, and of 300 others: the fewest count for the task.
    assert [(each.task, each.policy, each.leaks, each.records, each.conclusion) for each in every] == [
        ("digits", "none", True, 75, "leaks"),
        ("digits", "rounded", True, 75, "passes"),
        ("digits", "none", False, 75, "passes"),
        ("digits", "none", False, 75, "leaks"),
    ]


def test_the_bench_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("leakrange.load.bench.audits.SECOND", SECOND[:1])
    monkeypatch.setattr(
        "sys.argv",
        ["audits", "--records", "40", "--keep", str(tmp_path), "--write", str(tmp_path / "w.yaml")],
    )
    main()
    first = capsys.readouterr().out
    kept = sorted(tmp_path.glob("*.json"))
    assert len(kept) == 3
    times = [path.stat().st_mtime_ns for path in kept]
    main()
    assert capsys.readouterr().out == first
    assert [path.stat().st_mtime_ns for path in kept] == times


def test_the_tables_in_the_documentation_are_those_of_the_figures() -> None:
    page = Path("docs/guides/reading-an-audit.md").read_text(encoding="utf-8")
    assert in_markdown(known_models()) in page
