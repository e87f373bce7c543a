"""A whole run in which users send samples: with noise and without, decided on, and read along."""

from __future__ import annotations

import pytest

from tests.range.conftest import Controller, scenario, value

pytestmark = pytest.mark.timeout(900)


def test_noise_on_samples_hides_an_attribute_and_costs_decisions(controller: Controller) -> None:
    honest = {"behaviour": "honest", "target": "parity", "sensitive": "large", "release": "sample"}
    text = scenario(
        "samples",
        data={"name": "digits", "size": 16, "auxiliary": 0.3},
        providers={"honest": honest},
        defences={"none": [], "gaussian": [{"gaussian-input": 2.0}]},
        attacks={"outside": {"kind": "attribute-inference", "knowledge": ["unaware", "aware"]}},
        budgets=[400],
    )
    run = controller.run(text)
    run.check(3)
    clean, noisy, unaware = (
        run.trials[f"honest-s0.{name}.b400"]
        for name in ("none.outside.unaware", "gaussian.outside.aware", "gaussian.outside.unaware")
    )
    assert value(clean, "honesty") > 0.85
    assert value(clean, "curiosity") > 0.75
    for trial in (noisy, unaware):
        assert value(trial, "honesty") < value(clean, "honesty") - 0.1
        assert value(trial, "curiosity") < value(clean, "curiosity") - 0.1
        assert (trial["victims"], trial["spent"]) == (192, 400)
    spent = {entry["name"].removeprefix(f"{run.id}."): entry["spent"] for entry in run.results["ledger"]}
    assert spent["attacker.honest-s0.none.q0"] == spent["attacker.honest-s0.gaussian.device0"] == 400
    assert spent["users.honest-s0.gaussian.u0"] == 192
