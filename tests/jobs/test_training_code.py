"""A recipe's code version moves with what decides its model, and with nothing else."""

from collections.abc import Callable, Iterator

import pytest

from leakrange.jobs import training_code as module
from leakrange.jobs.recipe import DataSpec, TrainingRecipe

Edit = Callable[[str], None]


@pytest.fixture
def edit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Edit]:
    """Changes the source of a module, as far as code versions are concerned."""
    sources = dict(module._sources())
    monkeypatch.setattr(module, "_sources", lambda: sources)

    def change(name: str) -> None:
        sources[name] = sources.get(name, "") + "\n# changed\n"
        module.training_code.cache_clear()

    module.training_code.cache_clear()
    yield change
    module.training_code.cache_clear()


def recipe(data: str, behaviour: str = "honest") -> TrainingRecipe:
    return TrainingRecipe(data=DataSpec(name=data), behaviour=behaviour, parameters={"target": "parity"})


@pytest.mark.parametrize(
    ("changed", "moves"),
    [
        ("leakrange.providers.training", True),
        ("leakrange.providers.behaviours.honest", True),
        ("leakrange.nets.architectures.hbc", True),
        ("leakrange.nets.adam", True),
        ("leakrange.data.sets.digits", True),
        ("leakrange.data.splits", True),
        ("leakrange.providers.losses", True),
        ("leakrange.providers.behaviours.parameterized", False),
        ("leakrange.providers.artifact", False),
        ("leakrange.data.sets.synthfaces", False),
    ],
)
def test_a_model_is_named_anew_where_its_own_code_changes(edit: Edit, changed: str, moves: bool) -> None:
    before = recipe("digits").digest()
    edit(changed)
    assert (recipe("digits").digest() != before) == moves


def test_an_entry_that_another_is_built_upon_counts_as_its_own(edit: Edit) -> None:
    before = recipe("celeba_sub-hair").code
    edit("leakrange.data.sets.celeba_sub")
    assert recipe("celeba_sub-hair").code != before


def test_a_new_behaviour_leaves_the_models_of_others_as_they_are(
    edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = recipe("digits").code
    sources = module._sources()
    sources["leakrange.providers.behaviours.new"] = '@behaviours.register("curious/new")\nclass New: ...\n'
    edit("leakrange.providers.behaviours.new")
    assert recipe("digits").code == before
    assert recipe("digits", "curious/new").code != before
