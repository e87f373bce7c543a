"""The rows of Honest-but-Curious Nets: all that were printed, as trials that a range can run."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from leakrange.defences.chain import DefenceChain
from leakrange.papers import papers
from leakrange.papers.hbc.paper import HonestButCurious, HonestButCuriousSettings
from leakrange.papers.trials import batches
from leakrange.report.charts.drawing import Chart
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec
from tests.papers.tried import tried_by

PAPER = HonestButCurious(HonestButCuriousSettings())


def test_it_is_registered_with_every_row() -> None:
    assert papers["hbc"] is HonestButCurious
    rows = HonestButCurious.rows()
    assert Counter(row.table for row in rows if row["recipe"] == "published") == {
        **{"fig4": 13, "1": 36, "2": 24, "3": 64, "4": 24, "5": 20, "detection": 5},
        **{"6": 16, "7": 22, "8": 64, "9": 23, "fig9": 20 * 6, "frontier": 10},
    }
    assert set(HonestButCurious.sheet.tables) == {row.table for row in HonestButCurious.rows()}


def test_soft_outputs_are_also_measured_by_other_recipes() -> None:
    chosen = HonestButCurious.select(["4:Y=2,attack=parameterized,output=softmax,beta_y=0.5"])
    assert [row["recipe"] for row in chosen] == ["published", "warm", "logarithm"]
    assert len({row.figures["curiosity"] for row in chosen}) == 1
    published, warm, logarithm = (PAPER.trial(row, 0).provider for row in chosen)
    assert warm == published | {
        "decoder": {"lr": 0.01, "dropout": 0.0, "steps": 1},
        "warm_start": {"epochs": 17},
    }
    assert logarithm == published | {"logarithm": True}
    [three] = HonestButCurious.select(["3:Y=3,S=2,output=softmax,beta_y=0.7,recipe=warm"])
    assert PAPER.trial(three, 0).provider["decoder"]["steps"] == 10
    assert {row["recipe"] for row in HonestButCurious.select(["4:output=logits"])} == {"published"}


def test_a_frontier_has_a_point_for_each_weight_and_shares_the_tables_models() -> None:
    rows = HonestButCurious.select(["frontier:data=utkface"])
    assert Counter(row["recipe"] for row in rows) == {"published": 5, "warm": 5}
    assert sorted({(row.number("beta_y"), row.number("beta_s")) for row in rows}) == [
        *((0.3, 0.7), (0.4, 0.6), (0.5, 0.5), (0.6, 0.4), (0.7, 0.3)),
    ]
    assert {row["attack"] for row in rows} == {"parameterized"}
    assert {row.number("beta_y") for row in rows if "curiosity" in row.figures} == {0.7, 0.5}
    [same] = HonestButCurious.select(["4:Y=2,attack=parameterized,output=softmax,beta_y=0.5,recipe=warm"])
    [point] = [row for row in rows if row["recipe"] == "warm" and row.number("beta_y") == 0.5]
    assert PAPER.trial(point, 1) == PAPER.trial(same, 1)


class TestReadAgain:
    [row] = HonestButCurious.select(["4:Y=2,attack=parameterized,output=softmax,beta_y=0.5,recipe=warm"])
    [honest] = HonestButCurious.select(["4:Y=2,classifier=honest,output=logits"])
    five, panel = PAPER.beside(row)

    def test_others_are_fitted_on_the_releases_of_the_same_model(self) -> None:
        own, five, panel = (PAPER.trial(row, 2) for row in (self.row, self.five, self.panel))
        for other in (five, panel):
            assert (own.provider, own.data, own.defence) == (other.provider, other.data, other.defence)
        assert five.attack == PAPER.trial(self.honest, 2).attack
        assert own.attack == {"kind": "curious-decoder"}
        assert five.attack["kind"] == "attribute-nets"
        assert panel.attack == {**five.attack, "kind": "attribute-inference"}
        assert [own, five, panel] == PAPER.wanted([self.row], 3)[-3:]

    def test_the_panel_alone_reads_an_honest_model_again(self) -> None:
        [panel] = PAPER.beside(self.honest)
        assert PAPER.trial(panel, 1).attack["kind"] == "attribute-inference"
        assert PAPER.trial(panel, 1).provider == PAPER.trial(self.honest, 1).provider

    def test_no_student_pruned_model_or_point_is_read_again(self) -> None:
        for chosen in ("6", "fig9", "fig4", "detection"):
            rows = HonestButCurious.select([chosen])
            assert not any(PAPER.beside(row) for row in rows if row["prune"] or row["role"])
        for chosen in ("fig4", "detection"):
            assert not any(PAPER.beside(row) for row in HonestButCurious.select([chosen]))

    def test_what_each_reads_stands_side_by_side_and_none_is_chosen(self) -> None:
        majorities = {"majority": 0.5, "majority_target": 0.6}
        own = [{"curiosity": value} | majorities for value in (0.70, 0.76)]
        again = [{"curiosity": value} | majorities for value in (0.72, 0.82)]
        panel = [{"curiosity": value, "auc": value + 0.1} | majorities for value in (0.74, 0.80)]
        notes = PAPER.note(self.row, {self.row: own, self.five: again, self.panel: panel})
        assert notes == ["60.00", "50.00", "77.00 ± 7.07", "77.00 ± 4.24", "87.00 ± 4.24"]
        notes = PAPER.note(self.row, {self.row: again, self.five: own, self.panel: []})
        assert notes[2:] == ["73.00 ± 4.24", "", ""]
        assert len(PAPER.notes("4")) == len(notes)

    def test_seeds_that_it_lacks_leave_it_open(self) -> None:
        own = [{"curiosity": 0.7, "majority": 0.5, "majority_target": 0.6}] * 2
        measured = {self.row: own, self.five: own[:1], self.panel: own}
        assert PAPER.note(self.row, measured)[2:] == ["", "70.00 ± 0.00", ""]


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
    kept = HonestButCurious.select(["3:Y=3,S=2|5"], "classifier=raw|soft,beta_y=0.70,recipe=published")
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
                assert probe.local.spec() == DefenceChain.parse(batch.first.defence).spec()


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


def cells(honesty: float, curiosity: float) -> list[dict[str, float]]:
    """Of two seeds that differ alike in all models; their victims are what errors are known of."""
    return [
        {
            "seed": seed, "honesty": honesty + more, "entropy": 0.5, "majority": 0.5,
            "honesty_low": honesty + more - 0.002, "honesty_high": honesty + more + 0.002,
            "curiosity": curiosity, "curiosity_low": curiosity - 0.02, "curiosity_high": curiosity + 0.03,
        }
        for seed, more in enumerate((-0.01, 0.01))
    ]  # fmt: skip


def test_the_order_of_the_models_is_told_with_what_speaks_against_it() -> None:
    rows = HonestButCurious.select(["9:beta_y=1|0.7,recipe=published", "9:S=2,attack=regularized,beta_y=0.5"])
    found = {
        ("race-2", "honest"): (0.90, 0.60),
        ("race-2", "raw"): (0.89, 0.80),
        ("race-3", "honest"): (0.90, 0.55),
        ("race-3", "raw"): (0.87, 0.54),
        ("race-2", "soft"): (0.90, 0.70),
    }
    measured = {
        row: cells(*found[key]) if (key := (row["s"], row["classifier"])) in found else []
        for row in rows
        if row["attack"] != "regularized"
    }
    summary, details = PAPER.conclusions(measured)
    told = {line.labels[0]: list(line.notes) for line in summary.lines}
    claimed = "raw outputs tell more than nets find in those of an honest model"
    assert told[claimed] == ["2", "1", "1", "0", ""]
    assert [(line.labels[2], *line.notes[2:]) for line in details.lines if line.labels[0] == claimed] == [
        ("gender, race-2", "+20.00 (+15.00 to +25.00)", "victims", "holds"),
        ("gender, race-3", "-1.00 (-6.00 to +4.00)", "victims", "unclear"),
    ]
    assert told["their honesty is no more than 2 points below"] == [
        "2", "1", "0", "1", "fewer images than the paper's"
    ]  # fmt: skip
    assert told["raw outputs tell more than soft ones, both at (.7, .3)"] == ["1", "1", "0", "0", ""]
    assert "entropy minimisation lowers the entropy of raw outputs" not in told
    assert PAPER.conclusions({}) == []


def test_a_frontier_is_drawn_from_what_was_measured() -> None:
    rows = HonestButCurious.select(["frontier:data=utkface"])
    measured = {
        row: cells(0.8 + row.number("beta_y") / 10, 0.9 - row.number("beta_y") / 2)
        for row in rows
        if row["recipe"] == "warm"
    }
    [drawn] = PAPER.pictures("frontier", {**measured, **{row: [] for row in rows if row not in measured}})
    assert isinstance(drawn, Chart)
    assert drawn.title == "Frontier, gender behind race-2"
    told = json.dumps(drawn.specification)
    assert told.count('"warm start, ') == 2 * 5  # a line's and a mark's
    assert "published recipe, " not in told
    assert PAPER.pictures("frontier", {row: [] for row in rows}) == []
