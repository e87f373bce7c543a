"""Substitutes are judged against the record of the training that chose them."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.kinds import substitutes as module
from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.substitutes import Observed, SubstitutesKind
from leakrange.attacks.kinds.trial import Fit, Fitted, Uploaded
from leakrange.data import Samples, load
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import Estimate
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.digests import digest
from leakrange.wire.errors import LeakrangeError
from tests.attacks.kinds.ready import MadeUp, MadeUpModel, judged_by

DATA = DataSpec(name="digits", size=16, auxiliary=0.3, limit=200)
DIGITS = load(DATA)
LABELLED = DIGITS.known("train", ["slant", "digit"])
CHOSEN = list(range(3, 90, 2))
OUTSIDE = len(DIGITS.where("validation")) + len(DIGITS.where("auxiliary"))
RECORD: dict[str, Any] = {
    "recipe": {"parameters": {"private": "slant", "useful": ["digit"]}},
    "substitutes": CHOSEN,
}


def stored(store: FolderStore, samples: NDArray[Any]) -> str:
    identity = digest(["substitutes", samples.tobytes().hex()])
    put_array(store, f"{identity}.npy", samples.astype(np.float32))
    return identity


def drawn(count: int, seed: int, places: list[int] = CHOSEN) -> NDArray[np.int64]:
    """Which samples of the data stand in for so many users."""
    return LABELLED[np.random.default_rng(seed).choice(places, count)]


def judged(
    store: FolderStore,
    releases: ReleaseStore,
    shown: NDArray[Any],
    name: str = "substitute-margin",
    **more: Any,
) -> tuple[dict[str, Estimate], int]:
    """The figures of a trial in which users upload that in place of their samples, and what it cost."""
    own = more.pop("own", np.empty((0, *DIGITS.spec.shape)))
    users = len(shown)
    trial = MadeUp(
        budget=more.pop("budget", users),
        model=MadeUpModel(recipe=TrainingRecipe(data=DATA, behaviour="honest"), release="sample"),
        uploaded=Uploaded([{"y": [0] * users}], np.arange(users) % 2, None),
        observed=[[stored(store, shown[:40])], [stored(store, shown[40:])]],
        probes={"own": [[stored(store, own)]]} if len(own) else {},
        needs=Needs(streams=["u"], asked={"own": more.pop("drawn", len(own))}),
        trained_for_defence=more.pop("records", [RECORD]),
    )
    assert not more

    def fit(given: Fit) -> Fitted:
        evidence = Observed.model_validate(given.evidence.model_dump(mode="json"))
        job = FitJob(attack=name, evidence={})
        trial.found = SubstitutesKind().infer(attacks[name](), evidence, job, releases)
        return MadeUp.fit(trial, given)

    trial.fit = fit  # type: ignore[method-assign]
    found = judged_by(SubstitutesKind(), trial)
    return found.metrics, found.spent


@pytest.mark.parametrize("name", ["substitute-distance", "substitute-margin"])
def test_substitutes_that_were_sent_are_told_from_all_other_records(
    name: str, store: FolderStore, releases: ReleaseStore
) -> None:
    shown = drawn(300, seed=1)
    metrics, spent = judged(store, releases, DIGITS.values[shown], name)
    different = np.unique(DIGITS.values[np.concatenate([LABELLED, _outside()])], axis=0)
    assert metrics["records"].value == len(different)
    assert metrics["auc"].value > 0.99
    assert metrics["tpr_at_001"].value > 0.95
    assert (spent, metrics["honesty"].value) == (300, 0.5)
    counts = np.unique(shown, return_counts=True)[1]
    assert metrics["support"].value == len(counts)
    assert metrics["most_used"].value == counts.max() / 300


def test_substitutes_from_elsewhere_betray_nobody(store: FolderStore, releases: ReleaseStore) -> None:
    """Of users' own samples, say, of which none is a candidate."""
    shown = DIGITS.values[DIGITS.where("test")[:200]]
    for name in ("substitute-distance", "substitute-margin"):
        metrics, _ = judged(store, releases, shown, name)
        assert 0.4 < metrics["auc"].value < 0.6


def test_a_budget_limits_the_uploads_that_are_seen_and_a_device_shows_more(
    store: FolderStore, releases: ReleaseStore
) -> None:
    shown = DIGITS.values[drawn(300, seed=1)]
    few, spent = judged(store, releases, shown, budget=12)
    assert (few["support"].value, spent) == (len(np.unique(shown[:12], axis=0)), 12)
    more, spent = judged(store, releases, shown, budget=12, own=shown[100:200], drawn=60)
    assert (more["support"].value, spent) == (few["support"].value, 72)  # of users' uploads alone
    sent = len(np.unique(shown[[*range(12), *range(100, 160)]], axis=0)) / len(CHOSEN)
    assert few["auc"].value < 0.8
    assert more["tpr_at_001"].value == pytest.approx(sent, abs=0.03)
    assert more["auc"].value > few["auc"].value + 0.1


def test_equal_records_are_one_and_a_copy_of_a_substitute_is_a_substitute(
    store: FolderStore, releases: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = DIGITS.values.copy()
    outside = _outside()
    values[outside[:5]] = values[LABELLED[CHOSEN[:5]]]  # of substitutes
    values[outside[5:8]] = values[outside[8]]  # of each other
    copies = replace(DIGITS, values=values)
    monkeypatch.setattr(module, "load", lambda _: copies)
    before, _ = judged(store, releases, DIGITS.values[drawn(300, seed=1)])
    different = np.unique(values[np.concatenate([LABELLED, outside])], axis=0)
    assert before["records"].value == len(different) < len(LABELLED) + OUTSIDE - 7
    assert before["auc"].value > 0.99
    assert before["support"].value == len(np.unique(drawn(300, seed=1)))


def test_places_are_those_among_samples_whose_labels_are_all_known(
    store: FolderStore, releases: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = DIGITS.labels["slant"].copy()
    unknown[LABELLED[::4]] = -1
    partly: Samples = replace(DIGITS, labels=MappingProxyType({**DIGITS.labels, "slant": unknown}))
    monkeypatch.setattr(module, "load", lambda _: partly)
    known = partly.known("train", ["slant", "digit"])
    shown = DIGITS.values[known[np.random.default_rng(3).choice(CHOSEN, 300)]]
    metrics, _ = judged(store, releases, shown)
    assert metrics["auc"].value > 0.99


def test_the_last_record_that_tells_of_substitutes_counts_and_one_is_needed(
    store: FolderStore, releases: ReleaseStore
) -> None:
    shown = DIGITS.values[drawn(300, seed=1)]
    other = {**RECORD, "substitutes": list(range(100, 120))}
    metrics, _ = judged(store, releases, shown, records=[other, RECORD, {"figures": {}}])
    assert metrics["auc"].value > 0.99
    with pytest.raises(LeakrangeError, match="which samples became substitutes"):
        judged(store, releases, shown, records=[{"figures": {}}])
    with pytest.raises(LeakrangeError, match=r"1 of .* are substitutes"):
        judged(store, releases, shown, records=[{**RECORD, "substitutes": [2]}])


def _outside() -> NDArray[np.int64]:
    return np.concatenate([DIGITS.where("validation"), DIGITS.where("auxiliary")])
