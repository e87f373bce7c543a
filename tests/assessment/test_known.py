"""What audits said of models whose truth is known, and what is said by it."""

from __future__ import annotations

import pytest

from leakrange.assessment.known import KnownModels, Outcomes, known_models, nearest
from leakrange.load.bench.audits import MODELS, audited, outcomes

FEW = KnownModels(
    about="membership",
    records=40,
    leaking=Outcomes(models=12, leaks=10, passes=0, cannot_tell=2, leads=(0.4, 0.3)),
    others=Outcomes(models=13, leaks=1, passes=3, cannot_tell=9, leads=(0.0, 0.02, 0.04)),
)


def test_a_figure_is_counted_in_deviations_of_models_that_do_not_leak() -> None:
    assert FEW.z(0.12) == pytest.approx(5.0)
    assert FEW.z(0.0) == pytest.approx(-1.0)
    alike = FEW.others.model_copy(update={"leads": (0.1, 0.1)})
    assert FEW.model_copy(update={"others": alike}).z(0.12) is None


def test_the_sentence_tells_false_alarms_from_misses() -> None:
    assert FEW.sentence == (
        "How often such an audit errs: with 40 records of either side, of 12 known models that leak by who "
        "was trained on it said so of 10, let 0 pass, and could not tell of 2; of 13 that do not, it accused "
        "1, let 3 pass, and could not tell of 9. These are models of scikit-learn on drawn tables, attacked "
        "without models of the attackers' own."
    )


def test_those_with_no_more_records_are_compared_with() -> None:
    sizes = sorted({each.records for each in known_models()})
    assert len(sizes) >= 3
    for about in ("membership", "attribute"):
        least, middle, most = sizes[0], sizes[1], sizes[-1]
        for records, size in ((least - 1, least), (middle, middle), (middle + 1, middle), (10**6, most)):
            row = nearest(about, records)
            assert row is not None
            assert (row.about, row.records) == (about, size)
            assert row.leaking.models == row.others.models == 12
    assert nearest("reconstruction", 100) is None


def test_the_bench_knows_what_it_made() -> None:
    assert sum(model.leaks for model in MODELS) == len(MODELS) - sum(model.leaks for model in MODELS) == 24
    named = {model.name: model for model in MODELS}
    by_heart, differ = named["tree, by heart"], named["logistic, members differ"]
    planted, goes_along = named["logistic, planted, 10%"], named["logistic, goes along"]
    findings = [audited(model, 150) for model in (by_heart, differ, planted, goes_along)]
    assert findings[0].conclusion == "leaks"
    assert "differ by themselves" in findings[1].why
    assert findings[2].conclusion == "leaks"
    assert findings[3].conclusion != "leaks"
    counted = outcomes(findings)
    assert (counted.models, counted.leaks, len(counted.leads)) == (4, 2, 4)
