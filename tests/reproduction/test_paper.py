"""The paper's rows as data: how many there are, known slips corrected, and which of them a filter keeps."""

from collections import Counter

import pytest

from leakrange.reproduction.hbc.experiments import SETS, Settings, trials
from leakrange.reproduction.hbc.paper import TABLES, rows, select
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

SETTINGS = Settings(epochs=(("celeba", 1), ("utkface", 1)))


def test_every_printed_row_is_there() -> None:
    assert Counter(row.table for row in rows()) == {
        **{"1": 36, "2": 24, "3": 64, "4": 24, "5": 20},
        **{"6": 16, "7": 22, "8": 64, "9": 23, "fig9": 20 * 6},
    }
    assert sorted(TABLES) == sorted({row.table for row in rows()})


def test_a_figure_is_the_printed_one() -> None:
    [row] = select("9", "S=2,classifier=raw")
    assert (row.honesty.mean, row.honesty.deviation) == (90.18, 0.11)
    assert (row.curiosity.mean, row.curiosity.deviation) == (86.91, 0.32)
    assert (row.y, row.s, row.classes) == ("gender", "race-2", (2, 2))


def test_a_copying_slip_is_corrected() -> None:
    # Table 3 prints the curiosity of S = 2 in the place of the honesty at Y = 5, S = 4 and 5.
    assert {row.honesty.mean for row in select("3", "Y=5,classifier=honest")} == {62.24}


def test_a_filter_keeps_what_has_every_field_among_its_values() -> None:
    kept = select("3", "Y=3,S=2|5,classifier=raw|soft,beta_y=0.7")
    assert [(row.classes, row.classifier) for row in kept] == [
        ((3, 2), "raw"),
        ((3, 2), "soft"),
        ((3, 5), "raw"),
        ((3, 5), "soft"),
    ]


@pytest.mark.parametrize(
    ("table", "filters", "said"),
    [
        ("10", "", "no table '10'; there are: 1, 2"),
        ("3", "classes=2", "selects no rows; write field=value"),
        ("3", "Y", "selects no rows"),
        ("3", "Y=7", "no row of table 3 has Y=7"),
        ("3", "beta_y=half", "no row of table 3"),
    ],
)
def test_a_filter_that_keeps_nothing_is_told(table: str, filters: str, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        select(table, filters)
    assert said in caught.value.detail


def test_every_row_asks_for_what_its_data_set_and_its_behaviour_have() -> None:
    from leakrange.data import datasets
    from leakrange.providers.behaviours import behaviours

    for trial in trials(rows(), [0], SETTINGS):
        attributes = datasets[SETS[trial.row.data]].attributes
        behaviour = behaviours[trial.recipe.behaviour]
        behaviour.check(behaviour.Parameters.model_validate(trial.recipe.parameters), attributes)
        assert trial.row.classes == tuple(
            len(attributes[name].classes) for name in (trial.row.y, trial.row.s)
        )


def test_widths_are_those_of_the_capacity_table() -> None:
    from leakrange.nets import nets

    for trial in trials(select("7", "classifier=raw"), [0], SETTINGS):
        net = nets[trial.recipe.net.name].build(SampleSpec.picture(64, 64, 3), 3, trial.recipe.net.width)
        shapes = [p.shape[0] for name, p in net.named_parameters() if p.ndim > 1]
        assert "-".join(map(str, shapes[:-1])) == trial.row.width
