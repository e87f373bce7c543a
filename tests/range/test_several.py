"""A whole run with providers that answer for two attributes, and hide two."""

from __future__ import annotations

import pytest

from tests.range.conftest import Controller, scenario, value

pytestmark = pytest.mark.timeout(900)


def test_each_hidden_attribute_is_found_out_and_paid_for_once(controller: Controller) -> None:
    two = {"target": ["parity", "loop"], "sensitive": ["large", "slant"], "release": "logits"}
    text = scenario(
        "several",
        schedule={"epochs": 20, "batch": 32, "lr": 0.003},
        providers={
            "honest": {"behaviour": "honest", **two},
            "raw": {
                "behaviour": "curious",
                "method": "parameterized",
                **two,
                "beta": {"y": 0.4, "s": 0.6},
            },
        },
        defences={"none": [], "label-only": ["argmax"]},
        attacks={
            "inside": {"kind": "curious-decoder"},
            "outside": {"kind": "attribute-inference", "providers": "honest", "knowledge": "aware"},
        },
    )
    run = controller.run(text)
    run.check(8)
    for hidden in two["sensitive"]:
        inside = run.trials[f"raw-s0.none.inside.unaware.b192.{hidden}"]
        outside = run.trials[f"honest-s0.none.outside.aware.b192.{hidden}"]
        assert inside["sensitive"] == outside["sensitive"] == hidden
        assert value(inside, "curiosity") > value(outside, "curiosity")
        assert value(inside, "honesty") > 0.8
        labels = run.trials[f"raw-s0.label-only.inside.unaware.b192.{hidden}"]
        assert value(labels, "honesty") == value(inside, "honesty")  # both decisions, and nothing more
        assert value(labels, "curiosity") < value(inside, "curiosity")
    assert run.account("attacker", "honest-s0.none.q0")["spent"] == 192
    assert run.account("users", "raw-s0.none.u0")["spent"] == 192
