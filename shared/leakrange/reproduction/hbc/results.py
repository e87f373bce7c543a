"""The results page of Honest-but-Curious Nets: every table that was asked for, paper beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leakrange.reproduction.cells import Cell
from leakrange.reproduction.comparison import Column, Line, table
from leakrange.reproduction.hbc.experiments import Settings, trials
from leakrange.reproduction.hbc.paper import EPOCHS, REPETITIONS, TABLES, PaperRow

__all__ = ["page"]

PAPER_IMAGES = {"celeba": "more than 115,000 (the hair filter applied)", "utkface": "23,705"}


def page(
    rows: Sequence[PaperRow], seeds: Sequence[int], settings: Settings, store: Path, command: str
) -> str:
    """Markdown: what must be known before comparing, then a table for each of the paper's. Cells that were
    not measured are left open."""
    measured = {
        row: [c for t in trials([row], seeds, settings) if (c := t.cell(store, any_code=settings.any_code))]
        for row in rows
    }
    parts = [
        "# Honest-but-Curious Nets\n\n",
        f"Made by `{command}`.\n\n",
        "Honesty, curiosity and majority classes in percent of the test images, entropies of soft outputs in "
        f"bits; the paper's figures are means and deviations of {REPETITIONS} runs of {EPOCHS} epochs, ours of the "
        "seeds told in each row.\n\n",
        _differences(measured, settings),
    ]
    for number, title in TABLES.items():
        of_table = [row for row in rows if row.table == number]
        if of_table:
            parts.append(f"\n## Table {number}: {title}\n\n{_table(of_table, measured)}")
    return "".join(parts)


def _differences(measured: dict[PaperRow, list[Cell]], settings: Settings) -> str:
    notes = []
    for name, ours in settings.sets:
        found = [cell for row, cells in measured.items() if row.data == name for cell in cells]
        if found:
            counts = found[0]["images"]
            split = ", ".join(f"{split} {count:,}" for split, count in counts.items())
            notes.append(
                f"Data: `{ours}` (fingerprint {found[0]['data'][:16]}), "
                f"{sum(counts.values()):,} images ({split}); "
                f"the paper's {name}: {PAPER_IMAGES[name]}"
            )
    epochs = ", ".join(f"{count} on {name}" for name, count in settings.epochs)
    schedule = settings.schedule(settings.epochs[0][0])
    notes.append(
        f"Training: epochs {epochs} (paper {EPOCHS}), batch {schedule.batch}, "
        f"Adam {schedule.lr:g} as the "
        f"paper's{', bf16' if schedule.bf16 else ''}"
        + (
            f"; passes through F in a step of the parameterized attack: {settings.passes}"
            if settings.passes
            else ""
        )
    )
    codes = sorted({cell["code"] for cells in measured.values() for cell in cells})
    if codes:
        notes.append(f"versions of the training code: {', '.join(codes)}")
    return "".join(f"- {note}\n" for note in notes)


def _table(rows: Sequence[PaperRow], measured: dict[PaperRow, list[Cell]]) -> str:
    with_entropy = any(row.entropy for row in rows)
    lines = []
    for row in rows:
        cells = measured[row]
        columns = [
            Column("honesty", row.honesty, [100 * cell["honesty"] for cell in cells]),
            Column("curiosity", row.curiosity, [100 * cell["curiosity"] for cell in cells]),
        ]
        if with_entropy:
            columns.append(Column("entropy", row.entropy, [cell["entropy"] for cell in cells]))
        majority = [
            f"{100 * cells[0][f'majority_{kind}']:.2f}" if cells else "" for kind in ("target", "sensitive")
        ]
        lines.append(Line(_labels(row), columns, [*majority, str(len(cells))]))
    return table(["y", "s", "model", "β^y, β^s, β^x"], ["majority y", "majority s", "seeds"], lines)


def _labels(row: PaperRow) -> list[str]:
    model = f"{row.role} " if row.role else ""
    model += row.classifier if row.classifier == "honest" else f"{row.classifier} {row.attack}"
    if row.classifier == "honest":
        model += f", overlearning on {row.output}"
    if row.width:
        model += f" {row.width}"
    return [row.y, row.s, model, f"{row.beta_y:g}, {row.beta_s:g}, {row.beta_x:g}"]
