"""Samples that leave a device: noisy, then as the proxy's policy leaves them, to a provider that decides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from pydantic import SecretStr

from leakrange.data import load
from leakrange.providers import artifact
from leakrange.providers.inference import outputs
from leakrange.services.proxy.main import proxy as create_proxy
from leakrange.services.proxy.settings import ProxySettings
from leakrange.wire.names import upload_name
from leakrange.wire.tensors import NPY, decode_npy, encode_npy
from tests.edge.conftest import KEY, OPERATOR
from tests.edge.test_edge import DATA, order, play, problem
from tests.serving import serving

NOISE = [{"gaussian-input": 0.5}]


@pytest.fixture(scope="module")
def users() -> Any:
    """The samples of the first ten users."""
    data = load(DATA)
    return data.values[data.where("test")[:10]]


@pytest.fixture
def proxy(provider: httpx.Client, empty_redis_url: str) -> Iterator[httpx.Client]:
    """The operator's client of a proxy before the provider, with the key ``user`` of 25 samples."""
    settings = ProxySettings(redis_url=empty_redis_url, operator_key=SecretStr(KEY))
    with (
        serving(create_proxy(settings)) as url,
        httpx.Client(base_url=url, headers=OPERATOR, timeout=120) as admin,
    ):
        upstream = str(provider.base_url).rstrip("/")
        admin.put("/admin/routes/model", json={"upstream": upstream}).raise_for_status()
        made: dict[str, Any] = {"name": "user", "id": "user", "key": "lr_user" + "0" * 32, "budget": 25}
        made["endpoints"] = ["artifact", "outputs", "sample"]
        admin.post("/admin/keys", json=made).raise_for_status()
        yield admin


def bind(proxy: httpx.Client, *chain: Any) -> None:
    proxy.put("/admin/policies/p", json={"chain": list(chain)}).raise_for_status()
    proxy.put("/admin/bindings", json={"policy": "p"}).raise_for_status()


def taken_in(provider: httpx.Client, upload: str) -> Any:
    place = f"/v1/operator/models/model/intake/{upload_name('user', upload)}"
    return provider.get(place, headers=OPERATOR).raise_for_status().json()


def sends(proxy: httpx.Client, upload: str, **more: Any) -> dict[str, Any]:
    return order(str(proxy.base_url), upload, api_key="lr_user" + "0" * 32, release="sample", **more)


def test_a_provider_decides_on_and_decodes_the_noisy_sample_and_never_sees_the_sample(
    edge: httpx.Client,
    provider: httpx.Client,
    proxy: httpx.Client,
    users: Any,
    models_dir: Path,
    digests: dict[str, str],
) -> None:
    reply = play(edge, sends(proxy, "noisy", defence=NOISE)).raise_for_status().json()
    record = taken_in(provider, "noisy")
    values = np.array(record["values"], np.float32)
    assert record["release"] == "sample"
    assert values.shape == users.shape
    assert (values == np.rint(values)).all()
    assert values.min() >= 0
    assert values.max() <= 255
    assert 10 < np.abs(values - users).mean() < 64  # of noise with the deviation 64, of which a part is cut
    model = artifact.load(models_dir / digests["curious"])
    logits = outputs(model.classifier, values.astype(np.uint8), "logits")
    assert reply["decisions"] == record["decisions"] == logits.argmax(axis=1).tolist()
    assert model.decoder is not None
    inferred, _ = model.decoder.infer(logits, "logits")
    assert record["inferred"] == inferred.tolist()
    assert proxy.get("/admin/keys/user").json()["spent"] == 10


def test_the_proxy_transforms_samples_too_and_refuses_what_needs_vectors(
    edge: httpx.Client, provider: httpx.Client, proxy: httpx.Client, users: Any
) -> None:
    bind(proxy, {"clip": {"max": 100}})
    play(edge, sends(proxy, "clipped")).raise_for_status()
    values = np.array(taken_in(provider, "clipped")["values"], np.float32)
    np.testing.assert_array_equal(values, np.minimum(users, 100).astype(np.float32))
    bind(proxy, "argmax")
    told = problem(play(edge, sends(proxy, "refused")), 403, "forbidden")
    assert "argmax means nothing on a sample release" in told["detail"]
    assert proxy.get("/admin/keys/user").json()["spent"] == 10


def test_an_attacker_learns_under_his_budget_what_is_released_of_his_own_samples(
    proxy: httpx.Client, users: Any
) -> None:
    bind(proxy, {"clip": {"max": 100}})

    def ask(accept: str) -> httpx.Response:
        headers = {"Authorization": "Bearer lr_user" + "0" * 32, "Content-Type": NPY, "Accept": accept}
        return proxy.post("/v1/models/model/sample", content=encode_npy(users), headers=headers)

    expected = np.minimum(users, 100).astype(np.float32)
    np.testing.assert_array_equal(decode_npy(ask(NPY).raise_for_status().content), expected)
    told = ask("application/json").raise_for_status().json()
    assert told["release"] == "sample"
    np.testing.assert_array_equal(np.array(told["values"], np.float32), expected)
    problem(ask(NPY), 429, "budget-exhausted")


def test_what_no_device_runs_is_not_defended(edge: httpx.Client, proxy: httpx.Client) -> None:
    answer = play(edge, sends(proxy, "pruned", defence=[{"prune": 0.5}]))
    assert "prune changes a model that no device runs" in problem(answer, 422, "invalid-input")["detail"]


def test_another_users_enrolment_between_does_not_begin_a_budget_anew(
    edge: httpx.Client, provider: httpx.Client, users: Any
) -> None:
    def enrol(key: str) -> None:
        body = {"url": str(provider.base_url), "api_key": key, "model": "model", "budget": len(users) + 1}
        body |= {"release": "sample", "defence": NOISE}
        edge.post("/v1/enrolments", json=body, headers=OPERATOR).raise_for_status()

    def ask(key: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": NPY, "Accept": NPY}
        return edge.post("/v1/models/model/sample", content=encode_npy(users), headers=headers)

    for key in ("lr_ann" + "0" * 32, "lr_bob" + "0" * 32):
        enrol(key)
        ask(key).raise_for_status()
    enrol("lr_ann" + "0" * 32)
    assert problem(ask("lr_ann" + "0" * 32), 429, "budget-exhausted")["remaining"] == 1
