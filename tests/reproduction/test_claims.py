"""What Honest-but-Curious Nets claims, on photographs: minutes of training, so apart from the other tests."""

import os
from pathlib import Path

import pytest

from leakrange.reproduction.cells import Cell
from leakrange.reproduction.hbc.experiments import Settings, trials, works
from leakrange.reproduction.hbc.paper import select
from leakrange.reproduction.work import carry_out

pytestmark = pytest.mark.slow

BESIDE = Path(__file__).parents[3] / "shared" / "data"
SETTINGS = Settings(epochs=(("celeba", 30), ("utkface", 12)), size=32)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cell]:
    """Honest and raw classifiers of age that know, or do not, of race (Table 3, S = 2), at 32 x 32."""
    root = Path(os.environ.get("LEAKRANGE_DATA") or BESIDE)
    if not (root / "utkface" / "utkface.npz").is_file():
        pytest.skip("real data set utkface is not here: set LEAKRANGE_DATA to the folder that has utkface/")
    store = tmp_path_factory.mktemp("store")
    rows = select("3", "Y=3,S=2,classifier=honest|raw,beta_y=1|0.7")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEAKRANGE_DATA", str(root))
        planned = list(trials(rows, [0], SETTINGS))
        carry_out(works(planned, SETTINGS), store, jobs=2, threads=1, tell=lambda _: None)
        found = {trial.row.classifier: trial.cell(store) for trial in planned}
    return {name: cell for name, cell in found.items() if cell is not None}


def test_raw_outputs_tell_far_more_than_overlearning_finds(cells: dict[str, Cell]) -> None:
    assert cells["raw"]["curiosity"] > cells["honest"]["curiosity"] + 0.08
    assert cells["honest"]["curiosity"] > cells["honest"]["majority_sensitive"]


def test_a_curious_model_is_as_honest(cells: dict[str, Cell]) -> None:
    assert cells["honest"]["honesty"] > 0.7
    assert cells["raw"]["honesty"] > cells["honest"]["honesty"] - 0.02
