"""What an attack on an attribute is given, from stored releases alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from leakrange.attacks import attacks
from leakrange.attacks.attack import Evidence
from leakrange.attacks.kinds.attribute import LEARNT, AttributeEvidence, AttributeKind, evidence_of
from leakrange.attacks.kinds.figures import PANEL
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.data import Attribute, Content, datasets, load
from leakrange.data.catalogue import GivenSet
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob, given_evidence
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput, NotFound
from leakrange.wire.samples import SampleSpec


@pytest.fixture
def half_known() -> Iterator[DataSpec]:
    """A data set of which every third colour is unknown, registered for one test."""

    class HalfKnown(GivenSet):
        name = "half-known"
        description = "noise"
        attributes = {"colour": Attribute("colour", ("red", "green", "blue"))}
        spec, source = SampleSpec.picture(16, 16, 1), "made up"

        @classmethod
        def available(cls) -> str | None:
            return None

        @classmethod
        def content(cls) -> Content:
            labels = np.resize(np.array([2, -1, 0]), 400).astype(np.int64)
            images = np.random.default_rng(0).integers(0, 256, (400, 16, 16, 1), dtype=np.uint8)
            return Content(values=images, labels={"colour": labels})

    list(datasets)
    datasets.register("half-known")(HalfKnown)
    yield DataSpec(name="half-known", auxiliary=0.5)
    del datasets._entries["half-known"]


names = itertools.count()


def stored(store: FolderStore, array: np.ndarray) -> str:
    identity = digest(["releases", next(names)])
    put_array(store, f"{identity}.npy", array.astype(np.float32))
    return identity


def given(
    releases: ReleaseStore, spec: DataSpec, auxiliary: list[list[str]], observed: list[list[str]], count: int
) -> Evidence:
    named = AttributeEvidence(
        sensitive="colour",
        auxiliary=auxiliary,
        span=Span(data=spec, split="auxiliary", start=5, stop=5 + count),
        observed=observed,
    )
    job = FitJob(attack="attribute-inference", evidence=named.model_dump(mode="json"), seed=3)
    return evidence_of(named, job, releases)


def test_samples_whose_label_is_unknown_teach_nothing(
    half_known: DataSpec, store: FolderStore, releases: ReleaseStore
) -> None:
    data = load(half_known)
    labels = data.labels["colour"][data.where("auxiliary")[5:95]][:80]
    told = np.arange(90)[:, None] * np.ones((1, 4))
    chunks = [[stored(store, told[:50])], [stored(store, told[50:])]]
    victims = stored(store, np.zeros((7, 4)))
    evidence = given(releases, half_known, chunks, [[victims]], 80)
    known = np.flatnonzero(labels >= 0)
    assert 0 < len(known) < 80
    np.testing.assert_array_equal(evidence.auxiliary[:, 0], known)
    np.testing.assert_array_equal(evidence.auxiliary_labels, labels[known])
    assert (evidence.classes, evidence.release, evidence.seed) == (3, "logits", 3)
    assert evidence.observed.shape == (7, 4)
    assert evidence.auxiliary.dtype == np.float32


def test_draws_of_a_chunk_are_averaged_and_chunks_joined(
    half_known: DataSpec, store: FolderStore, releases: ReleaseStore
) -> None:
    draws = np.random.default_rng(1).normal(size=(4, 90, 3))
    one = [stored(store, draw[:60]) for draw in draws]
    two = [stored(store, draw[60:]) for draw in draws]
    evidence = given(releases, half_known, [one, two], [two], 90)
    data = load(half_known)
    known = data.labels["colour"][data.where("auxiliary")[5:95]] >= 0
    np.testing.assert_allclose(evidence.auxiliary, draws.mean(axis=0)[known], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(evidence.observed, draws.mean(axis=0)[60:], rtol=1e-5, atol=1e-6)


def test_evidence_that_does_not_fit_together_is_refused(
    half_known: DataSpec, store: FolderStore, releases: ReleaseStore
) -> None:
    wide, narrow = stored(store, np.zeros((90, 4))), stored(store, np.zeros((90, 3)))
    short = stored(store, np.zeros((40, 4)))
    for auxiliary, told in (
        ([[short]], "40 auxiliary releases of 90"),
        ([[wide, narrow]], "draws"),
        ([[short], [narrow]], "of one shape"),
    ):
        with pytest.raises(InvalidInput, match=told):
            given(releases, half_known, auxiliary, [[wide]], 90)
    with pytest.raises(NotFound):
        given(releases, half_known, [[wide]], [[digest("nothing")]], 90)


@pytest.mark.parametrize("sensitive", ["glasses", "identity"])
def test_people_are_held_out_whole_unless_they_are_what_is_to_be_told(
    sensitive: str, store: FolderStore, releases: ReleaseStore
) -> None:
    spec = DataSpec(name="synthfaces", size=16, count=300, auxiliary=0.5)
    data = load(spec)
    records = data.where("auxiliary")
    identity = stored(store, np.zeros((len(records), 4)))
    named = AttributeEvidence(
        sensitive=sensitive,
        auxiliary=[[identity]],
        span=Span(data=spec, split="auxiliary", start=0, stop=len(records)),
        observed=[[identity]],
    )
    job = FitJob(attack="attribute-inference", evidence=named.model_dump(mode="json"))
    group = evidence_of(named, job, releases).auxiliary_group
    assert group is not None
    alike = data.labels["identity"][records] if sensitive == "glasses" else data.group[records]
    np.testing.assert_array_equal(group[:, None] == group, alike[:, None] == alike)
    assert (len(np.unique(alike)) < len(records)) == (sensitive == "glasses")


def test_what_was_learnt_is_kept_where_it_is_wanted(store: FolderStore, releases: ReleaseStore) -> None:
    spec = DataSpec(name="digits", size=16, auxiliary=0.3)
    labels = load(spec).labels["parity"][load(spec).where("auxiliary")[:60]]
    noisy = np.random.default_rng(3).normal(size=(60, 4)) + 3 * labels[:, None]
    own, users = stored(store, noisy), stored(store, noisy[::-1])
    span = Span(data=spec, split="auxiliary", start=0, stop=60)
    asked = {"sensitive": "parity", "span": span, "auxiliary": [[own]], "observed": [[users]]}
    found = {}
    for keep in (False, True):
        evidence = AttributeEvidence(**asked, keep=keep)
        job = FitJob(attack="attribute-inference", evidence=given_evidence(evidence))
        entry = attacks[job.attack]
        found[keep] = AttributeKind().infer(
            entry(entry.Parameters(sensitive="parity")), evidence, job, releases
        )
        assert ("keep" in job.evidence) is keep  # other fits are found under the name that they had
    assert {name for name in found[False] if not name.startswith(PANEL)} == {"predicted", "scores"}
    learnt = {
        name.removeprefix(LEARNT): array for name, array in found[True].items() if name.startswith(LEARNT)
    }
    again = attacks["attribute-inference"].again(learnt, noisy[::-1].astype(np.float32))
    np.testing.assert_array_equal(again.predicted, found[False]["predicted"])
