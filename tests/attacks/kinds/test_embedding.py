"""Users' features and samples in a plane: for trials whose devices release features, and for no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.attribute import AttributeEvidence
from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.figures import embeddings, first_users, viewed_embeddings
from leakrange.attacks.kinds.trial import Uploaded
from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import given_evidence
from leakrange.metrics.embedding import MOST, embedded
from leakrange.nets.classifier import to_input
from leakrange.store.files import FolderStore
from leakrange.store.releases import StoredReleases
from leakrange.wire.errors import InvalidInput
from tests.attacks.kinds.ready import MadeUp, MadeUpModel, judged_by

DIGITS = DataSpec(name="digits")
USERS = [Span(data=DIGITS, split="test", start=at, stop=stop) for at, stop in ((0, 30), (30, 55))]


@pytest.fixture
def store(tmp_path: Path) -> StoredReleases:
    return StoredReleases(FolderStore(tmp_path))


def features(count: int = 55) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, 6)).astype(np.float32)


def test_features_and_samples_of_the_same_users_are_placed(store: StoredReleases) -> None:
    found = embeddings(USERS, [["a"], ["b"]], features(), store)
    assert {name: plane.shape for name, plane in found.items()} == {"released": (55, 2), "samples": (55, 2)}
    data = load(DIGITS)
    inputs = to_input(torch.from_numpy(data.values[data.where("test")[:55]]), data.spec)
    np.testing.assert_array_equal(found["samples"], embedded(inputs.numpy(), seed=0))
    np.testing.assert_array_equal(found["released"], embedded(features(), seed=0))


def test_a_plane_is_made_once_for_all_attacks(store: StoredReleases) -> None:
    first = embeddings(USERS, [["a"], ["b"]], features(), store)
    again = embeddings(USERS, [["a"], ["b"]], features()[::-1], store)  # what is stored is not made again
    other = embeddings(USERS, [["a"], ["c"]], features()[::-1], store)
    np.testing.assert_array_equal(first["released"], again["released"])
    assert (first["released"] != other["released"]).any()
    np.testing.assert_array_equal(first["samples"], other["samples"])


def test_releases_without_a_difference_leave_the_samples_alone_in_the_picture(store: StoredReleases) -> None:
    found = embeddings(USERS, [["a"]], np.ones((55, 6), np.float32), store)
    assert set(found) == {"samples"}
    assert viewed_embeddings(found, np.zeros(55, int)) == {}


def test_users_whose_samples_are_missing_are_told(store: StoredReleases) -> None:
    with pytest.raises(InvalidInput, match="55 releases of 30 users"):
        embeddings(USERS[:1], [["a"]], features(), store)


def test_the_first_sessions_alone_are_shown() -> None:
    sessions = [Span(data=DIGITS, split="test", start=at, stop=at + 150) for at in range(0, 600, 150)]
    shown = first_users(MadeUp(users=sessions, model=MadeUpModel(release="features")))
    assert shown == sessions[:3]
    assert sum(span.stop - span.start for span in shown) >= MOST
    assert first_users(MadeUp(users=sessions, model=MadeUpModel(release="logits"))) == []


def test_the_view_leaves_out_whom_nothing_is_known_of() -> None:
    planes = {"released": np.array([[0.123456, 1.0], [2.0, 3.0], [4.0, 5.0]]), "samples": np.ones((3, 2))}
    view = viewed_embeddings(planes, np.array([1, -1, 0, 1]))["embedding"]
    assert view == {"classes": [1, 0], "released": [[0.12, 1.0], [4.0, 5.0]], "samples": [[1.0, 1.0]] * 2}
    assert viewed_embeddings({}, np.array([1, 0])) == {}


def test_fits_that_draw_nothing_are_named_as_before() -> None:
    span = Span(data=DIGITS, split="auxiliary", start=0, stop=30)
    told = {
        "sensitive": "loop",
        "span": span.model_dump(mode="json"),
        "auxiliary": [["a"]],
        "observed": [["b"]],
    }
    plain = AttributeEvidence.model_validate(told)
    assert given_evidence(plain) == told
    drawn = given_evidence(plain.model_copy(update={"users": USERS}))
    assert drawn == told | {"users": [each.model_dump(mode="json") for each in USERS]}
    assert AttributeEvidence.model_validate(drawn).users == USERS


def test_a_judged_trial_shows_the_planes_that_the_fleet_found() -> None:
    span = Span(data=DIGITS, split="auxiliary", start=0, stop=50)
    labels = {"y": [0, 1, 0], "s": [1, -1, 0]}
    trial = MadeUp(
        uploaded=Uploaded([labels], np.zeros(3, int), None),
        model=MadeUpModel(release="features"),
        users=USERS,
        needs=Needs(probes={"auxiliary": ["q"]}, asked={"span": span.model_dump(mode="json")}),
        probes={"auxiliary": [["a"]]},
        observed=[["c"]],
        found={
            "predicted": np.array([1, 0, 0]),
            "scores": np.eye(2, dtype=np.float32)[[1, 0, 0]],
            "released": np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]),
        },
    )
    judged = judged_by(kinds["attribute"](), trial)
    assert judged.views["embedding"] == {"classes": [1, 0], "released": [[0.0, 1.0], [4.0, 5.0]]}
    assert "confusion" in judged.views
    assert trial.evidence is not None
    assert trial.evidence.model_dump(mode="json")["users"] == [span.model_dump(mode="json") for span in USERS]
