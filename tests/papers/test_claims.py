"""What Honest-but-Curious Nets claims, measured by a range that goes on where it was interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from leakrange.papers.cells import Cell, Cells
from leakrange.papers.hbc.paper import HonestButCurious, HonestButCuriousSettings
from tests.embedded import COMMAND, EmbeddedRange, clean, leakrange, wait_for

BESIDE = Path(__file__).parents[3] / "shared" / "data"


def cells(
    store: Path, table: str, *where: str, data: str = "", settings: dict[str, object] | None = None
) -> list[Cell]:
    """The cells of some rows, measured once by the range that ``where`` names, else by one for it."""
    settings = settings or {}
    chosen = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    options = ["--table", table, "--seeds", "1", "--store", str(store), *chosen, *where]
    done = leakrange("reproduce", "hbc", *options, **({"LEAKRANGE_DATA": data} if data else {}))
    assert done.returncode == 0, done.stderr
    paper = HonestButCurious(HonestButCuriousSettings.model_validate(settings))
    found = [Cells(store).get(paper.cell(paper.trial(row, 0))) for row in paper.select([table])]
    return [cell for cell in found if cell is not None]


def test_a_normal_mixture_is_nearly_perfect_and_a_logistic_regression_pays_honesty_for_curiosity(
    embedded_range: EmbeddedRange, tmp_path: Path
) -> None:
    where = ("--state", str(embedded_range.root))
    [normal] = cells(tmp_path, "fig4:classifier=normal", *where)
    assert normal["honesty"] >= 0.98
    assert normal["curiosity"] >= 0.93
    points = cells(tmp_path, "fig4:attack=convex,beta_s=0|0.5|1", *where)
    assert max(abs(point["honesty"] + point["curiosity"] - 1.5) for point in points) < 0.02
    curiosity = [point["curiosity"] for point in points]
    assert curiosity == sorted(curiosity)
    assert curiosity[0] == pytest.approx(0.5, abs=0.02)
    assert curiosity[1] == pytest.approx(0.75, abs=0.05)
    assert (points[0]["honesty"], points[-1]["curiosity"]) == (1.0, 1.0)


def test_killed_it_goes_on_without_training_again(embedded_range: EmbeddedRange, tmp_path: Path) -> None:
    table, models = "fig4:attack=convex,beta_s=0.3|0.6", embedded_range.folder.models

    def trained() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in models.glob("[!.]*/training.json")}

    before = trained()
    where = ("--state", str(embedded_range.root))
    options = ["--table", table, "--seeds", "1", "--store", str(tmp_path), *where]
    process = subprocess.Popen([COMMAND, "reproduce", "hbc", *options], env=clean())
    wait_for(lambda: len(trained()) > len(before), "a model to be trained")
    process.send_signal(signal.SIGKILL)
    process.wait()
    seen = trained()
    assert len(cells(tmp_path, table, *where)) == 2
    after = trained()
    assert seen.items() <= after.items()
    assert len(after) == len(before) + 2


@pytest.mark.slow
def test_raw_outputs_tell_far_more_than_overlearning_finds(tmp_path: Path) -> None:
    """Honest and raw classifiers of age that know, or do not, of race (Table 3, S = 2), at 32 x 32."""
    root = Path(os.environ.get("LEAKRANGE_DATA") or BESIDE)
    if not (root / "utkface" / "utkface.npz").is_file():
        pytest.skip("real data set utkface is not here: set LEAKRANGE_DATA to the folder that has utkface/")
    table = "3:Y=3,S=2,classifier=honest|raw,output=logits,beta_y=1|0.7"
    honest, raw = cells(tmp_path, table, data=str(root), settings={"utkface_epochs": 12, "size": 32})
    assert raw["curiosity"] > honest["curiosity"] + 0.08
    assert honest["curiosity"] > honest["majority"]
    assert honest["honesty"] > 0.7
    assert raw["honesty"] > honest["honesty"] - 0.02
