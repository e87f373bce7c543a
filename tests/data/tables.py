"""A small table of a user's own, written as CSV."""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["SCENARIO", "customers", "write_rows"]

Row = Mapping[str, object]

SCENARIO = """\
name: mine
seeds: [0]
data: {name: mine}
providers:
  honest: {behaviour: honest, target: exited}
attacks:
  outside: {kind: attribute-inference, sensitive: gender, auxiliary: 20}
budgets: [20]
"""
"""What is asked of customers."""


def customers(n: int = 120) -> list[dict[str, object]]:
    """Rows with a number that is sometimes missing, a category, a date and a number of the customer."""
    draw = random.Random(5)
    return [
        {
            "customer_id": 1000 + i,
            "since": f"20{draw.randint(10, 25)}-0{draw.randint(1, 9)}-11",
            "balance": "" if i % 10 == 3 else round(draw.uniform(-500, 9000), 2),
            "products": draw.randint(1, 4),
            "country": draw.choice(["France", "Spain", "Spain", "Germany"]),
            "gender": draw.choice(["female", "male", "male"]),
            "age": draw.randint(18, 90),
            "exited": draw.choice([0, 0, 0, 1]),
        }
        for i in range(n)
    ]


def write_rows(path: Path, rows: Sequence[Row]) -> Path:
    """Write a CSV of these rows."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
