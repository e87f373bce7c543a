"""Reports of runs: a self-contained page, and the trials as CSV.

The JSON is `RunResults.model_dump_json`.
"""

from leakrange.report.page import render
from leakrange.report.table import to_csv

__all__ = ["render", "to_csv"]
