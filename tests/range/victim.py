"""A small run that visitors can try: its models are soon trained, and good enough to be recognised by."""

from __future__ import annotations

import pytest

from tests.range.conftest import Controller, Finished, scenario

__all__ = ["DATA", "run"]

DATA = {"name": "digits", "size": 16, "auxiliary": 0.3}


@pytest.fixture(scope="module")
def run(controller: Controller) -> Finished:
    """One run for all modules that try it."""
    url = str(controller.client.base_url)
    if url not in _tried:
        _tried[url] = _run(controller)
    return _tried[url]


_tried: dict[str, Finished] = {}


def _run(controller: Controller) -> Finished:
    digits = {"target": "digit", "release": "logits"}
    text = scenario(
        "tried",
        data=DATA,
        net={"name": "strided-conv", "width": 0.5},
        schedule={"epochs": 9, "batch": 32, "lr": 0.005},
        providers={
            "honest": {"behaviour": "honest", **digits},
            "curious": {
                "behaviour": "curious",
                "method": "parameterized",
                "sensitive": "slant",
                "beta": {"y": 0.5, "s": 0.5},
                **digits,
            },
            "vicious": {
                "behaviour": "vicious",
                "target": "digit",
                "beta": {"c": 1, "r": 3},
                "decoder": {"width": 0.5},
            },
        },
        defences={"none": [], "rounded": [{"round": {"decimals": 0}}], "label-only": ["argmax"]},
        attacks={
            "inside": {"kind": "curious-decoder"},
            "redrawn": {"kind": "vicious-decoder"},
            "outside": {
                "kind": "attribute-inference",
                "providers": ["honest", "curious"],
                "sensitive": "slant",
                "auxiliary": 150,
                "knowledge": "aware",
            },
        },
        budgets=[200],
    )
    return controller.run(text)
