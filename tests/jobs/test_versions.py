"""A recipe's digest moves with the versions of what it names, and with nothing else."""

import pytest

from leakrange.data import datasets
from leakrange.jobs import versions
from leakrange.jobs.recipe import DataSpec, NetSpec, TrainingRecipe
from leakrange.nets import nets
from leakrange.providers import student
from leakrange.providers.behaviours import behaviours
from leakrange.providers.student import student_recipe
from leakrange.wire.errors import Conflict


def recipe(behaviour: str = "honest") -> TrainingRecipe:
    return TrainingRecipe(data=DataSpec(name="digits"), behaviour=behaviour, parameters={"target": "parity"})


@pytest.mark.parametrize("entry", [*datasets.items(), *nets.items(), *behaviours.items()], ids=lambda e: e[0])
def test_every_entry_declares_a_version(entry: tuple[str, type[object]]) -> None:
    assert vars(entry[1]).get("version", getattr(entry[1], "version", None)) >= 1


@pytest.mark.parametrize(
    ("registry", "raised", "moves"),
    [
        (datasets, "digits", True),
        (nets, "hbc", True),
        (behaviours, "honest", True),
        (datasets, "synthfaces", False),
        (nets, "linear", False),
        (behaviours, "curious/parameterized", False),
    ],
)
def test_a_model_is_named_anew_where_a_version_of_its_own_is_raised(
    registry: dict[str, type[object]], raised: str, moves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = recipe()
    monkeypatch.setattr(registry[raised], "version", 2)
    assert (recipe().digest() != before.digest()) == moves
    assert TrainingRecipe.model_validate(before.model_dump(mode="json")).digest() == before.digest()


def test_a_version_of_the_loop_names_every_model_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = recipe().digest(), recipe("curious/mixture").digest()
    monkeypatch.setattr(versions, "LOOP_VERSION", 2)
    assert not {recipe().digest(), recipe("curious/mixture").digest()} & {*before}


def test_a_version_of_the_student_names_students_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = student_recipe(recipe()).digest()
    monkeypatch.setattr(student, "VERSION", 2)
    assert student_recipe(recipe()).digest() != before


def test_what_is_left_at_its_default_says_nothing_and_all_else_does() -> None:
    assert recipe().model_copy(update={"net": NetSpec(name="hbc", width=1.0)}).digest() == recipe().digest()
    assert recipe().model_copy(update={"net": NetSpec(width=0.5)}).digest() != recipe().digest()
    assert recipe().model_copy(update={"seed": 1}).digest() != recipe().digest()


def test_a_recipe_of_other_versions_is_refused_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = recipe()
    planned.check_versions()
    monkeypatch.setattr(nets["hbc"], "version", 2)
    with pytest.raises(Conflict, match="bring all parties to one version, and run the scenario again"):
        planned.check_versions()
