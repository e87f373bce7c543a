"""``leakrange prices``: the price lists of a run that a controller keeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from leakrange.clients.cli.commands import prices as command
from leakrange.clients.cli.exits import CliError
from leakrange.clients.cli.main import app
from leakrange.metrics import Estimate
from leakrange.scenario.results import TrialResult
from leakrange.services.controller.settings import ControllerSettings
from tests.controller.conftest import serve, settings
from tests.controller.test_views import put
from tests.report.build import run, trials

__all__ = ["settings"]

HONEST = next(
    each
    for each in trials()
    if (each.provider, each.defence, each.attack) == ("digits-honest", "none", "outside")
    and (each.knowledge, each.seed) == ("unaware", 0)
)
FIGURES = {  # by provider and budget: the AUC and its half width
    "honest": {50: (0.53, 0.06), 200: (0.56, 0.08), 500: (0.64, 0.02), 1000: (0.65, 0.02)},
    "curious": {50: (0.88, 0.04), 1000: (0.95, 0.02)},
}


def tried(provider: str, budget: int, defence: str = "none") -> TrialResult:
    value, half = FIGURES[provider][budget]
    figure = {"auc": Estimate(value=value, low=value - half, high=value + half)}
    name = f"{provider}.{budget}.{defence}"
    changed = {"provider": provider, "budget": budget, "spent": budget, "id": name, "metrics": figure}
    return HONEST.model_copy(update={**changed, "defence": defence})


@pytest.fixture(scope="module")
def place(settings: Callable[..., ControllerSettings]) -> Iterator[tuple[str, str, list[str]]]:
    """A run with price lists, one whose attacks met a defence alone, and the address of both."""
    made = settings()
    rows = [tried(provider, budget) for provider, row in FIGURES.items() for budget in row]
    with serve(made) as url:
        priced = put(made, run(trials=rows, models=[]))
        defended = put(made, run(trials=[tried("honest", 50, "rounded")], models=[]))
        yield priced, defended, ["--url", url]


def asked(*words: str) -> Result:
    return CliRunner().invoke(app, ["prices", *words])


def test_it_says_what_each_provider_loses_for_how_many_samples(
    place: tuple[str, str, list[str]], tmp_path: Path
) -> None:
    run_id, _, where = place
    told = asked(run_id, "--price", "0.02 EUR", "--pictures", str(tmp_path / "new"), *where)
    assert told.exit_code == 0, told.output
    lines = [line.split() for line in told.stdout.splitlines()]
    assert ["honest", "slant", "outside", "500", "0.640", "0.620", "to", "0.660", "10.00"] in [
        [*line[:1], "slant", *line[2:]] for line in lines
    ]
    assert (
        "honest: With 500 samples the attack has nine tenths of what it gets with 1,000. Up to 200 samples"
    ) in told.stdout
    assert "A quota of 50 samples, the smallest that was tried, is already too much." in told.stdout
    pictures = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    assert set(pictures) == {"honest-prices.svg", "curious-prices.svg"}
    assert pictures["honest-prices.svg"].startswith("<svg")
    assert "0.640 after 500" in pictures["honest-prices.svg"]


def test_programs_get_the_same_lists(place: tuple[str, str, list[str]]) -> None:
    run_id, _, where = place
    lists = json.loads(asked(run_id, "--json", *where).stdout)
    assert (lists["honest"]["quota"], lists["honest"]["enough"]) == (200, 500)
    assert (lists["curious"]["quota"], lists["curious"]["enough"]) == (None, 1000)
    assert [point["money"] for point in lists["curious"]["points"]] == [None, None]


def test_a_price_without_currency_and_a_run_without_figures_are_refused(
    place: tuple[str, str, list[str]],
) -> None:
    run_id, defended, where = place
    told = asked(run_id, "--price", "cheap", *where)
    assert told.exit_code == 2
    assert "a number and a currency" in told.output
    with pytest.raises(CliError, match="no attack whose figure is an AUC") as refused:
        command.prices(defended, url=where[1])
    assert "without stages" in (refused.value.hint or "")
