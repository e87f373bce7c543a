"""The rows of Honest-but-Curious Nets: all that were printed, as trials that a range can run."""

from __future__ import annotations

from collections import Counter

import pytest

from leakrange.defences.chain import DefenceChain
from leakrange.papers import papers
from leakrange.papers.hbc.paper import HonestButCurious, HonestButCuriousSettings
from leakrange.papers.trials import batches
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec
from tests.papers.tried import tried_by

PAPER = HonestButCurious(HonestButCuriousSettings())


def test_it_is_registered_with_every_row() -> None:
    assert papers["hbc"] is HonestButCurious
    assert Counter(row.table for row in HonestButCurious.rows()) == {
        **{"fig4": 13, "1": 36, "2": 24, "3": 64, "4": 24, "5": 20, "detection": 5},
        **{"6": 16, "7": 22, "8": 64, "9": 23, "fig9": 20 * 6},
    }
    assert set(HonestButCurious.tables) == {row.table for row in HonestButCurious.rows()}


def test_a_figure_is_the_printed_one() -> None:
    [row] = HonestButCurious.select(["9:S=2,classifier=raw"])
    assert (row.figures["honesty"].mean, row.figures["honesty"].deviation) == (90.18, 0.11)
    assert (row.figures["curiosity"].mean, row.figures["curiosity"].deviation) == (86.91, 0.32)
    assert (row["y"], row["s"], row["Y"], row["S"]) == ("gender", "race-2", "2", "2")


def test_a_copying_slip_is_corrected() -> None:
    # Table 3 prints the curiosity of S = 2 in the place of the honesty at Y = 5, S = 4 and 5.
    rows = HonestButCurious.select(["3:Y=5,classifier=honest"])
    assert {row.figures["honesty"].mean for row in rows} == {62.24}


def test_a_filter_keeps_what_has_every_field_among_its_values() -> None:
    kept = HonestButCurious.select(["3:Y=3,S=2|5"], "classifier=raw|soft,beta_y=0.70")
    assert [(row["S"], row["classifier"]) for row in kept] == [
        ("2", "raw"),
        ("2", "soft"),
        ("5", "raw"),
        ("5", "soft"),
    ]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("10", "no table '10'; there are: fig4, 1, 2"),
        ("3:classes=2", "selects no rows; write field=value"),
        ("3:Y", "selects no rows"),
        ("3:Y=7", "no row of table 3 has Y=7"),
        ("3:beta_y=half", "no row of table 3"),
    ],
)
def test_a_filter_that_keeps_nothing_is_told(table: str, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        HonestButCurious.select([table])
    assert said in caught.value.detail


def test_every_row_is_a_trial_of_a_sound_scenario() -> None:
    wanted = PAPER.wanted(HonestButCurious.rows(), 1)
    planned = batches(wanted)
    assert sum(len(batch.trials) for batch in planned) == len(wanted)
    for batch in planned:
        found = parse(batch.scenario("hbc"))
        assert tried_by(found) == set(batch.trials)


def test_overlearning_on_pruned_models_is_fitted_on_their_outputs_and_else_on_what_is_served() -> None:
    for table in ("fig9", "5"):
        rows = HonestButCurious.select([f"{table}:classifier=honest"])
        for batch in batches([PAPER.trial(row, 0) for row in rows]):
            probes = expand(parse(batch.scenario("hbc")), lambda _: {"train": 500, "test": 100}).probes
            assert probes
            for probe in probes:
                assert probe.downloads == (table == "fig9")
                assert probe.local == DefenceChain.parse(batch.first.defence).spec()


def test_classes_and_widths_are_those_of_the_tables() -> None:
    from leakrange.data import datasets
    from leakrange.nets import nets

    for row in HonestButCurious.rows():
        attributes = datasets[PAPER.trial(row, 0).data["name"]].attributes
        assert [len(attributes[row[name]].classes) for name in "ys"] == [int(row["Y"]), int(row["S"])]
    for row in HonestButCurious.select(["7:classifier=raw"]):
        width = PAPER.trial(row, 0).provider.get("net", {}).get("width", 1.0)
        net = nets["hbc"].build(SampleSpec.picture(64, 64, 3), 3, width)
        shapes = [p.shape[0] for name, p in net.named_parameters() if p.ndim > 1]
        assert "-".join(map(str, shapes[:-1])) == row["width"]


MEANS = {
    ("honest", 0.0): (0.10, 0.20, 0.30),
    ("honest", 0.4): (0.05, 0.06, 0.07),
    ("raw", 0.0): (0.25, 0.35, 0.45),
    ("raw", 0.4): (0.04, 0.065, 0.08),
    ("soft", 0.0): (0.5, 0.6, 0.7),
}


def test_entropy_tells_curious_models_from_honest_ones_of_either_kind() -> None:
    rows = {(row["classifier"], row.number("beta_x")): row for row in HonestButCurious.select(["detection"])}
    measured = {
        row: [
            {"entropy": mean, "entropy_median": 0.5 if kind == ("raw", 0.4) else mean / 10}
            for mean in MEANS[kind]
        ]
        for kind, row in rows.items()
    }
    notes = {kind: PAPER.note(row, measured) for kind, row in rows.items()}
    assert notes["honest", 0.0] == ["", "", "", ""]
    assert notes["raw", 0.0][0].startswith("0.889 ")  # 8 of 9 pairs
    assert notes["raw", 0.0][2:] == ["", ""]
    assert notes["raw", 0.4][0].startswith("0.000 ")
    assert notes["raw", 0.4][1] == "1.000"
    assert notes["raw", 0.4][2].startswith("0.556 ")  # 5 of 9
    assert notes["raw", 0.4][3].startswith("1.000 ")
