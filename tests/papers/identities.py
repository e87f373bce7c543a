"""What the rows of every paper are measured by, and how a page without figures reads: digests by paper,
settings and table.

``python -m tests.papers.identities`` writes them down anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from leakrange.papers import Paper, papers
from leakrange.papers.cells import Cells
from leakrange.papers.trials import batches
from leakrange.wire.digests import digest

__all__ = ["WRITTEN", "digests", "settings"]

WRITTEN = Path(__file__).with_suffix(".yaml")
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "hbc": {
        "celeba": "hub-celeba-hair", "utkface": "synthfaces", "celeba_epochs": 7, "utkface_epochs": 5,
        "size": 48,
        "limit": 900, "celeba_patience": 3, "utkface_patience": 2, "width": 0.5, "bf16": True, "passes":
        "one",
    },
    "vicious": {
        "mnist": "digits", "tiny": "cifar10", "celeba": "hub-celeba", "net": "strided-conv", "width":
        0.5,
        "lr": 0.002, "augment": False, "decay": True, "bf16": True, "auxiliary": 0.25, "mnist_epochs":
        4,
        "epochs": 3, "celeba_epochs": 6, "limit": 1200,
    },
    "faceleaks": {
        "data": "synthpeople", "size": 48, "width": 0.25, "epochs": 6, "batch": 32, "images": 14,
        "validated": 30, "tested": 1000, "pairs": 35, "public": 300, "students": 12, "enrolled": 8,
        "repeats": 4,
        "attribute": "facial-hair",
    },
    "pass": {
        "speech": "audiomnist", "motion": "synthmotion", "faces": "hub-celeba", "size": 64,
        "speech_net": "conv-2d",
        "speech_width": 0.5, "faces_width": 2.0, "speech_epochs": 30, "motion_rival_epochs": 20,
        "faces_rival_epochs": 10, "probing_epochs": 9, "lr": 0.002, "rival_lr": 0.004,
        "rates": {"ADV": 0.01, "PASS": 0.003}, "half": 1000,
    },
    "tappfl": {
        "loans": "loans", "loans_limit": 4000, "critics": "small", "picture_net": "tappfl-small", "lr":
        0.1,
        "batch": 20, "devices": 30, "share": 0.3, "rounds": 4, "pretraining": 2, "local_epochs": 3,
        "picture_batch": 16, "picture_rounds": 7, "picture_pretraining": 1, "picture_local_epochs": 6,
        "task_epochs": 3, "task_lr": 0.002,
    },
    "membership": {
        "cifar10": "digits", "fashion_mnist": "mnist", "target": "digit", "size": 24, "pool": 900,
        "population": 150, "net": "wide-resnet", "width": 2.0, "epochs": 8, "batch": 20, "lr": 0.02,
        "augment": True, "bf16": True,
    },
}  # fmt: skip
"""Settings that differ from the usual in all that a paper lets its user choose."""


def settings(name: str) -> dict[str, Mapping[str, Any]]:
    """The settings under which a paper is looked at."""
    return {"usual": {}, "quick": papers[name].sheet.quick_settings, "other": OTHERS[name]}


def digests(name: str, chosen: Mapping[str, Any], nowhere: Path) -> dict[str, str]:
    """By table how many trials its rows and those beside them take, and a digest of their identities; then a
    digest of the scenarios of all, and of the page of the cells in the folder ``nowhere``, which has none."""
    paper: Paper = papers[name](papers[name].Settings.model_validate(chosen))
    by_table = {}
    for table in paper.sheet.tables:
        trials = paper.wanted(paper.select([table]), 2)
        by_table[f"table {table}"] = f"{len(trials)} {digest([each.identity() for each in trials])[:16]}"
    rows = paper.rows()
    planned = batches(paper.wanted(rows, 1))
    scenarios = digest([batch.scenario(name) for batch in planned])
    page = digest(asdict(paper.document(rows, 1, Cells(nowhere), "leakrange reproduce")))
    return by_table | {"scenarios": f"{len(planned)} {scenarios[:16]}", "page": page[:16]}


if __name__ == "__main__":
    missing = Path("no such folder")
    every = {
        name: {which: digests(name, chosen, missing) for which, chosen in settings(name).items()}
        for name in papers
    }
    WRITTEN.write_text(yaml.safe_dump(every, sort_keys=False))
