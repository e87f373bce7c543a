"""What seeded training gives, to four digits. A figure that changes here means that models of the same recipe
are no longer the same: raise the version of what changed (`leakrange.jobs.versions`), and put the new figure
under the new version."""

import hashlib

import numpy as np
import pytest
import torch

from leakrange.data import Samples, datasets, load
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.jobs.versions import LOOP_VERSION
from leakrange.nets import nets
from leakrange.providers import student
from leakrange.providers.behaviours import behaviours
from leakrange.providers.training import train
from leakrange.providers.transfer import fine_tune
from leakrange.wire.samples import SampleSpec
from tests.providers.conftest import CASES, recipe

LOSSES: dict[tuple[str, int, int], list[float]] = {
    ("honest", 1, 1): [0.3498, 0.0311],
    ("ensemble", 1, 1): [0.6064, 0.3428],
    ("margin", 1, 1): [0.7772, 0.0251],
    ("regularized", 1, 1): [0.1733, -0.0320],
    ("raw", 1, 1): [0.4558, 0.2282],
    ("soft", 1, 1): [0.6800, 0.6736],
    ("logarithm", 1, 1): [0.6315, 0.6020],
    ("mixture", 1, 1): [0.6661, 0.0527],
    ("convex", 1, 1): [0.4653, 0.3569],
    ("vicious", 1, 1): [2.2049, 1.2747],
    ("sigmoid", 1, 1): [3.3677, 2.0942],
    ("private", 1, 1): [0.6607, 0.5613],
}
"""By case, version of its behaviour, and `LOOP_VERSION`: the training loss of each of two epochs."""

NETS: dict[tuple[str, int], tuple[int, float]] = {
    ("hbc", 1): (15157, 0.071118),
    ("hbc-student", 1): (6581, 0.085137),
    ("residual", 1): (147925, 0.031006),
    ("linear", 1): (3845, 0.21833),
    ("inception-resnet-v1", 1): (1477957, 0.061093),
    ("mlp", 1): (2421, 0.091586),
    ("conv-1d", 1): (7629, 0.17671),
    ("conv-2d", 1): (5801, 0.056639),
    ("conv-2d-groups", 1): (5801, 0.120815),
    ("strided-conv", 1): (10025, 0.097919),
    ("wide-resnet", 1): (575509, 0.074753),
    ("tappfl-mlp", 1): (1493, 0.18854),
    ("tappfl-conv", 1): (82389, 0.26759),
    ("tappfl-small", 1): (5733, 0.17455),
}
"""By net and its version: how many parameters, and the mean size of the logits of a fresh net."""

SETS: dict[tuple[str, int], tuple[str, float]] = {
    ("digits", 1): ("2d6fdfabdf6c16f4", 77.854),
    ("diabetes", 1): ("2bea24483c5cf1c9", 71.920),
    ("synthmotion", 1): ("ebc50a63daefcace", 0.33489),
    ("synthtable", 1): ("a499a51442b0eac9", 0.022206),
    ("quadrants", 1): ("a8751b5f128122eb", 129.38),
    ("synthfaces", 1): ("f75ddc5dccac20f6", 124.93),
    ("synthpeople", 1): ("84c56ddc325482d5", 124.00),
}
"""By data set and its version: digest of all labels and splits, and the mean value."""

SPECS = {
    "digits": DataSpec(name="digits"),
    "diabetes": DataSpec(name="diabetes"),
    "synthmotion": DataSpec(name="synthmotion", count=300),
    "synthtable": DataSpec(name="synthtable", count=500),
    "quadrants": DataSpec(name="quadrants", count=500),
    "synthfaces": DataSpec(name="synthfaces", count=300, size=32),
    "synthpeople": DataSpec(name="synthpeople", size=16),
}
SAMPLES = {
    "hbc": SampleSpec.picture(32, 32, 3),
    "hbc-student": SampleSpec.picture(32, 32, 3),
    "residual": SampleSpec.picture(32, 32, 3),
    "linear": SampleSpec.picture(16, 16, 3),
    "inception-resnet-v1": SampleSpec.picture(80, 80, 3),
    "mlp": SampleSpec(encoding="vector", shape=(20,), dtype="float32"),
    "conv-1d": SampleSpec(encoding="series", shape=(64, 3), dtype="float32"),
    "conv-2d": SampleSpec.picture(32, 32, 3),
    "conv-2d-groups": SampleSpec.picture(32, 32, 3),
    "strided-conv": SampleSpec.picture(32, 32, 3),
    "wide-resnet": SampleSpec.picture(32, 32, 3),
    "tappfl-mlp": SampleSpec(encoding="vector", shape=(20,), dtype="float32"),
    "tappfl-conv": SampleSpec.picture(32, 32, 3),
    "tappfl-small": SampleSpec.picture(32, 32, 3),
}


@pytest.mark.parametrize("case", CASES)
def test_a_behaviour_trains_as_its_version_says(case: str, images: Samples) -> None:
    name, parameters = CASES[case]
    history = train(recipe(name, parameters, epochs=2), images).history
    found = [entry["loss"] for entry in history]
    assert found == pytest.approx(LOSSES[case, behaviours[name].version, LOOP_VERSION], abs=1e-4)


def test_all_behaviours_are_looked_after() -> None:
    assert {name for name, _ in CASES.values()} == {name for name, each in behaviours.items() if each.trains}
    assert {name for name, _ in NETS} == set(nets)
    assert {name for name, _ in SETS} == {name for name, entry in datasets.items() if entry.procedural()} | {
        "digits",
        "diabetes",
    }


@pytest.mark.parametrize("name", SAMPLES)
def test_a_net_is_built_as_its_version_says(name: str) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        width = 1.0 if name == "linear" else 0.25
        spec = SAMPLES[name]
        net = nets[name].build(spec, 5, width).eval()
        x = torch.rand(4, spec.shape[-1], *spec.shape[:-1]) * 2.0 - 1.0
    with torch.inference_mode():
        size = float(net(x).abs().mean())
    parameters, mean = NETS[name, nets[name].version]
    assert net.parameter_count() == parameters
    assert size == pytest.approx(mean, rel=2e-4)


@pytest.mark.parametrize("name", SPECS)
def test_a_data_set_gives_what_its_version_says(name: str) -> None:
    found = load(SPECS[name])
    sums = hashlib.sha256(found.split.tobytes())
    for attribute in sorted(found.labels):
        sums.update(np.ascontiguousarray(found.labels[attribute], dtype="<i8").tobytes())
    labels, mean = SETS[name, datasets[name].version]
    assert sums.hexdigest()[:16] == labels
    assert float(found.values.mean()) == pytest.approx(mean, rel=2e-4)


def test_a_student_learns_as_its_version_says(images: Samples) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        teacher = nets["linear"].build(images.spec, 2).eval()
    chosen = images.where("auxiliary")
    head = fine_tune(teacher, images.values[chosen], images.labels["bag"][chosen], 3, seed=2).head
    assert student.VERSION == 1
    assert float(head.weight.abs().mean()) == pytest.approx(0.30864, rel=2e-4)


def test_defaults_are_those_that_models_were_named_with() -> None:
    """A recipe's digest leaves defaults out: another default is another version of the loop."""
    plain = TrainingRecipe(data=DataSpec(name="digits"), behaviour="honest")
    assert plain.identity() == {
        "data": {"name": "digits"},
        "behaviour": "honest",
        "versions": {"data": 1, "net": 1, "trainer": 1, "loop": LOOP_VERSION},
    }
    assert (plain.data.validation, plain.data.auxiliary, plain.data.seed, plain.data.size) == (
        0.1,
        0.15,
        0,
        None,
    )
    assert (plain.data.limit, plain.data.count, plain.data.subset, plain.data.crowd) == (None,) * 4
    assert plain.net == NetSpec(name="hbc", width=1.0)
    assert plain.schedule == Schedule(
        epochs=15, batch=100, lr=1e-3, channels_last=True, bf16=False, select="best"
    )
    assert (plain.parameters, plain.seed) == ({}, 0)
