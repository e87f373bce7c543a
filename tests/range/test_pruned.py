"""An attacker who knows that users prune their model downloads it and prunes it too."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.data.spans import span_of
from leakrange.defences.chain import DefenceChain
from leakrange.providers import artifact
from leakrange.providers.inference import outputs
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.store.files import FolderStore, get_array
from tests.embedded import EmbeddedRange
from tests.range.conftest import Controller, scenario

pytestmark = pytest.mark.timeout(900)
PRUNED = [{"prune": {"amount": 0.8}}, {"round": {"decimals": 1}}]
TEXT = scenario(
    "pruned",
    schedule={"epochs": 6},  # a model of its own, which no other test has asked
    defences={"pruned": PRUNED},
    attacks={
        "outside": {
            "kind": "attribute-inference",
            "providers": "honest",
            "knowledge": ["unaware", "aware"],
        }
    },
)


def test_who_knows_is_fitted_on_outputs_of_the_pruned_model_and_asks_for_none(
    controller: Controller, embedded_range: EmbeddedRange
) -> None:
    run = controller.run(TEXT)
    run.check(2)
    assert run.account("attacker", "honest-s0.none.q0")["spent"] == 192
    downloaded = run.account("attacker", "honest-s0.pruned.device0")
    assert (downloaded["spent"], downloaded["budget"]) == (0, 0)
    spent = {trial["knowledge"]: trial["spent"] for trial in run.trials.values()}
    assert spent == {"unaware": 192, "aware": 0}

    plan = expand(parse(TEXT))
    [probe] = [each for each in plan.probes if each.downloads]
    [policy] = [each for each in plan.policies if each.defence == "pruned"]
    [model] = plan.models
    folder = artifact.find(embedded_range.folder.models, model.artifact)
    assert folder is not None
    whole, chain = artifact.load(folder).classifier, DefenceChain.parse(PRUNED)
    for span in probe.spans:
        identity = probe.job(model, policy, span, url="", account="", name="").identity()
        found = get_array(FolderStore(embedded_range.folder.releases), f"{identity}.npy")
        data, chosen = span_of(span)
        of_pruned, of_whole = (
            outputs(each, data.values[chosen], model.release) for each in (chain.harden(whole), whole)
        )
        assert np.abs(found - of_pruned).max() < 0.051  # rounded, as the proxy rounds
        assert np.abs(found - of_whole).max() > 0.2
        np.testing.assert_allclose(found * 10, np.round(found * 10), atol=1e-4)
