"""``data import``, ``data remove``: data sets of the user's own. Need no range."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from leakrange.clients.cli.console import note, print_json, print_table, say
from leakrange.clients.cli.options import AsJson

if TYPE_CHECKING:
    from leakrange.data.importing import Prepared

__all__ = ["import_data", "remove_data"]

MOST_CLASSES = 12
"""Classes of an attribute in the preview; JSON has them all."""


def import_data(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|FOLDER|hf:NAME", help="CSV, Parquet, npz, tar, a folder, or a set of the hub"
        ),
    ],
    name: Annotated[str, typer.Option("--name", help="what scenarios call it")],
    target: Annotated[
        str,
        typer.Option("--target", help="the column that a model predicts, or a name for folders of pictures"),
    ],
    hidden: Annotated[
        list[str] | None, typer.Option("--hidden", help="a column that attacks infer; may be repeated")
    ] = None,
    person: Annotated[
        str | None, typer.Option("--person", help="the column that says whose row it is")
    ] = None,
    member: Annotated[
        str | None, typer.Option("--member", help="the column that says on which rows a model was trained")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", help="a column that samples leave out; may be repeated")
    ] = None,
    size: Annotated[int, typer.Option("--size", help="pixels a side of pictures")] = 64,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only show what would be imported")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a data set of a file or folder of your own, or of a set of the hub, and show what became of it.

    It is kept in the folder that LEAKRANGE_DATA names, and scenarios know it by its name.
    """
    from leakrange.data.importing import ColumnUse, import_set

    use = ColumnUse(target, tuple(hidden or ()), person, member, tuple(without or ()))
    prepared = import_set(path, name, use, size=size, dry_run=dry_run)
    if as_json:
        print_json({"name": name, "kept": not dry_run, **_facts(prepared)})
        return
    _show(prepared)
    if dry_run:
        note(f"nothing was kept: leave out --dry-run to import {name!r}")
    else:
        note(f"imported {name!r}: scenarios name it by 'data: {{name: {name}}}'")


def remove_data(name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Delete a data set that was imported. What was learnt from it stays in the range."""
    from leakrange.data.importing import remove_set

    remove_set(name)
    note(f"removed {name!r}")


def _facts(prepared: Prepared) -> dict[str, Any]:
    division, labels = prepared.division, prepared.labels
    counts = {
        each.attribute.name: np.bincount(each.values + 1, minlength=len(each.attribute.classes) + 1).tolist()
        for each in labels
    }
    return {
        "kind": prepared.kind,
        "rows": {"read": len(division.kept), "kept": int(division.kept.sum()), "left_out": division.dropped},
        "split": {
            "train": int(division.training().sum()),
            "test": int(division.kept.sum() - division.training().sum()),
        },
        "groups": {
            "near_copies": division.copies,
            "people": division.people,
            "largest": int(np.bincount(division.group).max()),
        },
        "sample": prepared.sample,
        "columns": [
            {
                "name": plan.name,
                "kind": plan.kind,
                "becomes": plan.names,
                "missing": plan.missing,
                "rule": plan.rule,
            }
            for plan in prepared.columns
        ],
        "attributes": {
            each.attribute.name: {
                "rule": each.rule,
                "unknown": counts[each.attribute.name][0],
                "classes": dict(zip(each.attribute.classes, counts[each.attribute.name][1:], strict=True)),
            }
            for each in labels
        },
        "notes": prepared.notes,
    }


def _show(prepared: Prepared) -> None:
    facts = _facts(prepared)
    if prepared.columns:
        print_table(
            ("column", "kind", "numbers", "missing", "rule"),
            [
                (plan.name, plan.kind, len(plan.names) or "", plan.missing or "", plan.rule)
                for plan in prepared.columns
            ],
            empty="no columns",
        )
    say("")
    print_table(
        ("attribute", "part", "classes (rows)", "unknown", "rule"),
        [
            (name, _part(prepared, name), _classes(each["classes"]), each["unknown"] or "", each["rule"])
            for name, each in facts["attributes"].items()
        ],
        empty="no attributes",
    )
    say("")
    rows, groups = facts["rows"], facts["groups"]
    say(f"{prepared.kind}: {rows['kept']:,} of {rows['read']:,} rows kept, each {_form(prepared)}")
    for why, count in rows["left_out"].items():
        say(f"left out: {count:,} rows, {why}")
    say(f"split: {facts['split']['train']:,} training rows, {facts['split']['test']:,} test rows")
    say(_together(groups))
    for each in facts["notes"]:
        say(each)


def _form(prepared: Prepared) -> str:
    sample = prepared.sample
    if sample.encoding == "table":
        return f"a row of {sample.shape[0]} numbers"
    return f"a {sample.encoding} of {' x '.join(map(str, sample.shape))}"


def _together(groups: Mapping[str, int]) -> str:
    """Which rows are never divided between training and test."""
    copies, people, largest = groups["near_copies"], groups["people"], groups["largest"]
    if largest == 1:
        return "no rows have to stay together: none equals another"
    of_people = f"; the rows of each of {people:,} people do, too" if people else ""
    return f"{copies:,} rows equal another, and such rows stay together{of_people}; at most {largest:,} rows"


def _part(prepared: Prepared, name: str) -> str:
    parts = {prepared.use.target: "target", prepared.use.member: "member"}
    return parts.get(name, "hidden")


def _classes(counts: dict[str, int]) -> str:
    shown = [f"{name} ({count:,})" for name, count in counts.items()]
    more = [f"and {len(shown) - MOST_CLASSES} more"] if len(shown) > MOST_CLASSES else []
    return ", ".join(shown[:MOST_CLASSES] + more)
