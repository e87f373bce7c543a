"""What the controller tells of the obfuscators that users' devices have, and gives out."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import numpy as np
import pytest

from leakrange.data import load
from leakrange.defences.artifact import find, save
from leakrange.defences.artifact import load as load_artifact
from leakrange.defences.chain import DefenceChain
from leakrange.defences.training import train_defence
from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.stored_trial import obfuscator_records
from leakrange.services.controller.engine.engine import Engine
from leakrange.services.controller.engine.how.fleet import file_hash
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.record import StepRecord
from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.files import FolderStore, get_record
from leakrange.wire.errors import NotFound
from tests.controller.conftest import OPERATOR, problem, serve

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
    records = obfuscator_records(chain, partial(get_record, FolderStore(tmp_path)))
    assert [len(record["substitutes"]) for record in records] == [7, 5]
    labelled = samples.known("train", ("s", "y"))
    for record, recipe in zip(records, recipes, strict=True):
        folder = find(tmp_path, recipe.digest())
        assert folder is not None
        held = load_artifact(folder).module.state_dict()["substitutes"].numpy()
        np.testing.assert_array_equal(samples.values[labelled[record["substitutes"]]], held)


def test_where_nothing_was_trained_there_is_no_record_and_a_lost_one_is_told(tmp_path: Path) -> None:
    models = partial(get_record, FolderStore(tmp_path))
    assert obfuscator_records(DefenceChain(), models) == []
    assert obfuscator_records(DefenceChain.parse([{"gaussian-input": 0.1}]), models) == []
    planned, _ = DefenceChain.parse([hiding(7)]).planned(DATA, seed=2)
    with pytest.raises(NotFound):
        obfuscator_records(planned, models)


def test_the_file_of_an_obfuscator_is_known_by_its_hash_and_that_of_another_recipe_is_not(
    tmp_path: Path,
) -> None:
    _, recipes = DefenceChain.parse([hiding(7), hiding(5)]).planned(DATA, seed=2)
    folder = save(tmp_path, train_defence(recipes[0], load(DATA)))
    content = (folder / "defence.safetensors").read_bytes()
    nobody = cast(Any, None)  # is asked for nothing
    parties = cast(
        Parties,
        SimpleNamespace(models=FolderStore(tmp_path), proxy=nobody, keeper=SimpleNamespace(want=nobody)),
    )

    async def hashed(digest: str) -> str:
        return await file_hash(Engine(parties, StepRecord("r1")), digest)

    assert asyncio.run(hashed(recipes[0].digest())) == hashlib.sha256(content).hexdigest()
    with pytest.raises(NotFound, match=f"no obfuscator {recipes[1].digest()[:12]}"):
        asyncio.run(hashed(recipes[1].digest()))


def test_the_controller_gives_out_what_is_trained_and_tells_what_is_not(
    settings: Callable[..., ControllerSettings],
) -> None:
    given = settings()
    _, recipes = DefenceChain.parse([hiding(7), hiding(5)]).planned(DATA, seed=2)
    folder = save(given.models_dir, train_defence(recipes[0], load(DATA)))
    headers = {"Authorization": f"Bearer {OPERATOR}"}
    with serve(given) as url, httpx.Client(base_url=f"{url}/v1/obfuscators/", headers=headers) as client:
        answer = client.get(recipes[0].digest()).raise_for_status()
        assert answer.content == (folder / "defence.safetensors").read_bytes()
        told = problem(client.get(recipes[1].digest()), 404, "not-found")
        assert told["detail"] == f"no obfuscator {recipes[1].digest()[:12]} is trained here"
        problem(client.get("0" * 64), 404, "not-found")
        assert problem(client.get(recipes[1].digest(), headers={"Authorization": ""}), 401, "unauthenticated")
