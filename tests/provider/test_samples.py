"""A provider serves models of rows, series, vectors and pictures alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from leakrange.jobs.recipe import DataSpec, NetSpec, TrainingRecipe
from leakrange.nets import nets
from leakrange.providers import artifact
from leakrange.providers.training import TrainedModel
from leakrange.wire.rows import CSV
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import ModelCard
from leakrange.wire.tensors import JSON, NPY, encode_npy
from tests.provider.conftest import Provider
from tests.provider.tiny import CLASSES
from tests.wire.test_codecs import as_csv, as_json, as_wav
from tests.wire.test_pictures import file, multipart

COLUMNS = ("age", "hours", "gain")
SPECS = {
    "table": SampleSpec(
        encoding="table",
        shape=(3,),
        dtype="float32",
        columns=COLUMNS,
        scale=(10.0, 20.0, 5000.0),
        offset=(-4.0, -2.0, 0.0),
    ),
    "vector": SampleSpec(encoding="vector", shape=(2,), dtype="uint8", scale=127.5, offset=-1.0),
    "series": SampleSpec(encoding="series", shape=(20, 2), dtype="float32", rate=8000.0),
    "picture": SampleSpec.picture(4, 5, 3),
}


def drawn(spec: SampleSpec, count: int = 3) -> NDArray[Any]:
    values = np.random.default_rng(0).uniform(-1, 1, (count, *spec.shape)).astype(np.float32)
    if spec.dtype == "uint8":
        return (127.5 * (values + 1)).astype(np.uint8)
    return values if spec.encoding == "series" else 50 * values


def bodies(spec: SampleSpec, samples: NDArray[Any]) -> list[tuple[str, bytes]]:
    every = [(NPY, encode_npy(samples)), (JSON, as_json(samples))]
    if spec.encoding == "series":
        return [*every, multipart([as_wav(each) for each in samples])]
    if spec.encoding == "picture":
        return [*every, multipart([file(each) for each in samples])]
    return [*every, (CSV, as_csv(samples, spec.columns or ("0", "1")))]


def save(root: Path, encoding: str) -> str:
    """An untrained linear model of such samples; gives its digest."""
    seed = sorted(SPECS).index(encoding)
    torch.manual_seed(seed)
    recipe = TrainingRecipe(
        data=DataSpec(name="digits"),
        behaviour="honest",
        parameters={"target": "digit"},
        net=NetSpec(name="linear"),
        seed=100 + seed,
    )
    net = nets["linear"].build(SPECS[encoding], len(CLASSES)).eval()
    return artifact.save(root, TrainedModel(recipe, net, None, [], {}, 0, CLASSES, "logits", 0.0)).name


@pytest.fixture(params=sorted(SPECS))
def encoding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def digest(encoding: str, provider: Provider) -> str:
    made = save(provider.models_dir, encoding)
    provider.deploy(encoding, made).raise_for_status()
    return made


def test_every_body_of_the_same_samples_is_answered_alike(
    encoding: str, digest: str, provider: Provider
) -> None:
    spec = SPECS[encoding]
    card = ModelCard.model_validate(provider.client.get(f"/v1/models/{encoding}").json())
    assert card.input == spec
    samples = drawn(spec)
    wanted = provider.expected(digest, samples, "logits")
    scale, offset = (np.asarray(each, np.float32) for each in (spec.scale, spec.offset))
    by_hand = np.moveaxis(samples / scale + offset, -1, 1).reshape(len(samples), -1)
    linear = artifact.load(provider.models_dir / digest).classifier.head
    with torch.inference_mode():
        np.testing.assert_allclose(wanted, linear(torch.from_numpy(by_hand).float()).numpy(), atol=1e-4)
    for kind, body in bodies(spec, samples):
        answer = provider.client.post(
            f"/v1/models/{encoding}/logits", content=body, headers={"Content-Type": kind}
        )
        assert answer.status_code == 200, answer.text
        np.testing.assert_allclose(answer.json()["values"], wanted, rtol=1e-4, atol=1e-4)


def test_what_is_no_such_sample_is_refused_with_what_to_do(
    encoding: str, digest: str, provider: Provider
) -> None:
    del digest
    spec = SPECS[encoding]
    wrong = np.zeros((1, *spec.shape[:-1], spec.shape[-1] + 1), spec.dtype)
    sent = [
        (NPY, encode_npy(wrong), 422),
        (NPY, encode_npy(np.full((1, *spec.shape), np.nan)), 422),
        ("text/html", b"<p>", 415),
    ]
    sent += [
        ("audio/wav", as_wav(np.zeros((20, 2)), 16_000), 422 if encoding == "series" else 415),
        (CSV, b"x,y\n1,2", 422 if encoding in ("table", "vector") else 415),
    ]
    for kind, body, status in sent:
        answer = provider.client.post(
            f"/v1/models/{encoding}/logits", content=body, headers={"Content-Type": kind}
        )
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        assert answer.json()["detail"]


def test_a_verification_compares_samples_of_any_kind(encoding: str, digest: str, provider: Provider) -> None:
    provider.deploy(f"{encoding}-pairs", digest, service="verification").raise_for_status()
    spec = SPECS[encoding]
    samples = drawn(spec, 4)
    features = provider.expected(digest, samples, "features")
    wanted = np.linalg.norm(features[::2] - features[1::2], axis=1)
    pairs = samples.reshape(2, 2, *spec.shape)
    one_by_one = bodies(spec, samples)[2:]
    for kind, body in [(NPY, encode_npy(pairs)), (JSON, as_json(pairs, "pairs")), *one_by_one]:
        answer = provider.client.post(
            f"/v1/models/{encoding}-pairs/verification", content=body, headers={"Content-Type": kind}
        )
        assert answer.status_code == 200, answer.text
        np.testing.assert_allclose(np.ravel(answer.json()["values"]), wanted, rtol=1e-4, atol=1e-4)
