"""What an attack on a training set's share is given from stored releases, and how it is judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.attacks.distribution import ShareEvidence
from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.distribution import DistributionKind, ShareQuestion
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.trial import Uploaded
from leakrange.data import load
from leakrange.jobs.recipe import Composition, DataSpec, TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput
from tests.attacks.kinds.ready import MadeUp, MadeUpModel, judged_by

DATA = DataSpec(
    name="synthtable",
    count=400,
    auxiliary=0.5,
    composition=Composition(attribute="group", having="south", samples=40, share=0.75),
)
EVERYONE = DATA.of_everyone()
RECORDS = Span(data=EVERYONE, split="population", start=0, stop=60)


class Seen:
    """An attack that keeps what it is given, and estimates a share."""

    def score(self, evidence: ShareEvidence) -> NDArray[np.float64]:
        self.evidence = evidence
        return np.arange(len(evidence.observed)) - 1.5

    def estimate(self, evidence: ShareEvidence) -> NDArray[np.float64]:
        return np.linspace(0, 1, len(evidence.observed))


def stored(store: FolderStore, value: float, rows: int = 80) -> str:
    identity = digest([value, rows])
    put_array(store, f"{identity}.npy", np.full((rows, 2), value, dtype=np.float32))
    return identity


def question(store: FolderStore, **changes: Any) -> ShareQuestion:
    asked = ShareQuestion(
        records=RECORDS,
        answers=[[stored(store, 0.1, 40)], [stored(store, 0.2, 20)]],
        target="passes",
        shares=[0.25, 0.5, 0.75],
        shadows=[[stored(store, 1.0)], [stored(store, 1.5)], [stored(store, 2.0)]],
        stand_ins=[[stored(store, 3.0)], [stored(store, 3.5)], [stored(store, 4.0)]],
    )
    return asked.model_copy(update=changes)


def given(asked: ShareQuestion, releases: ReleaseStore) -> tuple[ShareEvidence, dict[str, NDArray[Any]]]:
    seen = Seen()
    job = FitJob(attack="kl-test", release="softmax", evidence={})
    arrays = DistributionKind().infer(seen, asked, job, releases)
    return seen.evidence, arrays


def test_the_model_asked_comes_first_and_shadows_stand_at_their_share(
    store: FolderStore, releases: ReleaseStore
) -> None:
    evidence, arrays = given(question(store), releases)
    data = load(EVERYONE)
    rows = data.where("population")[:60]
    assert evidence.observed[:, 0, 0].tolist() == pytest.approx([0.1, 3.0, 3.5, 4.0])
    assert evidence.observed[:, -1, 0].tolist() == pytest.approx([0.2, 3.0, 3.5, 4.0])
    assert evidence.shadows[:, 0, 0].tolist() == [1.0, 1.5, 2.0]
    assert evidence.place.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(evidence.labels, data.labels["passes"][rows])
    np.testing.assert_array_equal(evidence.having, data.labels["group"][rows] == 1)
    assert arrays["scores"].tolist() == [-1.5, -0.5, 0.5, 1.5]
    assert len(arrays["estimates"]) == 4


def test_stand_ins_are_defended_by_the_policy_and_shadows_as_far_as_it_is_known(
    store: FolderStore, releases: ReleaseStore
) -> None:
    noisy = [{"noise": {"scale": 0.5}}]
    evidence, _ = given(question(store, policy=noisy), releases)
    assert np.ptp(evidence.shadows[0]) == 0.0
    assert 0.3 < evidence.observed[1].std() < 0.7
    assert np.ptp(evidence.observed[0, :40]) == 0.0  # what the API answered is what it is
    aware, _ = given(question(store, policy=noisy, known=noisy, draws=32), releases)
    assert 0 < aware.shadows[0].std() < 0.2
    noise = [aware.shadows[0] - 1.0, aware.observed[1] - 3.0]
    assert abs(np.corrcoef(*(each.ravel() for each in noise))[0, 1]) < 0.4


def test_releases_that_do_not_fit_are_told(store: FolderStore, releases: ReleaseStore) -> None:
    short = [[stored(store, 3.0, 59)], [stored(store, 3.5)], [stored(store, 4.0)]]
    with pytest.raises(InvalidInput, match=r"a model's releases are \(59, 2\), the target's \(60, 2\)"):
        given(question(store, stand_ins=short), releases)
    elsewhere = RECORDS.model_copy(
        update={"data": EVERYONE.model_copy(update={"composition": None}), "split": "auxiliary"}
    )
    with pytest.raises(InvalidInput, match="without a composition"):
        given(question(store, records=elsewhere), releases)


def judged(scores: list[float], share: float | None, shares: list[float], **found: Any) -> dict[str, float]:
    composition = Composition(attribute="group", having="south", samples=40, share=share)
    data = DATA.model_copy(update={"composition": composition})
    recipe = TrainingRecipe(data=data, behaviour="honest", parameters={"target": "passes"})
    asked = {"records": RECORDS.model_dump(mode="json"), "shown": RECORDS.model_dump(mode="json")}
    own = [f"{what}{number}" for what in ("shadow", "stand-in") for number in range(2 * len(shares))]
    trial = MadeUp(
        parameters={"shares": shares, "stand_ins": 2, "shadows": 2},
        needs=Needs(probes={"records": ["one", "two"]}, shadows=own, asked=asked),
        model=MadeUpModel(recipe, target="passes"),
        uploaded=Uploaded([{"passes": [0, 1, 1]}], np.array([0, 1, 0]), None),
        probes={"records": [["a", "b"]]},
        found={"scores": np.array(scores, np.float32), **found},
    )
    result = judged_by(DistributionKind(), trial)
    assert result.spent == 120
    assert isinstance(trial.evidence, ShareQuestion)
    assert trial.evidence.shadows[0] == ["shadow0 on population", "shadow1 on population"]
    assert trial.evidence.stand_ins[-1][-1] == f"stand-in{2 * len(shares) - 1} on population"
    assert trial.evidence.draws == 2
    return {name: each.value for name, each in result.metrics.items()} | {"victims": float(result.victims)}


def test_models_of_either_share_are_judged_with_the_one_that_was_asked() -> None:
    figures = judged([0.5, -2.0, 0.1, -3.0, 2.0], 0.75, [0.25, 0.75])
    assert figures["auc"] == pytest.approx(4 / 6)
    assert figures["curiosity"] == 3 / 5
    assert figures["honesty"] == pytest.approx(2 / 3)
    assert (figures["served_right"], figures["served_rank"], figures["victims"]) == (1.0, 0.5, 5.0)
    assert "share_error" not in figures


def test_a_model_of_a_share_between_is_judged_by_its_estimate_alone() -> None:
    estimates = np.array([0.4, 0.2, 0.3, 0.5, 0.5, 0.8, 0.8])
    figures = judged([9.0, -1, -1, 5, 5, 1, 1], 0.5, [0.25, 0.5, 0.75], estimates=estimates)
    assert (figures["auc"], figures["served_rank"], figures["victims"]) == (1.0, 1.0, 4.0)
    assert "served_right" not in figures
    assert figures["served_share"] == pytest.approx(0.4)
    assert figures["share_error"] == pytest.approx(0.05 * np.sqrt(4 / 6))


@pytest.mark.parametrize(("share", "shares"), [(0.5, [0.5, 0.5]), (None, [0.25, 0.75])])
def test_of_equal_shares_and_of_one_that_is_not_told_no_choice_is_right(
    share: float | None, shares: list[float]
) -> None:
    figures = judged([0.5, -2.0, 0.1, -3.0, 2.0], share, shares)
    assert "served_right" not in figures
    assert figures["victims"] == 4.0
    assert ("served_rank" in figures) == (share is not None)
    assert ("leaked_records" in figures) == (share is None)
