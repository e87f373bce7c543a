"""Student services: what each answers, and that nothing of its teacher is reached through it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.services.provider.main import create_provider
from leakrange.wire.schemas import Deployment, ModelCard
from leakrange.wire.tensors import encode_npy
from tests.provider.conftest import Provider, settings_for
from tests.provider.test_native import NPY, problem
from tests.provider.test_verification import passed
from tests.provider.tiny import CLASSES
from tests.serving import serving

Pixels = NDArray[np.uint8]
SERVICES = {
    "features": {"normalised": True},
    "verification": {"normalised": True, "distance": "cosine", "threshold": 0.4},
    "recognition": {},
}
OWN = {"features": {"features"}, "verification": {"verification", "gallery"}, "recognition": {"recognition"}}
RELEASED = {"features": "features", "verification": "score", "recognition": "softmax"}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_answers_its_own_endpoints_and_names_them(
    provider: Provider, digests: dict[str, str], images: Pixels, service: str
) -> None:
    provider.deploy(service, digests["net"], service=service, **SERVICES[service]).raise_for_status()
    pairs = encode_npy(np.stack([images[:2], images[1:3]], axis=1))
    bodies = {"verification": pairs, "outputs": encode_npy(np.zeros((1, 3), np.float32))}
    endpoints = ("logits", "softmax", "features", "verification", "recognition", "outputs")
    answers = {
        endpoint: provider.client.post(
            f"/v1/models/{service}/{endpoint}",
            content=bodies.get(endpoint, encode_npy(images)),
            headers=NPY | {"X-Release": "logits"},
        )
        for endpoint in endpoints
    }
    for endpoint in ("artifact", "gallery"):
        answers[endpoint] = provider.client.get(f"/v1/models/{service}/{endpoint}")
    for endpoint, answer in answers.items():
        if endpoint in OWN[service]:
            assert answer.status_code == 200, answer.text
        else:
            told = problem(answer, 404, "not-found")
            assert told["hint"].endswith(f"answers: {', '.join(sorted(OWN[service], reverse=True))}")


@pytest.mark.parametrize("service", SERVICES)
def test_a_card_gives_nothing_of_the_teacher_away(
    provider: Provider, digests: dict[str, str], service: str
) -> None:
    told = provider.deploy(service, digests["net"], service=service, **SERVICES[service])
    card = ModelCard.model_validate(told.json())
    assert provider.client.get(f"/v1/models/{service}").json() == told.json()
    assert card.service == service
    assert card.releases == [RELEASED[service]]
    assert card.default_release == RELEASED[service]
    assert (card.sha256, card.parameters) == ("", 0)
    assert (card.features > 0) == (service == "features")
    if service == "recognition":  # the student's own identities
        assert (card.task, tuple(card.classes)) == ("digit", CLASSES)
    else:
        assert (card.task, card.classes) == (service, [])
        assert not any(name in told.text for name in ("zero", "digit"))
    for name, value in SERVICES[service].items():
        assert getattr(card, name) == value


@pytest.mark.parametrize("normalised", [False, True])
def test_features_are_the_teachers_vectors(
    provider: Provider, digests: dict[str, str], images: Pixels, normalised: bool
) -> None:
    provider.deploy("f", digests["honest"], service="features", normalised=normalised).raise_for_status()
    answer = provider.client.post("/v1/models/f/features", content=encode_npy(images), headers=NPY)
    expected = provider.expected(digests["honest"], images, "features")
    if normalised:
        expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(np.array(answer.json()["values"]), expected, rtol=1e-4, atol=1e-6)
    assert answer.json()["release"] == "features"


def test_a_recognition_is_the_confidence_in_each_class(
    provider: Provider, digests: dict[str, str], images: Pixels
) -> None:
    provider.deploy("r", digests["honest"], service="recognition").raise_for_status()
    answer = provider.client.post("/v1/models/r/recognition", content=encode_npy(images), headers=NPY)
    expected = provider.expected(digests["honest"], images, "softmax")
    np.testing.assert_allclose(np.array(answer.json()["values"]), expected, rtol=1e-4, atol=1e-6)
    assert answer.json()["release"] == "softmax"


@pytest.mark.parametrize("service", ["features", "recognition"])
def test_what_was_asked_before_costs_no_pass(
    provider: Provider, digests: dict[str, str], images: Pixels, service: str
) -> None:
    provider.deploy("faces", digests["honest"], service=service).raise_for_status()
    before = passed(provider.client)
    path = f"/v1/models/faces/{service}"
    first = provider.client.post(path, content=encode_npy(images), headers=NPY).json()["values"]
    turned = provider.client.post(path, content=encode_npy(images[::-1].copy()), headers=NPY).json()["values"]
    assert passed(provider.client) - before == len(images)
    assert turned == first[::-1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"service": "classifier", "threshold": 1.0},
        {"service": "recognition", "normalised": True},
        {"service": "features", "distance": "cosine"},
        {"service": "verification", "threshold": -1.0},
        {"service": "verification", "distance": "manhattan"},
        {"service": "teacher"},
    ],
)
def test_options_that_mean_nothing_are_refused(
    provider: Provider, digests: dict[str, str], wrong: dict[str, Any]
) -> None:
    problem(provider.deploy("wrong", digests["honest"], **wrong), 422, "invalid-input")
    problem(provider.client.get("/v1/models/wrong"), 404, "unknown-model")


def test_services_are_served_again_after_a_restart(
    models_dir: Path, digests: dict[str, str], tmp_path: Path
) -> None:
    with (
        serving(create_provider(settings_for(models_dir, tmp_path))) as url,
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        made = Provider(url, client, models_dir)
        for service, options in SERVICES.items():
            made.deploy(service, digests["honest"], service=service, **options).raise_for_status()
        cards = client.get("/v1/models").json()
    with serving(create_provider(settings_for(models_dir, tmp_path))) as url:
        assert httpx.get(f"{url}/v1/models", timeout=120).json() == cards
        assert len(cards["models"]) == 3


def test_a_file_of_an_earlier_version_is_read(
    models_dir: Path, digests: dict[str, str], tmp_path: Path
) -> None:
    """One from before there were services, and one with a deployment that nobody understands."""
    with sqlite3.connect(tmp_path / "provider.sqlite") as old:
        old.execute(
            "create table deployments (model text primary key, artifact text not null, release text not null)"
            " without rowid"
        )
        old.execute("insert into deployments values ('kept', ?, 'softmax')", (digests["honest"],))
        old.execute("insert into deployments values ('odd', 'no digest', 'softmax')")
    old.close()
    with serving(create_provider(settings_for(models_dir, tmp_path))) as url:
        cards = httpx.get(f"{url}/v1/models", timeout=120).json()["models"]
        assert [(card["name"], card["service"], card["default_release"]) for card in cards] == [
            ("kept", "classifier", "softmax")
        ]


def test_deployments_are_told_apart_by_what_decides_their_answers() -> None:
    artifact = "a" * 64
    plain = Deployment(artifact=artifact)
    assert plain.answers() == Deployment(artifact=artifact, release="softmax").answers() == artifact
    raw, scaled = (
        Deployment(artifact=artifact, service="features", normalised=normalised)
        for normalised in (False, True)
    )
    assert len({plain.answers(), raw.answers(), scaled.answers()}) == 3
    faces = [Deployment(artifact=artifact, service="verification", threshold=t) for t in (None, 1.2)]
    assert faces[0].answers() == faces[1].answers()
