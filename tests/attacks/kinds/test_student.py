"""The fleet plays a user: a job's answers teach a student, which is used on the victims' samples."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.attacks import attacks
from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds import kind_of
from leakrange.attacks.kinds.decoder import StudentEvidence, cut_anew
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.data import load
from leakrange.jobs.recipe import DataSpec, NetSpec
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import auc
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput, NotFound

DIGITS = DataSpec(name="digits", size=16, auxiliary=0.3)
NUMBER = 300
OWN = Span(data=DIGITS, split="auxiliary", start=0, stop=NUMBER)
VICTIMS = [
    Span(data=DIGITS, split="test", start=0, stop=100),
    Span(data=DIGITS, split="test", start=100, stop=150),
]


OWN_RECORDS = Span(data=DIGITS, split="train", start=0, stop=80)


def answers_of(split: str, start: int, stop: int) -> np.ndarray:
    """A teacher that is nine tenths sure of the parity."""
    data = load(DIGITS)
    parity = data.labels["parity"][data.where(split)[start:stop]]
    return np.where(np.arange(2) == parity[:, None], 0.9, 0.1).astype(np.float32)


def evidence(store: FolderStore, **changes: object) -> StudentEvidence:
    """The user asked about the first 320 of its records, in two chunks, and may use 300."""
    chunks = []
    for start, stop in ((0, 200), (200, 320)):
        identity = digest(["answers", start])
        put_array(store, f"{identity}.npy", answers_of("auxiliary", start, stop))
        chunks.append([identity])
    fields: dict[str, object] = {
        "teacher": NetSpec(width=0.5),
        "answered": [{"span": OWN, "answers": chunks}],
        "victims": VICTIMS,
        "own": OWN_RECORDS,
        "hidden": "large",
    }
    return StudentEvidence.model_validate(fields | changes)


def told(evidence: StudentEvidence, releases: ReleaseStore, **parameters: object) -> dict[str, np.ndarray]:
    attack = attacks["distillation"]
    job = FitJob(attack="distillation", release="softmax", evidence=evidence.model_dump(mode="json"))
    chosen = attack.Parameters.model_validate({"epochs": 15, "width": 0.5, **parameters})
    return kind_of(attack).infer(attack(chosen), evidence, job, releases)


def soft_outputs(evidence: StudentEvidence, releases: ReleaseStore) -> np.ndarray:
    return told(evidence, releases)["scores"]


def test_the_student_answers_for_the_victims_in_order(store: FolderStore, releases: ReleaseStore) -> None:
    soft = soft_outputs(evidence(store), releases)
    assert (soft.shape, soft.dtype) == ((150, 2), np.float32)
    np.testing.assert_allclose(soft.sum(axis=1), 1.0, atol=1e-5)
    teacher = answers_of("test", 0, 150)
    assert (soft.argmax(axis=1) == teacher.argmax(axis=1)).mean() > 0.85
    assert 0.7 < soft.max(axis=1).mean() < 0.97  # as sure as the teacher, and no surer


def test_answers_that_are_missing_or_too_few_are_told(store: FolderStore, releases: ReleaseStore) -> None:
    def answered_by(chunks: list[list[str]]) -> StudentEvidence:
        return evidence(store, answered=[{"span": OWN, "answers": chunks}])

    with pytest.raises(NotFound):
        soft_outputs(answered_by([[digest("nothing")]]), releases)
    with pytest.raises(InvalidInput, match="learns from"):
        soft_outputs(answered_by([[digest(["answers", 0])]]), releases)


def test_a_provider_that_runs_the_student_has_its_outputs_for_records_of_its_own(
    store: FolderStore, releases: ReleaseStore
) -> None:
    asked = evidence(store)
    plain, more = (told(asked, releases, threshold=where) for where in ("teacher", "records"))
    data = load(DIGITS)
    own = data.where("train")[:80]
    np.testing.assert_array_equal(more["own"], data.labels["large"][own])
    assert len(more["scores"]) == len(plain["scores"]) + 80
    np.testing.assert_array_equal(more["scores"][:150], plain["scores"])  # the same student
    parity = data.labels["parity"][own]
    assert (more["scores"][150:].argmax(axis=1) == parity).mean() > 0.85


def test_a_stale_threshold_is_cut_anew() -> None:
    """Entropies of a student are lower than its teacher's: by the old cut nobody has class 1."""
    rng = np.random.default_rng(0)
    s, own = rng.random(600) < 0.3, rng.random(400) < 0.3
    excess = rng.normal(size=1000) + 4.0 * np.concatenate([s, own]) - 6.0
    scores = np.stack([-excess, excess], axis=1).astype(np.float32)
    stale = (excess[:600] > 0).astype(int)
    assert (stale == s).mean() < 0.75
    by_records = cut_anew(Inference((excess > 0).astype(int), scores), 600, own.astype(int))
    by_shares = cut_anew(Inference(stale, scores[:600]), 600, own.astype(int))
    for found in (by_records, by_shares):
        assert (found.predicted == s).mean() > 0.94  # of the best cut .98
        np.testing.assert_array_equal(found.predicted, found.scores.argmax(axis=1))
        assert auc(found.scores[:, 1], s) == pytest.approx(auc(excess[:600], s))
    assert by_shares.predicted.mean() == pytest.approx(own.mean(), abs=0.002)


def test_the_cut_by_records_finds_a_rare_class() -> None:
    """Of twenty one has it: to say it of nobody is right in 95 of 100, and tells nothing."""
    rng = np.random.default_rng(1)
    hidden, own = rng.random(4000) < 0.05, rng.random(1500) < 0.05
    excess = rng.normal(size=5500) + 1.2 * np.concatenate([hidden, own]) + 3.0
    scores = np.stack([-excess, excess], axis=1).astype(np.float32)
    cut = cut_anew(Inference((excess > 0).astype(int), scores), 4000, own.astype(int))
    assert (cut.predicted[hidden] == 1).mean() > 0.6  # of the best cut .73
    assert (cut.predicted[~hidden] == 0).mean() > 0.6
