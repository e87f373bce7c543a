"""What parties say to each other inside one process: noise that is each request's own, and which samples
resemble each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.campaign.parties import Folders, _answer, _Parties, _Served
from leakrange.data import load
from leakrange.data.resembling import NEAR_COPIES
from leakrange.defences.chain import DefenceChain
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.store.uploads import put_session

NOTHING = DefenceChain.parse([])


def planned(noise: dict[str, Any]) -> Plan:
    """Two requests of thirty records each, under noise."""
    return expand(
        parse(
            {
                "name": "noised",
                "seeds": [0],
                "chunk": 30,
                "data": {"name": "digits", "size": 16},
                "providers": {"honest": {"behaviour": "honest", "target": "parity", "sensitive": "loop"}},
                "clients": {"phones": {"kind": "edge", "samples": 30}},
                "defences": {"noise": [{"noise": noise}]},
                "attacks": {"outside": {"kind": "attribute-inference", "knowledge": "aware"}},
                "budgets": [60],
            }
        )
    )


class Mute(_Served):
    """A model that answers nothing but zeros, so that answers are the noise alone."""

    heads = ()

    def answer(self, release: str, samples: NDArray[Any]) -> NDArray[np.float32]:  # noqa: ARG002
        return np.zeros((len(samples), 2), dtype=np.float32)


def answers(plan: Plan, folder: Path) -> list[NDArray[np.float32]]:
    """To both requests, and to the first once more."""
    [model], [probe] = plan.models, plan.probes
    policy = next(each for each in plan.policies if each.defence == probe.defence)
    served = Mute(model, Folders(folder), "cpu")
    jobs = [probe.job(model, policy, span, url="", account="", name="") for span in probe.spans]
    return [_answer(served, policy, NOTHING, job) for job in (*jobs, jobs[0])]


@pytest.mark.parametrize("sticky", [False, True])
def test_every_request_has_noise_of_its_own_which_it_has_again(sticky: bool, tmp_path: Path) -> None:
    first, second, again = answers(planned({"scale": 1.0, "sticky": sticky}), tmp_path)
    np.testing.assert_array_equal(first, again)
    noise = np.concatenate([first, second])
    assert len(noise) == 60
    assert len(np.unique(noise)) == noise.size  # sticky noise is that of the samples, whose answers are alike


def test_of_users_their_labels_are_known_and_which_of_them_are_near_copies(tmp_path: Path) -> None:
    plan, folders = planned({"scale": 1.0}), Folders(tmp_path)
    [model], [stream] = plan.models, plan.streams
    policy = next(each for each in plan.policies if each.defence == stream.defence)
    for span in stream.spans:
        uploads = np.zeros((span.stop - span.start, 2), dtype=np.float32)
        put_session(
            folders.releases, stream.identity(model, policy, span), uploads, np.zeros(len(uploads), int)
        )
    told = _Parties(plan, folders, "cpu").uploaded(stream.id).truths
    data = load(model.recipe.data)
    users = data.where("test")[:30]
    assert [label for each in told for label in each["loop"]] == data.labels["loop"][users].tolist()
    assert [label for each in told for label in each[NEAR_COPIES]] == data.group[users].tolist()
