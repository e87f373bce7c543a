"""The commands about data sets of the user's own: what they print, keep and delete."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

from leakrange.clients.cli import console
from leakrange.wire.pictures import png
from tests.data.tables import SCENARIO, customers, write_rows
from tests.embedded import Done, leakrange

COLUMNS = ["--target", "exited", "--hidden", "gender", "--hidden", "age"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "customers.csv", customers(200))


def data(table: Path, *arguments: str) -> Done:
    return leakrange("data", *arguments, LEAKRANGE_DATA=str(table.parent / "data"))


def test_a_table_is_imported_listed_planned_and_removed(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console._out, "_width", 120)
    done = data(table, "import", str(table), "--name", "mine", *COLUMNS)
    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "since left out dates or times" in lines
    assert "balance number 2 20 missing: the training rows' mean, and marked" in lines
    assert "country category 3" in lines
    assert any(line.startswith("gender hidden female (") for line in lines)
    assert "CSV: 200 of 200 rows kept, each a row of 6 numbers" in lines
    assert "split: 160 training rows, 40 test rows" in lines

    listed = json.loads(data(table, "list", "--json").stdout)
    [mine] = [each for each in listed if each["name"] == "mine"]
    assert mine["attributes"] == {"exited": 2, "gender": 2, "age": 4}
    assert mine["unavailable"] is None
    assert mine["description"] == "200 samples of customers.csv; asked: exited, hidden: gender, age"

    scenario = table.with_name("mine.yaml")
    scenario.write_text(SCENARIO)
    environment = {"LEAKRANGE_DATA": str(table.parent / "data")}
    assert "1 models to train" in leakrange("scenario", "check", str(scenario), **environment).stderr

    assert data(table, "remove", "mine").returncode == 0
    again = data(table, "remove", "mine")
    assert again.returncode == 4
    assert "no imported data set 'mine'" in again.stderr
    assert "unknown data set 'mine'" in leakrange("scenario", "check", str(scenario), **environment).stderr


def test_a_dry_run_shows_the_same_and_keeps_nothing(table: Path) -> None:
    dry = data(table, "import", str(table), "--name", "mine", *COLUMNS, "--dry-run")
    assert "nothing was kept" in dry.stderr
    assert "mine" not in data(table, "list").stdout
    assert dry.stdout == data(table, "import", str(table), "--name", "mine", *COLUMNS).stdout


def test_json_tells_everything(table: Path) -> None:
    rows = customers(200)
    rows[5]["exited"] = ""
    write_rows(table, rows)
    done = data(table, "import", str(table), "--name", "mine", *COLUMNS, "--without", "products", "--json")
    told = json.loads(done.stdout)
    assert told["rows"] == {"read": 200, "kept": 199, "left_out": {"exited is missing": 1}}
    assert sum(told["attributes"]["gender"]["classes"].values()) == 199
    assert {"name": "products", "kind": "left out", "becomes": [], "missing": 0, "rule": "as asked"} in told[
        "columns"
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--target", "gone"], 2, "there is no column 'gone'"),
        (["--target", "since"], 2, "'since' has 102 different values in 200 rows"),
        (
            ["--target", "exited", "--member", "country"],
            2,
            "should say who was trained on, and holds 'Germany'",
        ),
        (["--target", "exited", "--size", "1000"], 2, "pictures of 1000 pixels a side"),
    ],
)
def test_mistakes_end_with_a_sentence(table: Path, arguments: list[str], code: int, sentence: str) -> None:
    done = data(table, "import", str(table), "--name", "mine", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_span_of_tars_is_imported(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    for number in range(2):
        with tarfile.open(tmp_path / f"s-{number:02d}.tar", "w") as tar:
            for key in range(15):
                picture = draw.integers(0, 256, (20, 20, 3), dtype=np.uint8)
                for name, content in ((f"{key}.png", png(picture)), (f"{key}.cls", b"%d" % (key % 2))):
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
    source = str(tmp_path / "s-{00..01}.tar")
    done = data(tmp_path / "x", "import", source, "--name", "mine", "--target", "kind", "--size", "20")
    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "kind target 0 (16), 1 (14) a class for each number" in lines
    assert "WebDataset: 30 of 30 rows kept, each a picture of 20 x 20 x 3" in lines


def test_a_set_of_the_hub_without_a_network_is_refused_with_what_to_do(tmp_path: Path) -> None:
    arguments = ["import", "hf:zoo/animals", "--name", "mine", "--target", "kind"]
    environment = {"LEAKRANGE_DATA": str(tmp_path), "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = leakrange("data", *arguments, **environment)
    assert (done.returncode, done.stdout) == (4, "")
    assert "HF_HUB_OFFLINE forbids to fetch hf:zoo/animals" in done.stderr
    assert "save_to_disk" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_set_is_named_below_the_list(table: Path) -> None:
    data(table, "import", str(table), "--name", "mine", *COLUMNS)
    (table.parent / "data" / "imported" / "mine" / "description.json").write_text("{")
    listed = data(table, "list")
    assert listed.returncode == 0
    assert "digits" in listed.stdout
    assert "warning: imported data set 'mine': description.json is broken" in listed.stderr


def test_text_of_the_file_does_not_steer_the_terminal(table: Path) -> None:
    rows = [{**row, "country": "\x1b[2Jland"} for row in customers(60)]
    for row in rows[:30]:
        row["country"] = "land"
    done = data(table, "import", str(write_rows(table, rows)), "--name", "mine", *COLUMNS)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
