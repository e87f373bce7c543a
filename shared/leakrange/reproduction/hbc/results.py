"""The results page of Honest-but-Curious Nets: every table that was asked for, paper beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leakrange.report.document import Column, Document, Line, Section
from leakrange.reproduction.cells import Cell
from leakrange.reproduction.hbc.experiments import (
    STUDENT_EPOCHS,
    USERS_SHARE,
    WITHOUT_HAIR,
    Settings,
    trials,
)
from leakrange.reproduction.hbc.measures import STUDENT_BATCH
from leakrange.reproduction.hbc.paper import EPOCHS, REPETITIONS, TABLES, PaperRow

__all__ = ["document"]

PAPER_IMAGES = {"celeba": "more than 115,000 (the hair filter applied)", "utkface": "23,705"}
TITLE = "Honest-but-Curious Nets"
ABOUT = (
    "Honesty, curiosity and majority classes in percent of the test images, entropies of soft outputs in "
    "bits. "
    f"The paper's figures are means and deviations of {REPETITIONS} runs of {EPOCHS} epochs, ours of as many "
    "seeds as each row tells. Curiosity of an honest model is what nets learn from its outputs for the "
    "training images (overlearning); that of a curious one is what its own decoder reads."
)
LABELS = ("y", "s", "model", "β^y, β^s, β^x")
NOTES = ("majority y", "majority s", "seeds")

Measured = dict[PaperRow, list[Cell]]


def document(
    rows: Sequence[PaperRow],
    seeds: Sequence[int],
    settings: Settings,
    store: Path,
    command: str,
    others: Sequence[Section] = (),
) -> Document:
    """The page of the rows that were asked for, behind the sections ``others``; cells that were not measured
    are left open."""
    measured: Measured = {}
    for row in rows:
        cells = (trial.cell(store) for trial in trials([row], seeds, settings))
        measured[row] = [cell for cell in cells if cell is not None]
    tables = [
        _section(
            f"{'Figure 9' if number == 'fig9' else f'Table {number}'}: {name}",
            [row for row in measured if row.table == number],
            measured,
        )
        for number, name in TABLES.items()
        if any(row.table == number for row in measured)
    ]
    return Document(TITLE, command, ABOUT, _differences(measured, settings), [*others, *tables])


def _differences(measured: Measured, settings: Settings) -> list[str]:
    said = []
    for name, ours in settings.sets:
        for data, counts, tables in _parts(measured, name):
            split = ", ".join(f"{split} {count:,}" for split, count in counts)
            said.append(
                f"{name}: {ours} (fingerprint {data[:16]}), {sum(count for _, count in counts):,} images "
                f"({split}) in {', '.join(tables)}; the paper's: {PAPER_IMAGES[name]}. "
                f"{dict(settings.epochs)[name]} epochs; the paper's: {EPOCHS}"
            )
    schedule = settings.schedule(settings.epochs[0][0])
    training = f"batch {schedule.batch}, Adam {schedule.lr:g} as the paper's"
    if schedule.bf16:
        training += ", in bfloat16"
    said.append(f"{training}; passes through F in a step of the parameterized attack: {settings.passes}")
    answers = {cell["answers"] for cells in measured.values() for cell in cells if "answers" in cell}
    if answers:
        more = WITHOUT_HAIR.get(dict(settings.sets)["celeba"])
        said.append(
            f"students: {', '.join(f'{count:,}' for count in sorted(answers))} answers, a tenth of them held "
            f"out to choose the epoch; {STUDENT_EPOCHS} epochs in batches of {STUDENT_BATCH} for each of "
            f"their teacher's; asked for {USERS_SHARE:.0%} of the images, not the test ones"
            + (f", and for {more}'s training images without one hair colour" if more else "")
            + "; the paper's: 20% of the training images"
        )
    if settings.logarithm:
        said.append("G reads the logarithms of soft outputs; the paper's reads the probabilities")
    return said


def _parts(measured: Measured, name: str) -> list[tuple[str, tuple[tuple[str, int], ...], list[str]]]:
    """For each cut of one of the paper's sets: fingerprint, sizes of its splits, the tables that have it."""
    found: dict[tuple[str, tuple[tuple[str, int], ...]], dict[str, None]] = {}
    for row, cells in measured.items():
        for cell in cells if row.data == name else ():
            table = "Figure 9" if row.table == "fig9" else f"Table {row.table}"
            found.setdefault((cell["data"], tuple(cell["images"].items())), {})[table] = None
    return [(data, counts, list(tables)) for (data, counts), tables in found.items()]


def _section(name: str, rows: Sequence[PaperRow], measured: Measured) -> Section:
    with_entropy = any(row.entropy or row.prune for row in rows)
    lines = []
    for row in rows:
        cells = measured[row]
        columns = [
            Column(row.honesty, [100 * cell["honesty"] for cell in cells]),
            Column(row.curiosity, [100 * cell["curiosity"] for cell in cells]),
        ]
        if with_entropy:
            columns.append(Column(row.entropy, [cell["entropy"] for cell in cells]))
        majority = [
            f"{100 * cells[0][f'majority_{kind}']:.2f}" if cells else "" for kind in ("target", "sensitive")
        ]
        lines.append(Line(_labels(row), columns, [*majority, str(len(cells))]))
    figures = ("honesty", "curiosity", "entropy") if with_entropy else ("honesty", "curiosity")
    return Section(name, LABELS, figures, NOTES, lines)


def _labels(row: PaperRow) -> list[str]:
    if row.classifier == "honest":
        model = f"honest, overlearning on {row.output}"
    else:
        model = f"{row.classifier} {row.attack}"
    pruned = f"{row.prune:.0%} of the weights pruned" if row.prune else ""
    model = ", ".join(filter(None, (" ".join(filter(None, (row.role, model, row.width))), pruned)))
    return [row.y, row.s, model, f"{row.beta_y:g}, {row.beta_s:g}, {row.beta_x:g}"]
