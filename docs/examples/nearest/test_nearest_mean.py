import numpy as np
import pytest

from leakrange.attacks import attacks
from leakrange.attacks.attack import Evidence


@pytest.mark.parametrize(("apart", "least", "most"), [(3.0, 0.9, 1.0), (0.0, 0.4, 0.6)])
def test_it_finds_what_releases_show_and_no_more(apart: float, least: float, most: float) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 800)
    releases = (rng.normal(size=(800, 4)) + apart * labels[:, None]).astype(np.float32)
    evidence = Evidence(
        auxiliary=releases[:400],
        auxiliary_labels=labels[:400],
        observed=releases[400:],
        classes=2,
        release="logits",
    )
    attack = attacks["nearest-mean"]
    guesses = attack(attack.Parameters(sensitive="facial-hair")).infer(evidence)
    assert least <= (guesses.predicted == labels[400:]).mean() <= most
