"""What a kind of attack is told of the obfuscators that users' devices have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakrange.data import load
from leakrange.defences.artifact import find, save
from leakrange.defences.artifact import load as load_artifact
from leakrange.defences.chain import DefenceChain
from leakrange.defences.training import train_defence
from leakrange.jobs.recipe import DataSpec
from leakrange.store.files import FolderStore
from leakrange.wire.errors import NotFound
from services.controller.range.trial import obfuscator_records

DATA = DataSpec(name="quadrants", count=400)


def hiding(substitutes: int) -> dict[str, Any]:
    given = {"private": "s", "useful": "y", "net": "mlp", "epochs": 1, "batch": 50, "embedding": 4}
    return {"pass": given | {"substitutes": substitutes}}


def test_the_records_of_a_chain_name_the_substitutes_that_each_of_its_obfuscators_draws(
    tmp_path: Path,
) -> None:
    chain, recipes = DefenceChain.parse([hiding(7), {"gaussian-input": 0.1}, hiding(5)]).planned(DATA, seed=2)
    samples = load(DATA)
    for recipe in reversed(recipes):
        save(tmp_path, train_defence(recipe, samples))
    records = obfuscator_records(chain.spec(), FolderStore(tmp_path))
    assert [len(record["substitutes"]) for record in records] == [7, 5]
    labelled = samples.known("train", ("s", "y"))
    for record, recipe in zip(records, recipes, strict=True):
        folder = find(tmp_path, recipe.digest())
        assert folder is not None
        held = load_artifact(folder).module.state_dict()["substitutes"].numpy()
        np.testing.assert_array_equal(samples.values[labelled[record["substitutes"]]], held)


def test_where_nothing_was_trained_there_is_no_record_and_a_lost_one_is_told(tmp_path: Path) -> None:
    models = FolderStore(tmp_path)
    assert obfuscator_records([], models) == []
    assert obfuscator_records(DefenceChain.parse([{"gaussian-input": 0.1}]).spec(), models) == []
    planned, _ = DefenceChain.parse([hiding(7)]).planned(DATA, seed=2)
    with pytest.raises(NotFound):
        obfuscator_records(planned.spec(), models)
