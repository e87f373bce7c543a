"""scikit-learn's diabetes patients: a real table, small and always there."""

from __future__ import annotations

from importlib.util import find_spec

from leakrange.data.catalogue import Content, GivenSet, datasets
from leakrange.data.columns import Coded, GroupedColumn
from leakrange.data.samples import by_name
from leakrange.data.tables import Quantity, encode, table

__all__ = ["Diabetes"]

INPUTS = (
    Quantity("bmi", 26.37579, 4.41312),
    Quantity("bp", 94.64701, 13.81563),
    Quantity("s1", 189.14027, 34.56888),
    Quantity("s2", 115.43914, 30.37866),
    Quantity("s3", 49.78846, 12.91956),
    Quantity("s4", 4.07025, 1.28899),
    Quantity("s5", 4.64141, 0.52180),
    Quantity("s6", 91.26018, 11.48332),
)
MEDIAN = 140.5
"""Median of the measure of progression, 25 to 346."""


@datasets.register("diabetes")
class Diabetes(GivenSet):
    """442 patients: did the disease progress fast? A sample holds body and blood values, not sex and age."""

    name = "diabetes"
    bundled = True
    description = "442 real diabetes patients, shipped with scikit-learn; sex and age hidden"
    attributes = by_name(
        GroupedColumn("progression", ("slow", "fast"), "against the median, a year later", begins=(MEDIAN,)),
        Coded("sex", ("1", "2"), "as the source numbers them, without saying which is which"),
        GroupedColumn("age-group", ("under 40", "40-54", "55 or older"), column="age", begins=(40, 55)),
    )
    spec = table(INPUTS)
    source = "scikit-learn load_diabetes: Efron, Hastie, Johnstone and Tibshirani, 2004"
    notes = (
        "442 patients only: accuracies on its 88 test samples are coarse",
        "samples hold neither sex nor age: both are hidden",
        "quantities are standardised by constants, the mean and deviation of all rows",
    )

    @classmethod
    def available(cls) -> str | None:
        """None where scikit-learn is installed."""
        return None if find_spec("sklearn") else "it comes with scikit-learn: pip install 'leakrange[models]'"

    @classmethod
    def content(cls) -> Content:
        """All patients, their values in the units of the source."""
        from sklearn.datasets import load_diabetes

        bunch = load_diabetes(scaled=False)
        columns = dict(zip(bunch.feature_names, bunch.data.T, strict=True))
        columns |= {"sex": columns["sex"] - 1, "progression": bunch.target}
        return Content(values=encode(INPUTS, columns), labels=cls.labels(columns))
