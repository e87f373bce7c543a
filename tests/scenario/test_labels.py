"""The labels that pages, reports and the command share."""

from __future__ import annotations

import pytest

from leakrange.scenario import labels
from tests.report.build import trial


@pytest.mark.parametrize(
    ("behaviour", "hidden", "label"),
    [
        ("honest", "slant", "honest: hides nothing"),
        ("honest/private", None, "honest: hides nothing"),
        ("curious/regularized", "facial-hair", "curious: hides “facial hair”"),
        ("curious", ["race-2", "gender"], "curious: hides “race” in 2 groups and “gender”"),
        ("curious", None, "curious: hides something"),
        ("curious", "", "curious: hides something"),
        ("vicious", None, "vicious: hides the whole input"),
        ("remote", None, "remote: somebody else’s model"),
        ("plugin/sly", "slant", "plugin"),
    ],
)
def test_what_a_provider_does(behaviour: str, hidden: list[str] | str | None, label: str) -> None:
    assert labels.role(behaviour, hidden) == label


def test_a_provider_in_one_role() -> None:
    assert labels.in_role("ours", {}) == "ours"
    assert labels.in_role("ours", {"sensitive": "", "leakage": "psnr"}) == "ours: by PSNR"
    roles = {
        "data": "digits",
        "release": "logits",
        "target": "parity",
        "sensitive": "slant",
        "leakage": "auc",
    }
    assert (
        labels.in_role("ours", roles) == "ours: on digits, from logits, asked for “parity”, “slant”, by AUC"
    )


def test_a_trial() -> None:
    told = labels.trial(trial("digits", "honest", "rounded", "aware", 1000, 1))
    assert told == "outside (aware) at digits-honest under rounded, budget 1,000, seed 1"
