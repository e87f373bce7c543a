"""The section on detection says how well entropy tells curious models from the honest ones of either kind."""

from pathlib import Path
from typing import Any

from leakrange.reproduction.cells import Cells
from leakrange.reproduction.hbc.detection_work import KINDS, DetectionWork, section

MEANS = {
    "honest": (0.10, 0.20, 0.30),
    "honest, β^x .4": (0.05, 0.06, 0.07),
    "raw": (0.25, 0.35, 0.45),
    "raw, β^x .4": (0.04, 0.065, 0.08),
    "regularized": (0.5, 0.6, 0.7),
}


def cell(seed: int) -> dict[str, Any]:
    """Of models whose medians are a tenth of their means, but for those of the curious with β^x."""
    found = {}
    for kind in KINDS:
        mean = MEANS[kind][seed]
        median = 0.5 if kind == "raw, β^x .4" else mean / 10
        found[kind] = {
            "honesty": 0.9,
            "samples": 100,
            "mean": mean,
            "most": 1.0,
            "above_one_bit": 0.0,
            "quantiles": [[share, median] for share in (0.05, 0.25, 0.5, 0.75, 0.95)],
        }
    return found


def test_curious_models_are_told_from_plain_honest_ones_and_from_those_that_were_made_as_sure(
    tmp_path: Path,
) -> None:
    works = [DetectionWork(seed) for seed in range(3)]
    for work in works:
        Cells(tmp_path).put(work.identity(), cell(work.seed))
    lines = {line.labels[0]: line.notes for line in section(works, tmp_path).lines}
    assert lines["honest"][:4] == ["", "", "", ""]
    assert lines["raw"][0].startswith("0.889 ")  # 8 of 9 pairs
    assert lines["raw"][2:4] == ["", ""]
    assert lines["raw, β^x .4"][0].startswith("0.000 ")
    assert lines["raw, β^x .4"][1] == "1.000"
    assert lines["raw, β^x .4"][2].startswith("0.556 ")  # 5 of 9
    assert lines["raw, β^x .4"][3].startswith("1.000 ")
