import subprocess
import sys
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from leakrange.data.samples import Samples
from leakrange.jobs.recipe import Schedule
from leakrange.metrics import entropy_bits
from leakrange.nets import nets
from leakrange.nets.classifier import to_input
from leakrange.providers.behaviours import behaviours
from leakrange.providers.inference import logits_of


def test_every_behaviour_says_what_it_is_and_where_it_comes_from() -> None:
    assert list(behaviours) == [
        "curious/convex",
        "curious/mixture",
        "curious/parameterized",
        "curious/regularized",
        "honest",
        "honest/ensemble",
        "honest/margin",
        "honest/private",
        "remote",
        "vicious",
    ]
    for behaviour in behaviours.values():
        assert behaviour.summary
        assert behaviour.paper
        assert behaviour.equation
        assert set(behaviour.releases) <= {"logits", "softmax", "features"}
        with pytest.raises(ValidationError, match="extra"):
            behaviour.Parameters.model_validate({"target": "a", "sensitive": "b", "nonsense": 1})


def test_the_default_release_is_the_one_that_the_decoder_reads() -> None:
    def released(name: str, **parameters: object) -> str:
        entry = behaviours[name]
        return entry.release(entry.Parameters.model_validate({"target": "a", **parameters}))

    assert released("honest") == "logits"
    assert released("curious/regularized", sensitive="b") == "softmax"
    assert released("curious/parameterized", sensitive="b") == "logits"
    assert released("curious/parameterized", sensitive="b", release="softmax") == "softmax"


@pytest.mark.parametrize(
    "registry",
    [
        "providers.behaviours.behaviours",
        "providers.decoders.decoders",
        "attacks.attacks",
        "nets.nets",
        "nets.reconstructors.reconstructors",
    ],
)
def test_listing_needs_no_deep_learning_framework(registry: str) -> None:
    module, name = f"leakrange.{registry}".rsplit(".", 1)
    code = (
        f"import sys; sys.modules['torch'] = None; sys.modules['safetensors'] = None\n"
        f"from {module} import {name}\n"
        f"assert len({name}) and [getattr(e, 'Parameters', None) for e in {name}.values()]\n"
        "from leakrange.jobs.recipe import DataSpec, TrainingRecipe\n"
        "named = TrainingRecipe(data=DataSpec(name='digits'), behaviour='honest')\n"
        "assert named.digest() and min(named.versions.model_dump().values()) == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("behaviour", "parameters"),
    [
        ("honest", {"target": "hat"}),
        ("curious/parameterized", {"target": "hat", "sensitive": "shoe", "beta": {"y": 0.7, "s": 0.3}}),
    ],
)
def test_beta_x_lowers_the_entropy_of_the_outputs(
    behaviour: str, parameters: dict[str, Any], images: Samples
) -> None:
    def bits(x: float) -> float:
        """After forty steps on the same batch, so that no choice of an epoch comes between."""
        torch.manual_seed(0)
        entry = behaviours[behaviour]
        chosen = entry.Parameters.model_validate(parameters | {"beta": parameters.get("beta", {}) | {"x": x}})
        net = nets["hbc"].build(images.spec, 2, 0.5)
        trainee = entry(chosen, net, 2, Schedule())
        pictures = torch.from_numpy(images.values[:100])
        hat, shoe = (torch.from_numpy(images.labels[name][:100]) for name in ("hat", "shoe"))
        for _ in range(40):
            trainee.step(to_input(pictures, net.spec), hat, shoe)
        return float(entropy_bits(logits_of(net, pictures).softmax(dim=1).numpy()).mean())

    assert bits(0.8) < 0.6 * bits(0.0)
