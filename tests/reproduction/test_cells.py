"""A cell has the name of all that decides it: settings, data, seed, and the code that trains and measures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from leakrange.reproduction import measuring_code as module
from leakrange.reproduction.cells import Cells
from leakrange.reproduction.hbc.experiments import Settings, Trial, trials
from leakrange.reproduction.hbc.paper import select

SETTINGS = Settings(epochs=(("celeba", 3), ("utkface", 3)))


def first(table: str, filters: str, settings: Settings = SETTINGS) -> Trial:
    return next(trials(select(table, filters), [0], settings))


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Modules whose source has changed, as far as versions are concerned."""
    names: list[str] = []
    read = module._sources

    def sources(name: str) -> dict[str, str]:
        return {
            each: source + "\n# changed\n" if each in names else source for each, source in read(name).items()
        }

    monkeypatch.setattr(module, "_sources", sources)
    module.measuring_code.cache_clear()
    yield names
    module.measuring_code.cache_clear()


@pytest.mark.parametrize(
    ("table", "filters", "edited", "moves"),
    [
        ("6", "role=student", "providers.distillation", True),
        ("6", "role=teacher", "providers.distillation", False),
        ("4", "classifier=honest", "attacks.attribute_inference", True),
        ("4", "classifier=raw", "attacks.attribute_inference", False),
        ("4", "classifier=raw", "reproduction.hbc.measures", True),
        ("fig9", "classifier=raw", "defences.model.pruning", True),
        ("4", "classifier=raw", "defences.model.pruning", False),
        ("4", "classifier=raw", "reproduction.hbc.results", False),
    ],
)
def test_a_cell_is_measured_anew_where_the_code_that_measures_it_has_changed(
    table: str, filters: str, edited: str, moves: bool, changed: list[str], tmp_path: Path
) -> None:
    trial = first(table, filters)
    Cells(tmp_path).put(trial.identity(), trial.code(), {"honesty": 0.5})
    found = trial.cell(tmp_path)
    assert found is not None
    assert found["code"] == trial.code()
    changed.append(edited)
    module.measuring_code.cache_clear()
    assert (trial.cell(tmp_path) is None) == moves
    assert trial.cell(tmp_path, any_code=True) == found


def test_a_package_is_all_that_is_in_it(changed: list[str]) -> None:
    before = module.measuring_code("attacks.people"), module.measuring_code("attacks.attack")
    changed.append("attacks.people.pairs")
    module.measuring_code.cache_clear()
    assert module.measuring_code("attacks.people") != before[0]
    assert module.measuring_code("attacks.attack") == before[1]
    with pytest.raises(FileNotFoundError):
        module.measuring_code("attacks.none")


def test_what_goes_without_saying_gives_a_recipe_no_other_name() -> None:
    plain = first("4", "classifier=raw").recipe.digest()
    said = Settings(epochs=SETTINGS.epochs, size=64, passes="two")
    assert first("4", "classifier=raw", said).recipe.digest() == plain
    smaller = Settings(epochs=SETTINGS.epochs, size=32)
    assert first("4", "classifier=raw", smaller).recipe.digest() != plain
