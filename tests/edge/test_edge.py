from __future__ import annotations

import hashlib
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import torch
from fastapi import FastAPI, Response

from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.providers import artifact
from leakrange.providers.inference import outputs
from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import encode_npy, to_text
from tests.edge.conftest import KEY, OPERATOR, deploy, edge_app
from tests.edge.recording import Tap, tapping
from tests.provider.tiny import save_model
from tests.serving import serving

DATA = DataSpec(name="digits", size=16)


def order(url: str, upload: str, **more: Any) -> dict[str, Any]:
    start, stop = more.pop("samples", (0, 10))
    span = {"data": DATA.model_dump(mode="json"), "split": "test", "start": start, "stop": stop}
    body = {"url": url, "api_key": "lr_user", "model": "model", "release": "logits", "upload": upload}
    return body | {"span": span} | more


def play(edge: httpx.Client, body: dict[str, Any]) -> httpx.Response:
    return edge.post("/v1/sessions", json=body, headers=OPERATOR)


def problem(answer: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    body: dict[str, Any] = answer.json()
    assert body["type"].rpartition("/")[2] == slug
    return body


@pytest.fixture
def tap(provider: httpx.Client) -> Iterator[Tap]:
    with tapping(str(provider.base_url).rstrip("/")) as made:
        yield made


def posts(tap: Tap) -> list[bytes]:
    return [request.body for request in tap.requests() if request.method == "POST"]


def downloads(tap: Tap) -> int:
    return sum(request.target.endswith("/artifact") for request in tap.requests())


@pytest.mark.parametrize("path", ["enrolments", "sessions"])
def test_only_the_operator_enrols_and_plays(edge: httpx.Client, provider: httpx.Client, path: str) -> None:
    body = order(str(provider.base_url), "x") if path == "sessions" else {"url": "http://x", "model": "model"}
    problem(edge.post(f"/v1/{path}", json=body), 401, "unauthenticated")
    wrong = {"Authorization": "Bearer lr_user"}
    problem(edge.post(f"/v1/{path}", json=body, headers=wrong), 403, "forbidden")


def test_only_who_is_enrolled_has_the_device_decide(
    edge: httpx.Client, provider: httpx.Client, tap: Tap
) -> None:
    image = {"inputs": np.zeros((1, 16, 16, 1)).tolist()}

    def decide(key: str | None) -> httpx.Response:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return edge.post("/v1/models/model/decisions", json=image, headers=headers)

    enrolment = {"url": tap.url, "api_key": "lr_user", "model": "model"}
    edge.post("/v1/enrolments", json=enrolment, headers=OPERATOR).raise_for_status()
    problem(decide(None), 401, "unauthenticated")
    problem(decide("lr_another"), 403, "forbidden")
    problem(decide(KEY), 403, "forbidden")
    assert posts(tap) == []
    assert len(decide("lr_user").json()["decisions"]) == 1
    edge.post("/v1/enrolments", json=enrolment | {"api_key": None}, headers=OPERATOR).raise_for_status()
    problem(decide("lr_user"), 403, "forbidden")  # nobody's key is that of a device without one
    problem(decide(None), 401, "unauthenticated")
    assert len(decide(KEY).json()["decisions"]) == 1


def test_a_session_that_is_repeated_is_played_once(edge: httpx.Client, tap: Tap) -> None:
    body = order(tap.url, "once")
    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: play(edge, body), range(5)))
    answers.append(play(edge, body))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert len(posts(tap)) == 1
    problem(play(edge, order(tap.url, "once", samples=(1, 10))), 409, "conflict")


def test_a_restarted_edge_client_repeats_a_noisy_session_to_the_bit(provider: httpx.Client, tap: Tap) -> None:
    """So that the proxy and the provider know it for the same upload, and averaging gains nothing."""
    noisy = [{"noise": {"scale": 1.0}}]
    replies = []
    for key in (KEY, KEY, KEY[::-1]):
        with serving(edge_app(key)) as url, httpx.Client(base_url=url, timeout=120) as edge:
            for upload in ("noisy", "noisy again"):
                body = order(tap.url, upload.replace(" ", "-"), defence=noisy)
                answer = edge.post("/v1/sessions", json=body, headers={"Authorization": f"Bearer {key}"})
                assert answer.status_code == 200, answer.text
                replies.append(answer.json())
    first, second, again, second_again, elsewhere, _ = posts(tap)
    assert (first, second) == (again, second_again)
    assert first != second  # another upload, other noise
    assert first != elsewhere  # another operator's secret, other noise
    assert replies[0] == replies[2] == replies[4]
    intake = provider.get("/v1/operator/models/model/intake/noisy", headers=OPERATOR).json()
    assert encode_npy(np.array(intake["values"], np.float32)) == first


def test_sticky_noise_is_the_same_whenever_a_picture_comes(edge: httpx.Client, tap: Tap) -> None:
    sticky = [{"noise": {"scale": 1.0, "sticky": True}}]
    for number, samples in enumerate([(0, 10), (5, 15)]):
        answer = play(edge, order(tap.url, f"sticky-{number}", samples=samples, defence=sticky))
        assert answer.status_code == 200, answer.text
    first, second = (np.frombuffer(body[-120:], "<f4").reshape(10, 3) for body in posts(tap))
    np.testing.assert_allclose(first[5:], second[:5], atol=1e-5)  # nets round by their place in a batch
    play(edge, order(tap.url, "plain"))
    plain = np.frombuffer(posts(tap)[-1][-120:], "<f4").reshape(10, 3)
    assert np.abs(first - plain).min() > 0


def test_a_pruned_session_uploads_what_the_pruned_model_gives(
    edge: httpx.Client, tap: Tap, models_dir: Path, digests: dict[str, str]
) -> None:
    """The model is pruned by hand here: half of the weights of all layers, those nearest to zero."""
    play(edge, order(tap.url, "whole")).raise_for_status()
    for number, defence in enumerate([[{"prune": 0.5}], [{"prune": 0.5}, {"round": 1}]]):
        play(edge, order(tap.url, f"pruned-{number}", defence=defence)).raise_for_status()
    whole, pruned, rounded = (np.frombuffer(body[-120:], "<f4").reshape(10, 3) for body in posts(tap))
    classifier = artifact.load(models_dir / digests["curious"]).classifier
    layers = [m.weight for m in classifier.modules() if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear))]
    flat = torch.cat([weight.detach().flatten() for weight in layers])
    flat[flat.abs().argsort()[: round(0.5 * len(flat))]] = 0.0
    assert float((flat == 0).double().mean()) == pytest.approx(0.5, abs=0.001)
    for weight, part in zip(layers, flat.split([weight.numel() for weight in layers]), strict=True):
        weight.copy_(part.reshape(weight.shape))
    images = load(DATA)
    chosen = images.values[images.where("test")[:10]]
    np.testing.assert_allclose(pruned, outputs(classifier, chosen, "logits"), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(rounded, np.round(pruned.astype(np.float64), 1), atol=1e-6)
    assert np.abs(pruned - whole).max() > 0.1
    play(edge, order(tap.url, "whole-again")).raise_for_status()
    assert posts(tap)[3] == posts(tap)[0]  # the downloaded model is as it was


def test_a_model_is_downloaded_once_and_again_when_its_version_changes(
    edge: httpx.Client, provider: httpx.Client, tap: Tap, digests: dict[str, str], models_dir: Path
) -> None:
    deploy(provider, "changing", save_model(models_dir, seed=21))
    for number in range(3):
        assert play(edge, order(tap.url, f"v1-{number}", model="changing")).status_code == 200
    assert downloads(tap) == 1
    deploy(provider, "changing", save_model(models_dir, seed=22))
    changed = play(edge, order(tap.url, "v2", model="changing"))
    assert changed.status_code == 200
    assert downloads(tap) == 2
    assert posts(tap)[0] == posts(tap)[2] != posts(tap)[3]
    deploy(provider, "alias", save_model(models_dir, seed=22))
    assert play(edge, order(tap.url, "v3", model="alias")).json()["decisions"] == changed.json()["decisions"]
    assert downloads(tap) == 2  # the same file under another name


INVALID = (422, "invalid-input")


@pytest.mark.parametrize(
    ("change", "status", "slug"),
    [
        (
            {"span": {"data": {"name": "digitz"}, "split": "test", "start": 0, "stop": 5}},
            422,
            "invalid-input",
        ),
        ({"samples": (0, 100_000)}, 422, "invalid-input"),
        ({"samples": (5, 5)}, 422, "invalid-input"),
        ({"release": "score"}, 422, "invalid-input"),
        ({"defence": [{"rouund": {"decimals": 1}}]}, 422, "invalid-chain"),
        ({"defence": [{"argmax": {}}, {"prune": {"amount": 0.5}}]}, 422, "invalid-chain"),
        ({"model": "absent"}, 404, "unknown-model"),
        ({"url": "ftp://provider"}, 422, "invalid-input"),
        ({"url": "http://127.0.0.1:1"}, 503, "unavailable"),
        ({"api_key": "two words"}, 422, "invalid-input"),
        ({"more": 1}, 422, "invalid-input"),
    ],
    ids=str,
)
def test_a_session_that_cannot_be_played_says_why_and_uploads_nothing(
    edge: httpx.Client, tap: Tap, change: dict[str, Any], status: int, slug: str
) -> None:
    body = order(tap.url, "impossible", samples=change.get("samples", (0, 10)))
    body |= {key: value for key, value in change.items() if key != "samples"}
    problem(play(edge, body), status, slug)
    assert posts(tap) == []
    assert edge.get("/readyz").status_code == 200


def test_a_session_that_failed_may_be_tried_again(
    edge: httpx.Client, provider: httpx.Client, tap: Tap, models_dir: Path
) -> None:
    body = order(tap.url, "later", model="late")
    problem(play(edge, body), 404, "unknown-model")
    deploy(provider, "late", save_model(models_dir, seed=31))
    assert play(edge, body).status_code == 200


def test_images_of_another_shape_are_refused(edge: httpx.Client, provider: httpx.Client, tap: Tap) -> None:
    span = {"data": {"name": "synthfaces", "size": 16, "count": 60}, "split": "test", "start": 0, "stop": 2}
    told = problem(play(edge, order(tap.url, "faces", span=span)), 422, "invalid-input")
    assert "16, 16, 1" in told["detail"]
    url = str(provider.base_url)
    edge.post("/v1/enrolments", json={"url": url, "model": "model"}, headers=OPERATOR).raise_for_status()
    wrong = encode_npy(np.zeros((1, 8, 8, 1), np.uint8))
    headers = OPERATOR | {"Content-Type": "application/x-npy"}
    problem(edge.post("/v1/models/model/decisions", content=wrong, headers=headers), 422, "invalid-input")
    problem(edge.post("/v1/models/other/decisions", content=wrong, headers=headers), 404, "unknown-model")
    assert posts(tap) == []


@pytest.mark.parametrize(
    ("change", "slug"),
    [
        ({"release": "score"}, "invalid-input"),
        ({"defence": ["argmaxx"]}, "invalid-chain"),
        ({"defence": [{"noise": {}}]}, "invalid-chain"),
        ({"model": "../operator"}, "invalid-input"),
        ({"url": "provider"}, "invalid-input"),
    ],
)
def test_enrolments_that_make_no_sense(
    edge: httpx.Client, provider: httpx.Client, change: dict[str, Any], slug: str
) -> None:
    body = {"url": str(provider.base_url), "model": "model", **change}
    problem(edge.post("/v1/enrolments", json=body, headers=OPERATOR), 422, slug)


def test_the_local_app_is_defended_as_it_was_enrolled(
    edge: httpx.Client, provider: httpx.Client, tap: Tap
) -> None:
    chain = [{"prune": 0.2}, {"round": {"decimals": 1}}]
    body = {"url": tap.url, "model": "model", "release": "softmax", "defence": chain}
    enrolled = edge.post("/v1/enrolments", json=body, headers=OPERATOR).json()
    assert enrolled["release"] == "softmax"
    assert enrolled["defence"] == [{"prune": {"amount": 0.2, "scope": "global"}}, {"round": {"decimals": 1}}]
    images = load(DATA).values[:5]
    answer = edge.post("/v1/models/model/decisions", json={"inputs": images.tolist()}, headers=OPERATOR)
    assert answer.status_code == 200
    (request,) = [request for request in tap.requests() if request.method == "POST"]
    assert request.headers["x-release"] == "softmax"
    values = np.frombuffer(request.body[-60:], "<f4").reshape(5, 3)
    np.testing.assert_allclose(values, np.round(values, 1), atol=1e-6)


@pytest.fixture
def new_edge() -> Iterator[httpx.Client]:
    """An edge client that has no model yet."""
    with serving(edge_app()) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client


@contextmanager
def hostile(provider: httpx.Client, files: list[bytes], **card: Any) -> Iterator[tuple[str, list[str]]]:
    """A provider that gives other files than its card names, one after the other; and what it was asked."""
    app = FastAPI()
    asked: list[str] = []
    told = {**provider.get("/v1/models/model").json(), **card}
    decision = {"model": "model", "version": "x", "decisions": [7]}

    @app.get("/v1/models/model")
    async def tell() -> dict[str, Any]:
        asked.append("card")
        return told

    @app.get("/v1/models/model/artifact")
    async def file() -> Response:
        asked.append("artifact")
        return Response(files[min(asked.count("artifact"), len(files)) - 1])

    @app.post("/v1/models/model/outputs")
    async def outputs() -> dict[str, Any]:
        asked.append("outputs")
        return decision

    with serving(app) as url:
        yield url, asked


class Exploit:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def test_a_file_that_is_not_the_cards_is_refused(new_edge: httpx.Client, provider: httpx.Client) -> None:
    right = provider.get("/v1/models/model/artifact").content
    with hostile(provider, [right[:-1] + b"\x7f"]) as (url, asked):
        told = problem(play(new_edge, order(url, "tampered")), 422, "invalid-artifact")
        body = {"url": url, "model": "model"}
        problem(new_edge.post("/v1/enrolments", json=body, headers=OPERATOR), 422, "invalid-artifact")
    assert "SHA-256" in told["detail"]
    assert "outputs" not in asked


def test_a_version_that_changes_between_card_and_file_is_asked_for_again(
    new_edge: httpx.Client, provider: httpx.Client
) -> None:
    right = provider.get("/v1/models/model/artifact").content
    with hostile(provider, [right[:-1] + b"\x7f", right]) as (url, asked):
        answer = new_edge.post("/v1/enrolments", json={"url": url, "model": "model"}, headers=OPERATOR)
    assert answer.status_code == 200
    assert asked == ["card", "artifact", "card", "artifact"]


def test_a_pickle_that_poses_as_a_model_is_refused_and_not_run(
    new_edge: httpx.Client, provider: httpx.Client, tmp_path: Path
) -> None:
    file = pickle.dumps(Exploit(tmp_path / "sprung"))
    with hostile(provider, [file], sha256=hashlib.sha256(file).hexdigest()) as (url, asked):
        problem(play(new_edge, order(url, "pickled")), 422, "invalid-artifact")
    assert "outputs" not in asked
    assert not (tmp_path / "sprung").exists()


def test_a_card_that_does_not_fit_its_file_is_refused(new_edge: httpx.Client, provider: httpx.Client) -> None:
    right = provider.get("/v1/models/model/artifact").content
    larger = SampleSpec.picture(16, 16, 3).model_dump(mode="json")
    cards: list[dict[str, Any]] = [
        {"classes": ["a", "b"]},
        {"input": larger},
        {"task": "race"},
    ]
    for number, card in enumerate(cards):
        with hostile(provider, [right], **card) as (url, _):
            told = problem(play(new_edge, order(url, f"unfit-{number}")), 422, "invalid-artifact")
            assert "does not fit its card" in told["detail"]


def test_nonsense_from_a_provider_is_its_failure(new_edge: httpx.Client, provider: httpx.Client) -> None:
    right = provider.get("/v1/models/model/artifact").content
    with hostile(provider, [right]) as (url, asked):
        told = problem(play(new_edge, order(url, "one decision for ten")), 502, "upstream-failed")
        assert "1 of 10" in told["detail"]
    assert asked[-1] == "outputs"
    with hostile(provider, [right], sha256=None) as (url, _):
        problem(play(new_edge, order(url, "no card")), 502, "upstream-failed")


def test_many_sessions_at_once_are_all_played(edge: httpx.Client, provider: httpx.Client) -> None:
    together = threading.Barrier(8)
    url = str(provider.base_url)

    def one(number: int) -> dict[str, Any]:
        with httpx.Client(base_url=edge.base_url, timeout=120) as own:
            together.wait()
            answer = play(own, order(url, f"many-{number}", samples=(number, number + 20)))
            body: dict[str, Any] = answer.raise_for_status().json()
            return body

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(one, range(8)))
    for number in range(7):
        assert replies[number]["decisions"][1:] == replies[number + 1]["decisions"][:-1]
        assert replies[number]["labels"]["digit"][1:] == replies[number + 1]["labels"]["digit"][:-1]
    metrics = edge.get("/metrics").text
    assert 'leakrange_edge_samples_total{model="model"}' in metrics


def test_an_old_model_makes_room(provider: httpx.Client, models_dir: Path) -> None:
    for number in range(3):
        deploy(provider, f"room-{number}", save_model(models_dir, seed=40 + number))
    with (
        serving(edge_app(enrolled=2)) as url,
        httpx.Client(base_url=url, timeout=120) as edge,
        tapping(str(provider.base_url).rstrip("/")) as tap,
    ):
        for number in (0, 1, 0, 2, 0, 1):
            body = {"url": tap.url, "model": f"room-{number}"}
            edge.post("/v1/enrolments", json=body, headers=OPERATOR).raise_for_status()
        assert downloads(tap) == 4
        assert "leakrange_edge_enrolled 2.0" in edge.get("/metrics").text


def test_a_session_takes_samples_that_a_visitor_brings(edge: httpx.Client, tap: Tap) -> None:
    data = load(DATA)
    chosen = data.where("test")[:10]
    of_span = play(edge, order(tap.url, "span")).json()
    body = order(tap.url, "brought") | {"span": None, "samples": to_text(data.values[chosen])}
    brought = play(edge, body).json()
    first, second = posts(tap)
    assert first == second  # the same outputs leave the device, and nothing else
    assert brought["decisions"] == of_span["decisions"]
    assert (brought["samples"], brought["labels"]) == (10, {})


@pytest.mark.parametrize(
    ("samples", "status", "slug"),
    [
        (to_text(np.zeros((1, 16, 16), np.uint8)), 422, "invalid-input"),
        (to_text(np.zeros((0, 16, 16, 1), np.uint8)), 422, "invalid-input"),
        (to_text(np.zeros((1, 16, 16, 1), np.float32)), 422, "invalid-input"),
        ("no array", 400, "malformed-body"),
        (None, 422, "invalid-input"),
    ],
)
def test_samples_that_the_model_does_not_take_are_refused(
    edge: httpx.Client, tap: Tap, samples: str | None, status: int, slug: str
) -> None:
    problem(play(edge, order(tap.url, "odd") | {"span": None, "samples": samples}), status, slug)
    assert posts(tap) == []
