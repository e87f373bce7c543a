"""The drawn table: what tells what, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from leakrange.data import load, load_labels
from leakrange.jobs.recipe import DataSpec
from tests.data.labels import same_but_the_images

SPEC = DataSpec(name="synthtable", count=4000)


def learned(columns: list[int], attribute: str) -> float:
    found = load(SPEC)
    train, test = found.where("train"), found.where("test")
    labels = found.labels[attribute]
    made = LogisticRegression(max_iter=500).fit(found.values[train][:, columns], labels[train])
    return float(made.score(found.values[test][:, columns], labels[test]))


@pytest.mark.parametrize(
    ("attribute", "own", "least"),
    [("passes", range(6), 0.85), ("group", (6, 7), 0.9), ("home", (8, 9), 0.7)],
)
def test_every_attribute_has_columns_that_tell_it(attribute: str, own: range, least: float) -> None:
    assert learned(list(own), attribute) > least


def test_attributes_do_not_depend_on_each_other() -> None:
    labels = load_labels(SPEC).labels
    for one, other in (("passes", "group"), ("passes", "home"), ("group", "home")):
        assert abs(np.corrcoef(labels[one], labels[other])[0, 1]) < 0.05
    assert learned([6, 7], "passes") < 0.6
    assert learned([8, 9], "group") < 0.6


def test_a_seed_draws_rows_of_its_own() -> None:
    found, other = load(SPEC), load(DataSpec(name="synthtable", count=4000, seed=1))
    assert (found.values != other.values).mean() > 0.9
    assert found.fingerprint != other.fingerprint
    same_but_the_images(load_labels(SPEC), found)
