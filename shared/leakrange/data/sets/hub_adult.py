"""UCI Adult, from OpenML through scikit-learn."""

from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from leakrange.data.adult import ADULT_ATTRIBUTES, ADULT_COLUMNS, ADULT_INPUTS, adult_labels
from leakrange.data.catalogue import Content, GivenSet, datasets
from leakrange.data.tables import encode, same_rows, table
from leakrange.wire.errors import DataUnavailable

__all__ = ["HubAdult", "from_openml"]

VERSION = 2
"""Of OpenML's ``adult``: the one with all of the 48,842 rows as they are."""


@datasets.register("hub-adult")
class HubAdult(GivenSet):
    """The people of ``adult``, downloaded once; OpenML does not tell which are the official test rows."""

    name = "hub-adult"
    description = "48,842 people of a census, downloaded from OpenML"
    attributes = ADULT_ATTRIBUTES
    spec = table(ADULT_INPUTS)
    source = "adult, version 2, on OpenML; UCI Machine Learning Repository, CC BY 4.0"
    notes = (
        "no official split: 20 % test, drawn with the data seed",
        "samples hold no sex, race, age, marital status or relationship: these are hidden, or tell what is",
    )

    @classmethod
    def available(cls) -> str | None:
        """None where scikit-learn is installed; whether OpenML can be reached shows when it is loaded."""
        return None if find_spec("sklearn") else "scikit-learn downloads it: pip install 'leakrange[models]'"

    @classmethod
    def content(cls) -> Content:
        """The table; the first time it is downloaded, then it is read from ``$LEAKRANGE_CACHE/openml``."""
        from sklearn.datasets import fetch_openml

        root = os.environ.get("LEAKRANGE_CACHE")
        home = Path(root) if root else Path.home() / ".cache" / "leakrange"
        how = {"as_frame": False, "parser": "liac-arff", "n_retries": 1, "delay": 0.1}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it tries again
                found = fetch_openml("adult", version=VERSION, data_home=str(home), **how)
        # However OpenML cannot be reached or its answer read, it is one of these.
        except (OSError, ValueError, KeyError) as failed:
            raise DataUnavailable(
                f"data set {cls.name!r} cannot be downloaded from OpenML: {failed}",
                hint=f"connect to the network, copy {home}/openml from a machine that has it, or use 'adult'",
            ) from failed
        return from_openml(found)


def from_openml(found: Any) -> Content:
    """The people in what scikit-learn's ``fetch_openml`` gives, its names as numbers of ``categories``.

    Raises `DataUnavailable` where columns are missing or hold other values.
    """
    places = {name.replace("-", "_"): i for i, name in enumerate(found.feature_names)}
    missing = [name for name in ADULT_COLUMNS[:-1] if name not in places]
    if missing:
        raise DataUnavailable(
            f"OpenML's adult lacks the columns: {', '.join(missing)}", hint="use 'adult', which is packed"
        )
    named = {name.replace("-", "_"): values for name, values in found.categories.items()}
    columns = {name: _text(found.data[:, places[name]], named.get(name)) for name in ADULT_COLUMNS[:-1]}
    columns["income"] = [str(income) for income in found.target]
    return Content(
        values=encode(ADULT_INPUTS, columns),
        labels=adult_labels(columns),
        group=same_rows(columns, ADULT_COLUMNS),
    )


def _text(values: Any, names: list[str] | None) -> list[str]:
    """A column as the published files write it; a name that is not known is "?"."""
    if names is None:
        return [f"{value:.0f}" for value in values]
    return ["?" if np.isnan(value) else names[int(value)] for value in values]
