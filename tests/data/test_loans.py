"""Mortgages in the FHFA's form, made here: what a sample holds, what is hidden, and broken files."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from leakrange.data import datasets, load, load_labels
from leakrange.data.sets.loans import LOANS_COLUMNS
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable
from tests.data.labels import same_but_the_images

CODES = {
    "metropolitan": (0, 1), "minority": (1, 2, 3, 9), "tract_income_ratio": (1, 2, 3, 9),
    "borrower_income_ratio": (1, 2, 3, 9), "loan_to_value": (1, 2, 3, 4, 5, 9), "purpose": (1, 8, 9),
    "guarantee": (1, 2, 3, 4, 5), "race": (1, 2, 3, 4, 5, 6, 7, 9), "co_race": (1, 5, 9),
    "sex": (1, 2, 3, 4, 9), "co_sex": (1, 2, 3, 4, 5, 9), "units": (1,), "affordability": (0, 1, 2, 3, 4, 9),
}  # fmt: skip
Row = dict[str, int]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    (tmp_path / "loans").mkdir()
    return tmp_path / "loans"


def mortgages(enterprise: int, n: int = 150) -> list[Row]:
    draw = random.Random(enterprise)
    return [
        {"enterprise": enterprise, "record": number}
        | {name: draw.choice(codes) for name, codes in CODES.items()}
        for number in range(1, n + 1)
    ]


def write(folder: Path, year: int, *, fannie: list[Row], freddie: list[Row]) -> None:
    for name, rows in (("fnma", fannie), ("fhlmc", freddie)):
        lines = [" ".join(f"{row[column]:>2}" for column in LOANS_COLUMNS) for row in rows]
        (folder / f"{name}_sf{year}a_loans.txt").write_text("\n".join(lines) + "\n")


def test_loans_of_low_income_families_are_read_from_both_enterprises(folder: Path) -> None:
    fannie, freddie = mortgages(1), mortgages(2)
    write(folder, 2015, fannie=fannie, freddie=freddie)
    found = load(DataSpec(name="loans"))
    kept = [row for row in [*fannie, *freddie] if row["affordability"] in (1, 2, 3)]
    assert 100 < len(kept) == len(found.values)
    assert found.labels["affordability"].tolist() == [row["affordability"] - 1 for row in kept]
    assert found.labels["race"].tolist() == [-1 if row["race"] == 9 else row["race"] - 1 for row in kept]
    assert found.labels["race-2"].tolist() == [
        -1 if row["race"] == 9 else int(row["race"] != 5) for row in kept
    ]
    assert found.attributes["race"].classes[4] == found.attributes["race-2"].classes[0] == "White"
    same_but_the_images(load_labels(DataSpec(name="loans")), found)


def test_a_sample_holds_every_code_but_race_affordability_and_the_record(folder: Path) -> None:
    fannie, freddie = mortgages(1), mortgages(2)
    write(folder, 2013, fannie=fannie, freddie=freddie)
    found = load(DataSpec(name="loans"))
    kept = [row for row in [*fannie, *freddie] if row["affordability"] in (1, 2, 3)]
    columns = found.spec.columns
    assert columns is not None
    told = {name.partition("=")[0] for name in columns}
    assert told == set(LOANS_COLUMNS) - {"record", "race", "co_race", "units", "affordability"}
    for sample, row in zip(found.values, kept, strict=True):
        marked = {name for name, value in zip(columns, sample, strict=True) if value}
        assert marked == {f"{name}={row[name]}" for name in told}


def test_of_several_years_the_newest_is_read(folder: Path) -> None:
    write(folder, 2011, fannie=mortgages(1), freddie=mortgages(2))
    old = load(DataSpec(name="loans"))
    write(folder, 2016, fannie=mortgages(1)[:90], freddie=mortgages(2)[:90])
    assert len(load(DataSpec(name="loans", limit=1000)).values) < len(old.values)


def test_files_that_are_not_there_are_named(folder: Path) -> None:
    told = datasets["loans"].available()
    assert told is not None
    assert "loans/fnma_sf2015a_loans.txt and loans/fhlmc_sf2015a_loans.txt" in told


def test_files_of_another_form_are_refused(folder: Path) -> None:
    good = mortgages(1)
    for change, told in (({"race": 8}, "'race' holds 8"), ({"purpose": 2}, "'purpose' holds 2")):
        spoilt = [row | change | {"affordability": 1} for row in good]
        write(folder, 2015, fannie=good, freddie=spoilt)
        with pytest.raises(DataUnavailable, match=told):
            load(DataSpec(name="loans"))
    write(folder, 2015, fannie=good, freddie=[row | {"affordability": 4} for row in good])
    path = folder / "fnma_sf2015a_loans.txt"
    for text, told in (
        ("1 2 3\n", "3 columns"),
        ("1 2\n1\n", "cannot be read"),
        ("Flag No\n", "cannot be read"),
    ):
        path.write_text(text)
        with pytest.raises(DataUnavailable, match=told) as caught:
            load(DataSpec(name="loans"))
        assert "National File A" in str(caught.value.hint)


def test_files_without_low_income_families_are_refused(folder: Path) -> None:
    others = [row | {"affordability": 4} for row in mortgages(1)]
    write(folder, 2015, fannie=others, freddie=others)
    with pytest.raises(DataUnavailable, match="low-income family"):
        load(DataSpec(name="loans"))
