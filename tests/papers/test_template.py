"""A paper's sheet: from the fields of a row to its trial and labels, and what is told of a wrong sheet."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakrange.papers.paper import Paper, PaperSettings
from leakrange.papers.sheet import Sheet, read_sheet
from leakrange.papers.targets import PaperRow
from leakrange.papers.template import TemplatePart, fits, text, trial
from leakrange.wire.errors import InvalidInput

NAMES = {
    "data": "digits",
    "width": None,
    "beta": "0.70",
    "count": "4",
    "noise": "",
    "augment": False,
    "size": 0,
}


def made(*parts: dict[str, object]) -> dict[str, object]:
    """What parts make of the names above, without fields that are empty."""
    parsed = [TemplatePart.model_validate(part) for part in parts]
    return trial(parsed, NAMES, 0).model_dump(exclude_defaults=True) if parts else {}


BASE = {"data": {"name": "$data"}, "provider": {}, "attack": {}}


def test_names_are_replaced_by_what_they_stand_for_and_what_they_leave_open_is_not_written() -> None:
    attack = {"kind": "x", "beta": "$beta.number", "k": "$count.count", "text": "$count", "size": "$size"}
    empty = {"net": {"width": "$width"}, "augment": "$augment", "noise": ["$noise", {"a": "$noise"}]}
    filled = made(BASE | {"provider": empty | {"channels_last": False}, "attack": attack})
    assert filled["attack"] == {"kind": "x", "beta": 0.7, "k": 4, "text": "4", "size": 0}
    assert filled["provider"] == {"channels_last": False}
    assert filled["data"] == {"name": "digits"}


def test_parts_are_merged_in_their_order_for_the_rows_that_they_are_about() -> None:
    first = BASE | {"provider": {"net": {"name": "a", "width": 2}}, "defence": ["argmax"]}
    fitting = {"rows": "data=faces|digits,noise=", "provider": {"net": {"width": 3}}, "defence": ["round"]}
    other = {"rows": "data!=digits", "provider": {"net": "b"}}
    filled = made(first | {"attack": {"kind": "x"}}, fitting, other)
    assert filled["provider"] == {"net": {"name": "a", "width": 3}}
    assert filled["defence"] == ["round"]


@pytest.mark.parametrize(
    ("condition", "fitting"),
    [
        ("", True),
        ("data=digits", True),
        ("data=faces", False),
        ("data=faces|digits,count=4", True),
        ("data=digits,count=5", False),
        ("noise=", True),
        ("noise!=", False),
        ("count!=|1", True),
        ("count!=|4", False),
        ("beta=0.7", False),  # as it is written
    ],
)
def test_a_condition_is_true_of_names(condition: str, fitting: bool) -> None:
    assert fits(condition, NAMES) == fitting


def test_a_text_may_write_fields_as_numbers() -> None:
    assert text("{data}, β = {beta:g}, {noise:.1f}", NAMES) == "digits, β = 0.7, 0.0"


def test_a_name_that_there_is_not_is_told_with_those_that_there_are() -> None:
    for wrong in ({"provider": {"target": "$traget"}}, {"rows": "traget=x"}):
        with pytest.raises(ValueError, match="'traget'; there are: augment, beta"):
            made(BASE | wrong)
    with pytest.raises(ValueError, match="traget"):
        text("{traget}", NAMES)
    with pytest.raises(ValueError, match="'data' keeps no rows: write name=value"):
        made(BASE | {"rows": "data"})


SHEET = """\
name: small
title: A small paper
about: Figures in percent.
figures: [honesty]
labels: {data: "{data}", setting: "{setting}"}
seeds: 1
quick: ["1"]
quick_settings: {}
differences:
  - {rows: size!=8, text: "{data} of {size} pixels"}
  - {text: "target: {target}"}
  - {text: "{shade}"}
claims: [{text: more is better, ahead: {size: "2"}, behind: {size: "1"}, figure: {honesty: x, auc: y}}]
tables: {"1": {title: "Table 1", setting: "{size} pixels"}}
trial:
  - data: {name: $data, size: $size.count}
    provider: {behaviour: honest, target: $target}
    attack: {kind: $attack}
"""


def sheet(folder: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> Sheet:
    """The sheet of a package that is made for it."""
    name = f"{folder.name.replace('-', '_')}_paper"
    (folder / name).mkdir()
    (folder / name / "__init__.py").touch()
    (folder / name / "paper.yaml").write_text(content)
    monkeypatch.syspath_prepend(str(folder))
    return read_sheet(name)


class SmallSettings(PaperSettings):
    target: str = "digit"
    size: int = 8


def test_a_sheet_is_enough_for_a_trial_and_its_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Small(Paper):
        sheet: Sheet = sheet(tmp_path, monkeypatch, SHEET)
        Settings = SmallSettings

        def words(self) -> dict[str, str]:
            return {"shade": ""}

    paper = Small(SmallSettings())
    row = PaperRow("1", {"data": "digits", "size": "16", "attack": "curious-decoder"})
    open_row = PaperRow("1", {"data": "digits", "size": "", "attack": "curious-decoder"})
    assert paper.trial(row, 2).model_dump(exclude_defaults=True) == {
        "seed": 2,
        "data": {"name": "digits", "size": 16},
        "provider": {"behaviour": "honest", "target": "digit"},
        "attack": {"kind": "curious-decoder"},
    }
    assert paper.trial(open_row, 0).data["size"] == 8
    assert paper.label(row) == ["digits", "16 pixels"]
    assert paper.differences({row: [{}], open_row: [{}]}) == ["digits of 16 pixels", "target: digit"]
    assert paper.differences({row: []}) == ["target: digit"]
    assert [(claim.text, claim.figure) for claim in Small.sheet.claims] == [
        ("more is better: x", "honesty"),
        ("more is better: y", "auc"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seeds: 1", "seeds: one", "seeds: Input should be a valid integer"),
        ("attack:", "atack:", r"trial\[0\].atack: Extra inputs are not permitted"),
        ("figure:", "metric: x, figure:", "Unexpected keyword argument"),
        ("claims: [{", "claims: [more, {", r"claims\[0\].*: Input should be a dictionary"),
        ("about:", "about: {", "line 4: not readable as YAML"),
        ("name: small", "name: small\nname: large", "line 2: .*stands here twice"),
    ],
)
def test_the_first_mistake_of_a_sheet_is_told_with_its_place(
    old: str, new: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidInput, match=f"paper.yaml, .*{said}"):
        sheet(tmp_path, monkeypatch, SHEET.replace(old, new, 1))
