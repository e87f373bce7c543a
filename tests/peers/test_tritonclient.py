"""tritonclient before the proxy: it changes one address, and gets no more than a policy allows."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.peers.environments import interpreter
from tests.proxy.conftest import Range, pictures
from tests.proxy.servers import CLASSES, SHAPE, clean

pytestmark = pytest.mark.peers


def session(part: str, live: Range, key: str, tmp_path: Path) -> dict[str, dict[str, Any]]:
    """What came of each request of that part."""
    np.save(tmp_path / "pictures.npy", pictures(3))
    script = Path(__file__).with_name("tritonclient_session.py")
    command = [
        interpreter("peers"),
        script,
        part,
        live.url.removeprefix("http://"),
        key,
        tmp_path / "pictures.npy",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    requests: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return requests


def test_its_answers_are_defended_and_its_budget_is_exact(live: Range, tmp_path: Path) -> None:
    live.policy({"round": {"decimals": 1}})
    requests = session("answers", live, live.key(7), tmp_path)
    rounded = np.round(clean("logits", pictures(3)), 1)
    assert requests["live"] == requests["ready"] == {"answer": True}
    metadata = requests["metadata"]["answer"]
    assert metadata["inputs"] == [{"name": "input", "datatype": "UINT8", "shape": [-1, *SHAPE]}]
    assert metadata["outputs"] == [{"name": "logits", "datatype": "FP32", "shape": [-1, CLASSES]}]
    for name, count in (("json", 2), ("binary", 2), ("whatever it gives", 1)):
        np.testing.assert_allclose(requests[name]["answer"], rounded[:count], atol=1e-6)
    # Five of seven pictures are spent: of four requests at the same time two are answered.
    assert requests["at once"] == {"answer": ["200", "200", "429", "429"]}
    assert requests["exhausted"]["status"] == "429"
    assert "asked, 0 remain" in requests["exhausted"]["message"]
    assert live.account()["spent"] == 7


def test_nothing_that_undoes_a_defence_can_be_asked_by_it(live: Range, tmp_path: Path) -> None:
    live.policy("argmax")
    requests = session("permissions", live, live.key(10), tmp_path)
    assert len(requests) > 20
    for name, request in requests.items():
        assert request.get("status") in ("404", "405", "422"), (name, request)
        assert request["message"], name
        assert "an exception occurred in the client" not in request["message"], name
    assert live.account()["spent"] == 0
    assert live.provider.data_requests() == []
