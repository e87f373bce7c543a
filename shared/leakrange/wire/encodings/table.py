"""Rows of tables."""

from __future__ import annotations

from leakrange.wire.samples import Encoding, SampleSpec, encodings

__all__ = ["TableEncoding"]


@encodings.register("table")
class TableEncoding(Encoding):
    """Columns that have names; a CSV may give them in any order."""

    summary = "a row of a table with named columns"
    axes = ("columns",)
    layout = (0, 1)
    nets = ("mlp",)
    rows = True
    facts = frozenset({"columns"})

    @classmethod
    def mistake(cls, spec: SampleSpec) -> str | None:
        """See `Encoding.mistake`: columns without a name of their own."""
        if spec.columns is None:
            return "a table has columns"
        if len(spec.columns) != spec.shape[0] or len(set(spec.columns)) != len(spec.columns):
            return f"a table of {spec.shape[0]} columns needs as many different names"
        return None

    @classmethod
    def column_names(cls, spec: SampleSpec) -> tuple[str, ...]:
        """See `Encoding.column_names`."""
        return spec.columns or ()
