import subprocess
import sys

import pytest
from pydantic import ValidationError

from leakrange.providers.behaviours import behaviours


def test_every_behaviour_says_what_it_is_and_where_it_comes_from() -> None:
    assert list(behaviours) == [
        "curious/convex",
        "curious/mixture",
        "curious/parameterized",
        "curious/regularized",
        "honest",
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


@pytest.mark.parametrize("registry", ["providers.behaviours.behaviours", "attacks.attacks", "nets.nets"])
def test_listing_needs_no_deep_learning_framework(registry: str) -> None:
    module, name = f"leakrange.{registry}".rsplit(".", 1)
    code = (
        f"import sys; sys.modules['torch'] = None; sys.modules['safetensors'] = None\n"
        f"from {module} import {name}\n"
        f"assert len({name}) and [getattr(e, 'Parameters', None) for e in {name}.values()]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
