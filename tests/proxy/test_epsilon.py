"""A limit of the privacy loss: what private answers cost, what is refused, and what the operator reads."""

from __future__ import annotations

import math

import httpx
import numpy as np
import pytest

from leakrange.wire.tensors import NPY, decode_npy, encode_npy
from tests.proxy.conftest import Range, pictures, problem
from tests.proxy.servers import CLASSES
from tests.proxy.test_limit_commands import command


@pytest.fixture
def voting(live: Range) -> Range:
    """The proxy before an ensemble: 20 voters, 16 of them for the second class."""

    async def answer(path: str) -> tuple[int, str, bytes] | None:
        if path.endswith("/softmax"):
            shares = np.full((3, CLASSES), 0.05, dtype=np.float32)
            shares[:, 1] = 1.0 - 0.05 * (CLASSES - 1)
            return 200, NPY, encode_npy(shares)
        return None

    live.provider.before = answer
    live.policy({"noisy-vote": {"voters": 20, "sigma": 2.0}})
    return live


def ask(live: Range, key: str, endpoint: str = "softmax") -> httpx.Response:
    """Ask about three samples."""
    return live.post(key, endpoint, encode_npy(pictures(3)))


def spent(live: Range, name: str = "private") -> dict[str, float]:
    told: dict[str, float] = live.admin("GET", f"/limits/{name}")["spent"]
    return told


def test_answers_are_decisions_and_each_costs_the_same(voting: Range) -> None:
    """A sample costs rho = 1/4. With delta = 1e-5, epsilon = 12 pays for 7 of them: 7/4 + 2 sqrt(7/4 ln 1e5)
    is 10.73, and 8 would cost 11.60; 9 would cost 12.43."""
    voting.admin("PUT", "/limits/private", {"kind": "epsilon", "epsilon": 12.0})
    key, other = voting.key(None, limits=["private"]), voting.key(None, id="other", limits=["private"])
    first = ask(voting, key)
    answers = decode_npy(first.content)
    assert set(np.unique(answers).tolist()) == {0.0, 1.0}
    assert (answers.sum(axis=1) == 1.0).all()
    assert (first.headers["RateLimit-Limit"], first.headers["RateLimit-Remaining"]) == ("8", "5")
    assert ask(voting, key).headers["RateLimit-Remaining"] == "2"
    told = problem(ask(voting, key), 429, "budget-exhausted")
    assert (told["limit"], told["remaining"], told["asked"]) == ("private", 2, 3)
    assert "what all answers together tell of a training record (its epsilon)" in told["detail"]
    assert ask(voting, other).status_code == 200
    by_hand = {
        "key": 1.5 + 2 * math.sqrt(1.5 * math.log(1e5)),
        "other": 0.75 + 2 * math.sqrt(0.75 * math.log(1e5)),
    }
    assert spent(voting) == pytest.approx(by_hand)


def test_what_the_provider_fails_to_answer_costs_nothing(voting: Range) -> None:
    voting.admin("PUT", "/limits/private", {"kind": "epsilon", "epsilon": 12.0})
    key = voting.key(None, limits=["private"])
    assert ask(voting, key).status_code == 200
    before = spent(voting)

    async def fail(_: str) -> int:
        return 500

    voting.provider.before = fail
    assert ask(voting, key).status_code == 502
    assert spent(voting) == before


def test_together_all_keys_have_one_epsilon(voting: Range) -> None:
    voting.admin("PUT", "/limits/private", {"kind": "epsilon", "epsilon": 12.0, "together": True})
    keys = [voting.key(None, id=name, limits=["private"]) for name in ("one", "two", "three")]
    assert [ask(voting, key).status_code for key in keys] == [200, 200, 429]
    assert list(spent(voting)) == ["all"]


def test_what_promises_nothing_is_refused(voting: Range) -> None:
    """Other releases, a policy that rounds before it votes, and the model's file."""
    voting.admin("PUT", "/limits/private", {"kind": "epsilon", "epsilon": 100.0})
    key = voting.key(None, limits=["private"])
    told = problem(ask(voting, key, "features"), 403, "forbidden")
    assert "noisy-vote means nothing on a features release" in told["detail"]
    artifact = voting.client.get(
        f"{voting.url}/v1/models/digits/artifact", headers={"Authorization": f"Bearer {key}"}
    )
    problem(artifact, 403, "forbidden")
    voting.policy({"round": {"decimals": 1}}, {"noisy-vote": {"voters": 20, "sigma": 2.0}})
    told = problem(ask(voting, key), 403, "forbidden")
    assert "are not private" in told["detail"]
    assert spent(voting) == {}


def test_answers_that_are_no_votes_never_leave(voting: Range) -> None:
    voting.provider.before = None
    voting.admin("PUT", "/limits/private", {"kind": "epsilon", "epsilon": 12.0})
    answer = ask(voting, voting.key(None, limits=["private"]))
    problem(answer, 502, "upstream-failed")
    assert spent(voting) == {"key": 0.0}


def test_the_operator_reads_the_epsilon_of_each_key(voting: Range) -> None:
    put = command(voting, "limits", "put", "private", "epsilon", "epsilon=12", "delta=1e-6")
    assert put.returncode == 0, put.stderr
    assert ask(voting, voting.key(None, limits=["private"])).status_code == 200
    shown = command(voting, "limits", "show", "private")
    assert f"key: {0.75 + 2 * math.sqrt(0.75 * math.log(1e6)):.3g}" in shown.stdout
    wrong = command(voting, "limits", "put", "private", "epsilon", "epsilon=0")
    assert wrong.returncode == 2
    assert "epsilon: Input should be greater than 0" in wrong.stderr
