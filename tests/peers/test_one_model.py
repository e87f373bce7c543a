"""One model behind six servers: whoever serves it, in whatever protocol, the figures are the same."""

from __future__ import annotations

import hashlib
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pytest
import torch
import yaml
from numpy.typing import NDArray
from torch import Tensor, nn

from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.load.bench.peers.program import VARIABLE, Program, from_environment
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.store.files import FolderStore, get_array
from tests.embedded import EmbeddedRange
from tests.peers.environments import peers_serving
from tests.range.conftest import Controller, Finished, value
from tests.serving import serving

pytestmark = [pytest.mark.peers, pytest.mark.timeout(3600)]

DATA = {"name": "digits", "size": 16, "auxiliary": 0.3}
CARD = {
    "input": {"encoding": "picture", "shape": [16, 16, 1]},
    "classes": ["even", "odd"],
    "release": "softmax",
}
DEFENCES: dict[str, list[Any]] = {
    "none": [],
    "rounded": [{"round": {"decimals": 1}}],
    "label-only": ["argmax"],
}
ATTACKS = {
    "attribute": {"kind": "attribute-inference", "knowledge": "aware"},
    "pictures": {
        "kind": "reconstruction",
        "knowledge": "aware",
        "auxiliary": 96,
        "epochs": 2,
        "decoder": {"width": 0.25},
    },
}
BUDGETS = [96, 128]
SHORTENED = 6
"""Decimals of the server with a format of its own."""
EXACT = ("ours", "ours-binary", "mlserver", "kserve", "kserve-binary", "mlflow")


class Leaking(nn.Module):
    """Tells whether a digit is odd, and in the third decimals whether it is above four. Sums are of whole
    numbers below 2^24: exact, whatever the order and the batch."""

    def __init__(self, means: NDArray[np.int64]) -> None:
        super().__init__()
        self.register_buffer("means", torch.tensor(means, dtype=torch.float32))
        self.register_buffer("halves", torch.tensor(2 * (means**2).sum(1), dtype=torch.float32))

    def forward(self, x: Tensor) -> Tensor:
        """Probabilities (B, 2) of pictures (B, 1, 16, 16) or (B, 16, 16, 1) of 0 to 255."""
        digit = (x.to(torch.float32).flatten(1) @ self.means.t() - self.halves).argmax(1)
        odd = 0.2 + 0.6 * (digit % 2).to(torch.float32) + (digit > 4).to(torch.float32) / 128 - 1 / 256
        return torch.stack([1 - odd, odd], 1)


class Bare:
    """A server with a format of its own: pictures in ``images``, and for each an object of percentages by the
    names of the classes, in another order, as short as people write them."""

    def __init__(self, program: Program) -> None:
        self._program = program

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        values = self._program(np.array(orjson.loads(body)["images"], np.uint8)).astype(float)
        rows = [
            {"odd": round(odd, SHORTENED), "even": round(even, SHORTENED)} for even, odd in values.tolist()
        ]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": orjson.dumps({"answers": rows})})


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's file: the nearest of ten mean digits."""
    data = load(DataSpec.model_validate(DATA))
    train = data.where("train")
    pictures, digits = (
        data.values[train].reshape(len(train), -1).astype(np.int64),
        data.labels["digit"][train],
    )
    means = np.stack([pictures[digits == digit].mean(0) for digit in range(10)]).astype(np.int64) // 4
    path = tmp_path_factory.mktemp("peers") / "model.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # TorchScript, all of it
        torch.jit.save(torch.jit.script(Leaking(means).eval()), path)
    return path


@pytest.fixture(scope="module")
def endpoints(program: Path, embedded_range: EmbeddedRange) -> Iterator[dict[str, dict[str, Any]]]:
    """How each of the servers is asked: the fields of a target."""
    card = program.with_name("card.yaml")
    card.write_text(yaml.safe_dump(CARD | {"input": CARD["input"] | {"dtype": "uint8"}}))
    with ExitStack() as stack:
        urls = stack.enter_context(peers_serving(program))
        added = embedded_range(
            "models", "add", str(program), "--card", str(card), "--name", "bench", "--trust"
        )
        assert added.returncode == 0, added.stderr
        stack.callback(_withdraw, embedded_range)
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            patch.setenv(VARIABLE, str(program))
            bare = stack.enter_context(serving(Bare(from_environment())))
        ours = embedded_range.record.url("provider-honest")
        own = {"input": "input", "output": "softmax"}
        step = {
            "post": f"{bare}/score",
            "json": {"images": "${samples}"},
            "read": {"each": "$.answers[*]", "values": "$"},
        }
        tensors = {"input": "input", "output": "output"}
        yield {
            "ours": {"preset": "native", "url": ours, "model": "bench", "options": {"endpoint": "softmax"}},
            "ours-binary": {"preset": "open-inference-binary", "url": ours, "model": "bench", "options": own},
            "mlserver": {
                "preset": "open-inference",
                "url": urls["mlserver"],
                "model": "bench",
                "options": tensors,
            },
            "kserve": {
                "preset": "open-inference",
                "url": urls["kserve"],
                "model": "bench",
                "options": tensors,
            },
            "kserve-binary": {
                "preset": "open-inference-binary",
                "url": urls["kserve"],
                "model": "bench",
                "options": tensors,
            },
            "mlflow": {"preset": "mlflow-inputs", "url": urls["mlflow"]},
            "bare": {"steps": [step]},
        }


def _withdraw(embedded_range: EmbeddedRange) -> None:
    record = embedded_range.record
    embedded_range("routes", "delete", "bench")
    url = f"{record.url('provider-honest')}/v1/operator/models/bench"
    httpx.delete(url, headers={"Authorization": f"Bearer {record.operator_key}"}).raise_for_status()


@pytest.fixture(scope="module")
def text(endpoints: dict[str, dict[str, Any]]) -> str:
    """The same scenario for all of them. Batches are of different sizes."""
    providers = {}
    for place, (name, asked) in enumerate(endpoints.items()):
        target = {
            "name": name,
            "owner": "team@example.com",
            "card": CARD,
            "limits": {"batch": 20 + 7 * place},
        }
        endpoint = target | asked
        providers[name] = {
            "behaviour": "remote",
            "target": "parity",
            "sensitive": "large",
            "endpoint": endpoint,
        }
    return yaml.safe_dump(
        {
            "name": "one-model",
            "seeds": [0],
            "chunk": 64,
            "data": DATA,
            "providers": providers,
            "clients": {"phones": {"kind": "edge", "count": 2, "samples": 96}},
            "defences": DEFENCES,
            "attacks": ATTACKS,
            "budgets": BUDGETS,
        }
    )


@pytest.fixture(scope="module")
def finished(text: str, controller: Controller) -> Finished:
    """The one run of that scenario."""
    run = controller.run(text)
    assert run.view["state"] == "done", run.view["error"]
    return run


def released(
    text: str, embedded_range: EmbeddedRange
) -> dict[str, dict[tuple[Any, ...], NDArray[np.float32]]]:
    """What each server's model released: by provider, then by defence, whose samples, and which."""
    plan, stored = expand(parse(text)), FolderStore(embedded_range.folder.releases)
    models = {model.id: model for model in plan.models}
    policies = {policy.defence: policy for policy in plan.policies}
    arrays: dict[str, dict[tuple[Any, ...], NDArray[np.float32]]] = defaultdict(dict)
    for probe in plan.probes:
        model, policy = models[probe.model], policies[probe.defence]
        for span in probe.spans:
            job = probe.job(model, policy, span, url="", account="", name="")
            place = (probe.defence, span.split, span.start, span.stop)
            arrays[model.provider][place] = get_array(stored, f"{job.identity()}.npy")
    return arrays


def test_every_server_has_its_releases_in_the_same_bytes(
    finished: Finished, text: str, embedded_range: EmbeddedRange
) -> None:
    arrays = released(text, embedded_range)
    assert set(arrays) == {*EXACT, "bare"}
    digests = {
        name: {place: hashlib.sha256(array.tobytes()).hexdigest() for place, array in chunks.items()}
        for name, chunks in arrays.items()
    }
    assert len(set(digests["ours"].values())) == len(digests["ours"]) >= 3
    for name in EXACT:
        assert digests[name] == digests["ours"], name
    for place, array in arrays["ours"].items():
        shortened = arrays["bare"][place]
        np.testing.assert_allclose(shortened, array, rtol=0, atol=10.0**-SHORTENED)
        # A defence takes what was cut off, and more.
        assert np.array_equal(shortened, array) == (place[0] != "none")


def test_every_server_has_the_same_figures(finished: Finished) -> None:
    trials = finished.trials
    assert len(trials) == 7 * len(DEFENCES) * len(ATTACKS) * len(BUDGETS)
    for name, trial in trials.items():
        figures = {metric: estimate["value"] for metric, estimate in trial["metrics"].items()}
        same = trials[f"ours{name.removeprefix(trial['provider'])}"]
        wanted = {metric: estimate["value"] for metric, estimate in same["metrics"].items()}
        assert (trial["spent"], trial["victims"]) == (same["spent"], same["victims"]), name
        tolerance = 1e-3 if trial["provider"] == "bare" and ".none." in name else 0.0
        assert figures == pytest.approx(wanted, rel=tolerance, abs=tolerance), name


def test_the_leak_is_found_and_stopped(finished: Finished) -> None:
    of = {
        defence: finished.trials[f"mlserver-s0.{defence}.attribute.aware.b{BUDGETS[1]}"]
        for defence in DEFENCES
    }
    assert value(of["none"], "auc") > 0.9
    assert max(value(of["rounded"], "auc"), value(of["label-only"], "auc")) < 0.7
    assert len({value(trial, "honesty") for trial in of.values()}) == 1
    assert value(of["none"], "honesty") > 0.9
