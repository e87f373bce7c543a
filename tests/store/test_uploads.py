"""What users' uploads are worth to them, when a policy has made of logits something else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax

from leakrange.attacks.kinds.trial import Uploaded
from leakrange.defences.output import ReleaseContext
from leakrange.jobs.recipe import DataSpec
from leakrange.metrics import measured
from leakrange.metrics.outcomes import Predictions
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.store.files import FolderStore
from leakrange.store.uploads import put_session, read_uploads
from leakrange.wire.digests import digest

SCENARIO = """\
name: soft
seeds: [0]
data: {name: digits, size: 16}
providers:
  honest: {behaviour: honest, target: digit, sensitive: parity, release: logits}
clients:
  phones: {kind: edge, count: 2, samples: 400}
defences:
  none: []
  softmax: [softmax]
  rounded: [softmax, round: {decimals: 2}]
  top-3: [softmax, top-k: {k: 3, rest: zero}]
  sharper: [softmax, temperature: 0.5]
  label-only: [argmax]
attacks:
  outside: {kind: attribute-inference}
budgets: [64]
"""
USERS = 400


@pytest.fixture(scope="module")
def plan() -> Plan:
    def sizes(spec: DataSpec) -> dict[str, int]:
        return {"train": 900, "held-out": 0, "validation": 50, "auxiliary": 600, "test": USERS}

    return expand(parse(SCENARIO), sizes)


@pytest.fixture
def truth() -> NDArray[np.int64]:
    return np.random.default_rng(1).integers(0, 10, USERS)


def received(
    defence: str, logits: NDArray[np.floating], truth: NDArray[np.int64], plan: Plan, releases: FolderStore
) -> Uploaded:
    """What there is of the users' uploads under a defence, in two sessions."""
    stream = next(stream for stream in plan.streams if stream.defence == defence)
    policy = next(policy for policy in plan.policies if policy.defence == defence)
    model = next(model for model in plan.models if model.id == stream.model)
    values = policy.chain.apply(logits, ReleaseContext(release="logits"))
    identities, truths = [], []
    for start, stop in ((0, 150), (150, USERS)):
        identity = digest(["session", defence, start])
        put_session(releases, identity, values[start:stop], values[start:stop].argmax(axis=1))
        identities.append(identity)
        truths.append({"digit": truth[start:stop].tolist()})
    return read_uploads(identities, truths, stream.released(model, policy), plan.heads(model), releases)


@pytest.mark.parametrize("defence", ["none", "softmax", "rounded", "top-3", "sharper", "label-only"])
def test_a_confidence_is_judged_as_what_users_get(
    defence: str, truth: NDArray[np.int64], plan: Plan, tmp_path: Path
) -> None:
    """Sure and mostly right: as logits once more, probabilities would say a quarter at most."""
    rng = np.random.default_rng(5)
    logits = (rng.normal(size=(USERS, 10)) + 7 * np.eye(10)[truth]).astype(np.float32)
    uploaded = received(defence, logits, truth, plan, FolderStore(tmp_path))
    assert uploaded.soft is not None
    soft = softmax(logits.astype(float), axis=1)
    top = np.sort(soft, axis=1)[:, -3:-2]
    expected = {
        "none": soft,
        "softmax": soft,
        "rounded": soft.round(2),
        "top-3": np.where(soft >= top, soft, 0.0),
        "sharper": soft**2 / (soft**2).sum(axis=1, keepdims=True),
        "label-only": np.eye(10)[soft.argmax(axis=1)],
    }[defence]
    np.testing.assert_allclose(uploaded.soft, expected, atol=1e-6)
    found = measured(Predictions(uploaded.soft, uploaded.truth("digit")))
    assert found["calibration_error"].value < 0.05
    assert found["top3"].value > 0.99
    assert uploaded.values == 10


def test_every_attribute_has_probabilities_of_its_own(tmp_path: Path) -> None:
    releases, identity = FolderStore(tmp_path), digest(["session of two attributes"])
    logits = np.array([[2.0, 0.0, 1.0, 1.0, 3.0]], dtype=np.float32)
    put_session(releases, identity, logits, [[0, 2]])
    soft = read_uploads([identity], [{}], "logits", (2, 3), releases).soft
    assert soft is not None
    parts = (softmax(part, axis=1) for part in np.split(logits.astype(float), [2], axis=1))
    np.testing.assert_allclose(soft, np.concatenate(list(parts), axis=1), atol=1e-6)


def test_logits_between_0_and_1_are_logits(truth: NDArray[np.int64], plan: Plan, tmp_path: Path) -> None:
    logits = np.eye(10, dtype=np.float32)[truth]
    uploaded = received("none", logits, truth, plan, FolderStore(tmp_path))
    assert uploaded.soft is not None
    np.testing.assert_allclose(uploaded.soft, softmax(logits.astype(float), axis=1), atol=1e-6)
