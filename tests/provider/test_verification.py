"""Verification and its gallery, against distances computed here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.metrics import unit_length
from leakrange.services.provider.main import create_provider
from leakrange.wire.pairs import joint_mark, sample_marks
from leakrange.wire.tensors import decode_npy, encode_npy
from tests.provider.conftest import OPERATOR, Provider, settings_for
from tests.provider.test_native import NPY, png, problem
from tests.provider.tiny import SHAPE
from tests.serving import serving

Pixels = NDArray[np.uint8]
VERIFICATION = "/v1/models/faces/verification"
GALLERY = "/v1/models/faces/gallery"


@pytest.fixture
def pairs() -> Pixels:
    return np.random.default_rng(1).integers(0, 256, (4, 2, *SHAPE)).astype(np.uint8)


@pytest.fixture
def faces(provider: Provider, digests: dict[str, str]) -> Provider:
    """``faces`` compares normalised vectors; nobody is enrolled."""
    provider.client.delete("/v1/operator/models/faces", headers=OPERATOR)
    told = provider.deploy("faces", digests["honest"], service="verification", normalised=True, threshold=0.2)
    assert told.status_code == 200, told.text
    return provider


def vectors(provider: Provider, digest: str, images: Pixels, normalised: bool = True) -> NDArray[np.float32]:
    raw = provider.expected(digest, images.reshape(-1, *SHAPE), "features")
    return unit_length(raw) if normalised else raw


def verify(client: httpx.Client, pairs: Pixels, **headers: str) -> httpx.Response:
    return client.post(VERIFICATION, content=encode_npy(pairs), headers=NPY | headers)


def passed(client: httpx.Client) -> float:
    """Samples that went through the net of ``faces`` so far."""
    lines = client.get("/metrics").text.splitlines()
    found = [line for line in lines if line.startswith('leakrange_provider_samples_total{model="faces"')]
    return sum(float(line.rsplit(" ", 1)[1]) for line in found)


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
@pytest.mark.parametrize("normalised", [False, True])
def test_scores_are_the_distances_of_the_vectors(
    provider: Provider, digests: dict[str, str], pairs: Pixels, distance: Any, normalised: bool
) -> None:
    found = vectors(provider, digests["honest"], pairs, normalised)
    a, b = found[::2].astype(float), found[1::2].astype(float)
    if distance == "euclidean":
        expected = np.sqrt(((a - b) ** 2).sum(axis=1))
    else:
        expected = 1 - (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    threshold = float(np.median(expected))
    options = {"normalised": normalised, "distance": distance, "threshold": threshold}
    card = provider.deploy("faces", digests["honest"], service="verification", **options).json()
    answer = verify(provider.client, pairs).json()
    assert {name: answer[name] for name in ("model", "version", "release")} == {
        "model": "faces",
        "version": card["version"],
        "release": "score",
    }
    values = np.array(answer["values"])
    assert values.shape == (4, 1)
    np.testing.assert_allclose(values[:, 0], expected, rtol=1e-3, atol=1e-5)
    assert answer["same"] == (values[:, 0] <= threshold).tolist()
    assert sorted(answer["same"]) == [False, False, True, True]
    npy = decode_npy(verify(provider.client, pairs, Accept="application/x-npy").content)
    assert npy.dtype == np.float32
    np.testing.assert_allclose(npy, values, rtol=1e-6)


def test_without_a_threshold_nothing_is_decided(
    provider: Provider, digests: dict[str, str], pairs: Pixels
) -> None:
    provider.deploy("faces", digests["honest"], service="verification").raise_for_status()
    assert "same" not in verify(provider.client, pairs).json()


def test_every_encoding_of_a_pair_gets_the_same_score(faces: Provider, pairs: Pixels) -> None:
    expected = verify(faces.client, pairs).json()
    files = [
        ("files", (f"{n}.png", png(image), "image/png")) for n, image in enumerate(pairs.reshape(-1, *SHAPE))
    ]
    floats = encode_npy(pairs.astype(np.float32) / np.float32(255))
    for answer in (
        faces.client.post(VERIFICATION, json={"pairs": pairs.tolist()}),
        faces.client.post(VERIFICATION, content=floats, headers=NPY),
        faces.client.post(VERIFICATION, files=files),
    ):
        assert answer.json() == expected


def test_an_image_that_comes_again_costs_no_pass(faces: Provider, images: Pixels) -> None:
    client = faces.client
    before = passed(client)
    couples = np.array([[0, 1], [2, 1], [3, 0], [1, 1], [4, 2]])
    scores = verify(client, images[couples]).json()["values"]
    assert passed(client) - before == len(images)
    again = verify(client, images[couples[:, ::-1]]).json()["values"]
    assert passed(client) - before == len(images)
    assert again == scores
    assert scores[3] == [0.0]


def test_what_is_kept_of_images_is_bounded(
    models_dir: Path, digests: dict[str, str], tmp_path: Path, images: Pixels
) -> None:
    app = create_provider(settings_for(models_dir, tmp_path, kept_vectors=2))
    with serving(app) as url, httpx.Client(base_url=url, timeout=120) as client:
        Provider(url, client, models_dir).deploy(
            "faces", digests["honest"], service="verification"
        ).raise_for_status()
        for expected, couple in ((2, (0, 1)), (2, (1, 0)), (4, (2, 3)), (5, (2, 4)), (6, (4, 3))):
            verify(client, images[np.array([couple])]).raise_for_status()
            assert passed(client) == expected


BAD: dict[str, tuple[str, str, dict[str, str], bytes, int, str]] = {
    "images": ("POST", VERIFICATION, NPY, encode_npy(np.zeros((2, *SHAPE), np.uint8)), 422, "invalid-input"),
    "threes": (
        "POST", VERIFICATION, NPY, encode_npy(np.zeros((2, 3, *SHAPE), np.uint8)), 422, "invalid-input"),
    "no pairs": (
        "POST", VERIFICATION, NPY, encode_npy(np.zeros((0, 2, *SHAPE), np.uint8)), 422, "invalid-input"),
    "too many": (
        "POST", VERIFICATION, NPY, encode_npy(np.zeros((257, 2, *SHAPE), np.uint8)), 413, "body-too-large"),
    "a wrong size": (
        "POST", VERIFICATION, NPY, encode_npy(np.zeros((1, 2, 8, 8, 1), np.uint8)), 422, "invalid-input"),
    "one picture": (
        "POST", VERIFICATION, {"Content-Type": "image/png"}, png(np.zeros(SHAPE, np.uint8)), 415,
        "unsupported-media-type"),
    "JSON of no pairs": (
        "POST", VERIFICATION, {"Content-Type": "application/json"}, b'{"pairs": [[1], [2]]}', 422,
        "invalid-input"),
    "JSON of images": (
        "POST", VERIFICATION, {"Content-Type": "application/json"}, b'{"inputs": [[[[1]]]]}', 422,
        "invalid-input"),
    "another parameter": (
        "POST", VERIFICATION + "?persons=ann", NPY, encode_npy(np.zeros((1, *SHAPE), np.uint8)), 422,
        "invalid-input"),
    "a stranger": (
        "POST", VERIFICATION + "?person=nobody", NPY, encode_npy(np.zeros((1, *SHAPE), np.uint8)), 404,
        "not-found"),
    "a nameless person": (
        "POST", VERIFICATION + "?person=", NPY, encode_npy(np.zeros((1, *SHAPE), np.uint8)), 422,
        "invalid-input"),
    "a name that is none": (
        "PUT", GALLERY + "/%20ann", NPY, encode_npy(np.zeros((1, *SHAPE), np.uint8)), 422, "invalid-input"),
    "a name too long": (
        "PUT", GALLERY + "/" + "a" * 129, NPY, encode_npy(np.zeros((1, *SHAPE), np.uint8)), 422,
        "invalid-input"),
    "too many images": (
        "PUT", GALLERY + "/ann", NPY, encode_npy(np.zeros((65, *SHAPE), np.uint8)), 413, "body-too-large"),
    "a pair to enrol": (
        "PUT", GALLERY + "/ann", NPY, encode_npy(np.zeros((1, 2, *SHAPE), np.uint8)), 422, "invalid-input"),
    "removing a stranger": ("DELETE", GALLERY + "/nobody", {}, b"", 404, "not-found"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_requests_are_told_what_is_wrong(faces: Provider, name: str) -> None:
    method, path, headers, body, status, slug = BAD[name]
    problem(faces.client.request(method, path, content=body, headers=headers), status, slug)
    assert faces.client.get(GALLERY).json()["persons"] == []


def test_an_odd_number_of_files_is_no_pairs(faces: Provider, images: Pixels) -> None:
    files = [("files", (f"{n}.png", png(image), "image/png")) for n, image in enumerate(images[:3])]
    problem(faces.client.post(VERIFICATION, files=files), 422, "invalid-input")


def enrol(client: httpx.Client, person: str, images: Pixels) -> httpx.Response:
    return client.put(f"{GALLERY}/{person}", content=encode_npy(images), headers=NPY)


def against(client: httpx.Client, person: str, images: Pixels) -> httpx.Response:
    return client.post(VERIFICATION, params={"person": person}, content=encode_npy(images), headers=NPY)


def test_a_person_is_the_mean_of_the_enrolled_vectors(
    faces: Provider, digests: dict[str, str], images: Pixels
) -> None:
    found = vectors(faces, digests["honest"], images)
    assert enrol(faces.client, "ann", images[:3]).json() == {"person": "ann", "images": 3}
    answer = against(faces.client, "ann", images[3:])
    expected = np.linalg.norm(found[3:] - found[:3].mean(axis=0), axis=1)
    np.testing.assert_allclose(np.array(answer.json()["values"])[:, 0], expected, rtol=1e-3, atol=1e-5)
    assert answer.json()["same"] == (np.array(answer.json()["values"])[:, 0] <= 0.2).tolist()
    assert answer.headers["X-Gallery-Mark"] == joint_mark(sample_marks(images[:3])).hex()
    # Replaced by one image: then the template is that image's own vector, and the score that of the pair.
    files = [("files", ("a.png", png(images[4]), "image/png"))]
    assert faces.client.put(f"{GALLERY}/ann", files=files).json() == {"person": "ann", "images": 1}
    pair = verify(faces.client, np.stack([images[4:], images[3:4]], axis=1)).json()
    assert against(faces.client, "ann", images[3:4]).json() == pair


def test_repeating_an_image_does_not_move_a_template(faces: Provider, images: Pixels) -> None:
    """Or every repetition would be a new person to sticky noise, and their mean the clean distance."""
    enrol(faces.client, "ann", images[:2])
    assert enrol(faces.client, "bob", images[[1, 0, 0, 1, 0]]).json()["images"] == 2
    ann, bob = (against(faces.client, person, images[2:]) for person in ("ann", "bob"))
    np.testing.assert_allclose(ann.json()["values"], bob.json()["values"], rtol=1e-5)
    assert ann.headers["X-Gallery-Mark"] == bob.headers["X-Gallery-Mark"]


def test_the_gallery_is_listed_and_persons_are_removed(faces: Provider, images: Pixels) -> None:
    for person, count in (("bob", 1), ("ann", 2)):
        enrol(faces.client, person, images[:count]).raise_for_status()
    listed = faces.client.get(GALLERY).json()
    assert listed["persons"] == [{"person": "ann", "images": 2}, {"person": "bob", "images": 1}]
    assert faces.client.delete(f"{GALLERY}/ann").status_code == 204
    assert [each["person"] for each in faces.client.get(GALLERY).json()["persons"]] == ["bob"]
    problem(against(faces.client, "ann", images), 404, "not-found")


def test_a_full_gallery_takes_nobody_but_replaces(
    models_dir: Path, digests: dict[str, str], tmp_path: Path, images: Pixels
) -> None:
    app = create_provider(settings_for(models_dir, tmp_path, gallery_persons=2))
    with serving(app) as url, httpx.Client(base_url=url, timeout=120) as client:
        Provider(url, client, models_dir).deploy(
            "faces", digests["honest"], service="verification"
        ).raise_for_status()
        for person in ("ann", "bob", "ann"):
            assert enrol(client, person, images[:1]).status_code == 200
        assert "full" in problem(enrol(client, "cyd", images[:1]), 422, "invalid-input")["detail"]


def test_a_gallery_survives_a_restart_and_a_threshold_but_not_another_model(
    models_dir: Path, digests: dict[str, str], tmp_path: Path, images: Pixels
) -> None:
    def deploy(client: httpx.Client, name: str, **options: Any) -> None:
        made = Provider(str(client.base_url), client, models_dir)
        made.deploy("faces", digests[name], service="verification", **options).raise_for_status()

    def persons(client: httpx.Client) -> list[str]:
        return [each["person"] for each in client.get(GALLERY).json()["persons"]]

    with (
        serving(create_provider(settings_for(models_dir, tmp_path))) as url,
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        deploy(client, "honest")
        enrol(client, "ann", images[:2]).raise_for_status()
        before = against(client, "ann", images)
    assert images[:2].tobytes() not in (tmp_path / "provider.sqlite").read_bytes()
    with (
        serving(create_provider(settings_for(models_dir, tmp_path))) as url,
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        after = against(client, "ann", images)
        np.testing.assert_allclose(after.json()["values"], before.json()["values"], rtol=1e-4, atol=1e-6)
        assert after.headers["X-Gallery-Mark"] == before.headers["X-Gallery-Mark"]
        deploy(client, "honest", threshold=0.5, distance="cosine")
        assert persons(client) == ["ann"]
        deploy(client, "honest", normalised=True)
        assert persons(client) == []
        enrol(client, "bob", images[:2]).raise_for_status()
        deploy(client, "other", normalised=True)
        assert persons(client) == []
        enrol(client, "cyd", images[:2]).raise_for_status()
        client.delete("/v1/operator/models/faces", headers=OPERATOR).raise_for_status()
        deploy(client, "other", normalised=True)
        assert persons(client) == []
