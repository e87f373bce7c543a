"""The page of the glossary, from the file that reports and pages read."""

from __future__ import annotations

from leakrange.report.glossary import glossary

__all__ = ["page"]

INTRODUCTION = """---
search: {boost: 8}
---

# Glossary

The words of reports and pages, each in a sentence. [Concepts](../concepts.md) says more about some."""


def page() -> str:
    """A row for each term."""
    rows = [f"| **{term}** | {sentence} |" for term, sentence in glossary().items()]
    return "\n".join([INTRODUCTION, "", "| word | meaning |", "|---|---|", *rows]) + "\n"
