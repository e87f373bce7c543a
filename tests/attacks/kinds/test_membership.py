"""What a membership attack of the fleet is given, from stored releases alone."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.membership import Candidates, Population, Shadow, evidence_of
from leakrange.attacks.membership.membership import MembershipEvidence
from leakrange.data import load
from leakrange.jobs.recipe import DataSpec, Subset, TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.jobs.steps.show import ShowJob
from leakrange.jobs.steps.train import TrainJob
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput, NotFound

DIGITS = DataSpec(name="digits", size=16, subset=Subset(pool=60))
RECORDS = Span(data=DIGITS, split="pool", start=0, stop=60)
POPULATION = Span(data=DIGITS, split="population", start=0, stop=20)


def stored(store: FolderStore, name: str, rows: int, value: float) -> str:
    identity = digest([name, rows, value])
    put_array(store, f"{identity}.npy", np.full((rows, 10), value, dtype=np.float32))
    return identity


def member_of(seed: int, *, rest: bool = False) -> DataSpec:
    return DIGITS.model_copy(update={"subset": Subset(pool=60, seed=seed, rest=rest)})


def candidates(store: FolderStore, **changes: object) -> Candidates:
    shadows = [
        Shadow(
            data=member_of(4, rest=rest),
            records=stored(store, "shadow", 60, 1.0 + rest),
            population=stored(store, "shadow", 30, 3.0 + rest),
        )
        for rest in (False, True)
    ]
    found = Candidates(
        records=RECORDS,
        answers=[[stored(store, "x", 40, 5.0)], [stored(store, "x", 20, 6.0)]],
        target="digit",
        population=Population(span=POPULATION, answers=[[stored(store, "z", 30, 7.0)]]),
        shadows=shadows,
    )
    return found.model_copy(update=changes)


def given(named: Candidates, releases: ReleaseStore) -> MembershipEvidence:
    return evidence_of(named, FitJob(attack="rmia", evidence=named.model_dump(mode="json")), releases)


def test_rows_labels_and_memberships_are_those_of_the_pool_in_its_order(
    store: FolderStore, releases: ReleaseStore
) -> None:
    data = load(DIGITS)
    found = given(candidates(store), releases)
    assert found.observed.shape == (1, 60, 10)
    assert found.observed[0, :, 0].tolist() == [5.0] * 40 + [6.0] * 20
    np.testing.assert_array_equal(found.labels, data.labels["digit"][data.where("pool")])
    np.testing.assert_array_equal(found.members[0], load(member_of(4)).members())
    np.testing.assert_array_equal(found.members[1], ~found.members[0])
    assert found.shadows[:, 0, :, 0].tolist() == [[1.0] * 60, [2.0] * 60]
    assert found.population_shadows[:, :, 0].tolist() == [[3.0] * 20, [4.0] * 20]
    assert found.population[:, 0].tolist() == [7.0] * 20
    population = data.labels["digit"][data.where("population")]
    np.testing.assert_array_equal(found.population_labels, population[:20])


def test_variants_of_records_lie_beside_them_and_the_population_apart(
    store: FolderStore, releases: ReleaseStore
) -> None:
    two = [[[stored(store, "v", 60, 8.0)]], [[stored(store, "v", 60, 9.0)]]]
    shadow = candidates(store).shadows[0]
    shown = [stored(store, "shadow", 60, value) for value in (1.5, 1.6)]
    shadows = [shadow.model_copy(update={"variants": shown})]
    found = given(candidates(store, variants=two, shadows=shadows), releases)
    assert found.observed[:, -1, 0].tolist() == [6.0, 8.0, 9.0]
    assert found.shadows[0, :, 0, 0] == pytest.approx([1.0, 1.5, 1.6])
    assert found.population_shadows[0, :, 0].tolist() == [3.0] * 20
    data = load(DIGITS)
    assert found.samples is not None
    np.testing.assert_array_equal(found.samples, data.values[data.where("pool")])
    short = [two[0], [[stored(store, "v", 20, 9.0)]]]
    with pytest.raises(InvalidInput, match="20 answers for 60 records"):
        given(candidates(store, variants=short, shadows=shadows), releases)


def test_where_no_record_was_asked_about_there_are_answers_about_the_population(
    store: FolderStore, releases: ReleaseStore
) -> None:
    found = given(candidates(store, answers=[], shadows=[]), releases)
    assert (found.observed.shape, found.shadows.shape) == ((0, 60, 10), (0, 0, 60, 10))
    assert (found.population.shape, found.population_shadows.shape) == ((20, 10), (0, 20, 10))
    assert found.samples is not None
    assert found.population_samples is not None
    assert (len(found.samples), len(found.population_samples)) == (60, 20)
    with pytest.raises(ValidationError, match="about the records, about a population"):
        Candidates(records=RECORDS, answers=[], target="digit")


def test_who_knows_the_defence_defends_its_shadows(store: FolderStore, releases: ReleaseStore) -> None:
    noisy = [{"noise": {"scale": 0.5}}]
    once = given(candidates(store, defence=noisy), releases)
    often = given(candidates(store, defence=noisy, draws=64), releases)
    assert 0.4 < float(np.std(once.shadows[0])) < 0.6
    assert np.abs((once.shadows[0] - 1.0) - (once.shadows[1] - 2.0)).mean() > 0.4  # each by noise of its own
    assert float(np.std(often.shadows[0])) < 0.1
    assert (once.observed[0, :40] == 5.0).all()  # the target's answers are what they are
    again = given(candidates(store, defence=noisy), releases)
    np.testing.assert_array_equal(once.shadows, again.shadows)


def test_what_is_missing_or_does_not_fit_is_told(store: FolderStore, releases: ReleaseStore) -> None:
    short = candidates(store, answers=[[stored(store, "x", 40, 5.0)]])
    with pytest.raises(InvalidInput, match="40 answers for 60 records"):
        given(short, releases)
    lost = Shadow(data=member_of(9), records=digest("lost"))
    with pytest.raises(NotFound):
        given(candidates(store, shadows=[lost]), releases)


def test_what_a_shadow_shows_has_a_name_of_its_own_for_each_span() -> None:
    recipe = TrainingRecipe(data=DIGITS, behaviour="honest", parameters={"target": "digit"})
    assert TrainJob(recipe=recipe).identity() == recipe.digest()
    shown = {ShowJob(recipe=recipe, release="logits", span=span).identity() for span in (RECORDS, POPULATION)}
    assert len(shown | {recipe.digest()}) == 3
