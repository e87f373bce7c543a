"""Verification, galleries and recognition through the proxy, before a real provider."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from pydantic import SecretStr

from leakrange.services.provider.main import create_provider
from leakrange.services.provider.settings import ProviderSettings
from leakrange.wire.client import NativeClient
from leakrange.wire.errors import BudgetExhausted
from leakrange.wire.tensors import JSON, NPY, encode_npy
from leakrange.wire.transport import AiohttpTransport
from tests.provider.tiny import CLASSES, SHAPE, save_model
from tests.proxy.conftest import OPERATOR, Range, pictures, problem, values
from tests.proxy.servers import card
from tests.serving import serving

THRESHOLD = 0.25
Pixels = NDArray[np.uint8]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("provider")
    return folder, save_model(folder)


@pytest.fixture(scope="module")
def _faces(models: tuple[Path, str]) -> Iterator[tuple[str, httpx.Client]]:
    folder, digest = models
    settings = ProviderSettings(operator_key=SecretStr(OPERATOR), models_dir=folder, state_dir=folder / "own")
    with serving(create_provider(settings)) as url, httpx.Client(base_url=url, timeout=60) as client:
        for name, options in (
            ("faces", {"service": "verification", "normalised": True, "threshold": THRESHOLD}),
            ("people", {"service": "recognition"}),
            ("undecided", {"service": "verification"}),
        ):
            client.put(
                f"/v1/operator/models/{name}",
                json={"artifact": digest, **options},
                headers={"Authorization": f"Bearer {OPERATOR}"},
            ).raise_for_status()
        yield url, client


@pytest.fixture
def direct(_faces: tuple[str, httpx.Client], live: Range) -> httpx.Client:
    """The provider itself, which no client of the range reaches; nobody is enrolled."""
    url, client = _faces
    for model in ("faces", "people", "undecided"):
        live.admin("PUT", f"/routes/{model}", {"upstream": url})
    for each in client.get("/v1/models/faces/gallery").json()["persons"]:
        client.delete(f"/v1/models/faces/gallery/{each['person']}").raise_for_status()
    return client


def some_pairs(count: int, seed: int = 0) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (count, 2, *SHAPE)).astype(np.uint8)


def ask(live: Range, key: str, path: str, body: bytes, accept: str = JSON, **more: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}", "Accept": accept, "Content-Type": NPY}
    method = more.pop("method", "POST")
    return live.client.request(
        method,
        f"{live.url}/v1/models/{path}",
        content=body,
        headers=headers | more.pop("headers", {}),
        **more,
    )


def verify(live: Range, key: str, pairs: Pixels, **more: Any) -> httpx.Response:
    return ask(live, key, "faces/verification", encode_npy(pairs), **more)


def against(live: Range, key: str, person: str, images: Pixels, **more: Any) -> httpx.Response:
    return ask(live, key, "faces/verification", encode_npy(images), params={"person": person}, **more)


def enrol(live: Range, key: str, person: str, images: Pixels) -> httpx.Response:
    return ask(live, key, f"faces/gallery/{person}", encode_npy(images), method="PUT")


def clean(direct: httpx.Client, pairs: Pixels) -> NDArray[np.float32]:
    return values(
        direct.post(
            "/v1/models/faces/verification",
            content=encode_npy(pairs),
            headers={"Content-Type": NPY, "Accept": NPY},
        )
    )


def test_pairs_are_counted_and_answered_as_they_are(live: Range, direct: httpx.Client) -> None:
    key, pairs = live.key(10), some_pairs(3)
    for accept in (JSON, NPY):
        answer = verify(live, key, pairs, accept=accept)
        assert_array_equal(values(answer), clean(direct, pairs))
        if accept == JSON:
            assert answer.json()["same"] == (clean(direct, pairs)[:, 0] <= THRESHOLD).tolist()
    assert answer.headers["RateLimit-Remaining"] == "4"
    assert problem(verify(live, key, some_pairs(5)), 429, "budget-exhausted")["asked"] == 5
    problem(verify(live, key, pairs.reshape(-1, *SHAPE)), 422, "invalid-input")
    assert live.account()["spent"] == 6


def test_an_enrolment_costs_its_images_and_looking_costs_nothing(live: Range, direct: httpx.Client) -> None:
    key, images = live.key(10), some_pairs(3).reshape(-1, *SHAPE)
    answer = enrol(live, key, "ann", images[:4])
    assert answer.json() == {"person": "ann", "images": 4}
    assert answer.headers["RateLimit-Remaining"] == "6"
    scores = against(live, key, "ann", images[4:])
    assert scores.headers["RateLimit-Remaining"] == "4"
    assert "x-gallery-mark" not in scores.headers
    assert np.shape(scores.json()["values"]) == (2, 1)
    listed = ask(live, key, "faces/gallery", b"", method="GET")
    assert listed.json()["persons"] == [{"person": "ann", "images": 4}]
    problem(enrol(live, key, "bob", images), 429, "budget-exhausted")
    problem(enrol(live, key, "%20ann", images[:1]), 422, "invalid-input")
    problem(against(live, key, "nobody", images[:1]), 404, "not-found")
    gone = ask(live, key, "faces/gallery/ann", b"", method="DELETE")
    assert (gone.status_code, gone.content) == (204, b"")
    problem(ask(live, key, "faces/gallery/ann", b"", method="DELETE"), 404, "not-found")
    for method, path in (("GET", "gallery"), ("PUT", "gallery/ann"), ("DELETE", "gallery/ann")):
        problem(ask(live, "lr_wrong", f"faces/{path}", b"", method=method), 401, "unauthenticated")
    bound = live.key(id="bound", endpoints=["verification"])
    problem(ask(live, bound, "faces/gallery", b"", method="GET"), 403, "forbidden")
    problem(enrol(live, bound, "ann", images[:1]), 403, "forbidden")
    assert live.account()["spent"] == 6


def test_what_a_student_service_does_not_answer_is_refunded(live: Range, direct: httpx.Client) -> None:
    key, images = live.key(10), some_pairs(1)[0]
    for model, endpoint in (("faces", "features"), ("people", "softmax"), ("people", "logits")):
        told = problem(ask(live, key, f"{model}/{endpoint}", encode_npy(images)), 404, "not-found")
        assert "answers" in told["hint"]
    problem(ask(live, key, "people/artifact", b"", method="GET"), 404, "not-found")
    problem(ask(live, key, "people/gallery", b"", method="GET"), 404, "not-found")
    assert live.account()["spent"] == 0


@pytest.mark.parametrize("how", ["pairs", "person"])
def test_a_decision_is_made_on_the_released_distance(live: Range, direct: httpx.Client, how: str) -> None:
    """A policy that pushes all distances over the threshold must leave no trace of the clean decision."""
    images = some_pairs(4)
    images[:2, 1] = images[:2, 0]  # two pairs of one picture each: clearly the same person
    key = live.key()
    assert enrol(live, key, "ann", images[0, :1]).status_code == 200
    for policy, same in (
        ([{"clip": {"min": 0.9}}], [False] * 4),
        ([{"clip": {"max": 0.1}}], [True] * 4),
        ([{"noise": {"scale": 1.0, "sticky": True}}], None),
    ):
        live.policy(*policy)
        if how == "pairs":
            answer = verify(live, key, images).json()
        else:
            answer = against(live, key, "ann", images[:, 0]).json()
        assert set(answer) == {"model", "version", "release", "values", "same"}
        assert answer["same"] == [row[0] <= THRESHOLD for row in answer["values"]]
        if same is not None:
            assert answer["same"] == same


def test_the_next_decision_is_made_by_the_threshold_that_the_operator_just_set(
    live: Range, direct: httpx.Client, models: tuple[Path, str]
) -> None:
    """Decisions under a policy are the proxy's own, and it keeps cards for a while."""
    live.admin("PUT", "/routes/moving", {"upstream": str(direct.base_url)})
    live.policy({"round": 3})
    key, pairs = live.key(), some_pairs(4)
    served = {"artifact": models[1], "service": "verification", "normalised": True}
    for threshold, same in ((0.9, [True] * 4), (0.0, [False] * 4), (0.9, [True] * 4), (None, None)):
        direct.put(
            "/v1/operator/models/moving",
            json=served | {"threshold": threshold},
            headers={"Authorization": f"Bearer {OPERATOR}"},
        ).raise_for_status()
        answer = ask(live, key, "moving/verification", encode_npy(pairs))
        assert answer.json().get("same") == same, answer.text


def test_a_provider_that_does_not_say_which_version_answered_is_asked_for_its_card(live: Range) -> None:
    """Each time: nothing else tells that the threshold is another one."""
    threshold = 0.0

    async def told(path: str) -> tuple[int, str, bytes] | None:
        served = {"service": "verification", "releases": ["score"], "threshold": threshold}
        return (200, JSON, orjson.dumps(card("digits") | served)) if path.endswith("/digits") else None

    live.provider.before = told
    live.policy({"round": 3})
    key, pairs = live.key(), np.stack([pictures(3), pictures(3, seed=1)], axis=1)
    for threshold, same in ((0.0, False), (1000.0, True), (0.0, False)):  # noqa: B007
        assert live.post(key, "verification", encode_npy(pairs), accept=JSON).json()["same"] == [same] * 3


def test_without_a_threshold_a_defended_answer_decides_nothing(live: Range, direct: httpx.Client) -> None:
    live.policy({"round": 1})
    answer = ask(live, live.key(), "undecided/verification", encode_npy(some_pairs(2)))
    assert set(answer.json()) == {"model", "version", "release", "values"}


def test_sticky_noise_knows_a_pair_whichever_way_around(live: Range, direct: httpx.Client) -> None:
    live.policy({"noise": {"scale": 1.0, "sticky": True}})
    key, pairs = live.key(), some_pairs(3)
    first = values(verify(live, key, pairs))
    assert np.abs(first - clean(direct, pairs)).min() > 1e-3
    assert len(np.unique(first - clean(direct, pairs))) == 3
    bodies: list[Any] = [
        encode_npy(pairs[:, ::-1]),
        encode_npy(pairs[:, ::-1].astype(np.float32) / 255),
    ]
    for body in bodies:
        np.testing.assert_allclose(values(ask(live, key, "faces/verification", body)), first, atol=1e-5)
    as_json = live.client.post(
        f"{live.url}/v1/models/faces/verification",
        json={"pairs": pairs[::-1, ::-1].tolist()},
        headers={"Authorization": f"Bearer {key}"},
    )
    np.testing.assert_allclose(values(as_json), first[::-1], atol=1e-5)


def test_sticky_noise_knows_a_person_by_the_enrolled_images(live: Range, direct: httpx.Client) -> None:
    """More names, repeated images and one image as a pair give no second draw; another person gives one."""
    key, images = live.key(), some_pairs(4).reshape(-1, *SHAPE)
    for person, chosen in (
        ("ann", [0, 1]),
        ("again", [1, 0, 0]),
        ("one", [0]),
        ("other", [2, 3]),
    ):
        assert enrol(live, key, person, images[chosen]).status_code == 200
    asked = images[4:]
    undefended = {
        person: values(against(live, key, person, asked)) for person in ("ann", "again", "one", "other")
    }
    live.policy({"noise": {"scale": 1.0, "sticky": True}})
    noise = {person: values(against(live, key, person, asked)) - undefended[person] for person in undefended}
    np.testing.assert_allclose(noise["again"], noise["ann"], atol=1e-4)
    assert np.abs(noise["other"] - noise["ann"]).min() > 1e-3
    couples = np.stack([asked, np.broadcast_to(images[0], asked.shape)], axis=1)
    pair_noise = values(verify(live, key, couples)) - clean(direct, couples)
    np.testing.assert_allclose(noise["one"], pair_noise, atol=1e-4)
    # Under the same name, but by another image: were the noise the same, a known person's would undo it.
    assert enrol(live, key, "one", images[1:2]).status_code == 200
    live.admin("PUT", "/policies/none", {"chain": []})
    live.admin("PUT", "/bindings", {"policy": "none"})
    before = values(against(live, key, "one", asked))
    live.admin("PUT", "/bindings", {"policy": "policy"})
    assert np.abs(values(against(live, key, "one", asked)) - before - noise["one"]).min() > 1e-3


def test_an_idempotency_key_belongs_to_one_person(live: Range, direct: httpx.Client) -> None:
    key, images = live.key(10), some_pairs(1)[0]
    for person in ("ann", "bob"):
        assert enrol(live, key, person, images[:1]).status_code == 200
    named = {"headers": {"Idempotency-Key": "k"}}
    first = against(live, key, "ann", images, **named)
    again = against(live, key, "ann", images, **named)
    assert again.content == first.content
    assert again.headers["Idempotency-Replayed"] == "true"
    problem(against(live, key, "bob", images, **named), 422, "invalid-input")
    assert live.account()["spent"] == 4


async def test_the_house_client_verifies_enrols_and_recognises(live: Range, direct: httpx.Client) -> None:
    transport = AiohttpTransport()
    pairs = some_pairs(3)
    try:
        client = NativeClient(transport, live.url, live.key(11))
        card = await client.card("faces")
        assert (card.service, card.threshold, card.classes) == ("verification", THRESHOLD, [])
        scores = await client.query("faces", "verification", pairs, idempotency_key="k")
        assert_array_equal(scores, clean(direct, pairs))
        assert (await client.enrol("faces", "ann", pairs[:2, 0])).images == 2
        assert (await client.verify_person("faces", "ann", pairs[:, 1])).shape == (3, 1)
        confidence = await client.query("people", "recognition", pairs[:, 0])
        assert confidence.shape == (3, len(CLASSES))
        np.testing.assert_allclose(confidence.sum(axis=1), 1.0, rtol=1e-5)
        with pytest.raises(BudgetExhausted):
            await client.query("faces", "verification", pairs[:1])
    finally:
        await transport.close()
