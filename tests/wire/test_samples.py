"""What a sample looks like: which specifications there can be."""

from typing import Any

import pytest
from pydantic import ValidationError

from leakrange.wire.samples import SampleSpec

TABLE = {"encoding": "table", "shape": (2,), "dtype": "float32", "columns": ("age", "hours")}
SERIES = {"encoding": "series", "shape": (100, 3), "dtype": "float32", "rate": 50.0}


@pytest.mark.parametrize(
    "said",
    [
        TABLE | {"scale": (10.0, 20.0), "offset": (-1.0, 0.0)},
        SERIES,
        SERIES | {"rate": None},
        {"encoding": "vector", "shape": (2,), "dtype": "uint8", "scale": 127.5, "offset": -1.0},
        SampleSpec.picture(28, 20, 1).model_dump(),
    ],
)
def test_every_encoding_survives_json(said: dict[str, Any]) -> None:
    spec = SampleSpec.model_validate(said)
    assert SampleSpec.model_validate_json(spec.model_dump_json()) == spec
    assert hash(spec) == hash(SampleSpec.model_validate(said))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (TABLE | {"columns": ("age",)}, "as many different names"),
        (TABLE | {"columns": ("age", "age")}, "as many different names"),
        (TABLE | {"columns": None}, "a table has columns"),
        (SERIES | {"columns": ("x", "y", "z")}, "a series has no columns"),
        (TABLE | {"rate": 1.0}, "a table has no rate"),
        (TABLE | {"scale": (1.0, 2.0, 3.0)}, "'scale' is one number, or one for each of the 2 last"),
        (TABLE | {"scale": 0.0}, "greater than 0"),
        (TABLE | {"offset": float("nan")}, "finite number"),
        (SERIES | {"shape": (100,)}, "has 2 axes"),
        (
            SERIES | {"encoding": "serie"},
            "unknown encoding 'serie'; there are picture, series, table, vector",
        ),
        (SERIES | {"shape": (60_000, 60_000)}, "at most 786432 values"),
        (SERIES | {"shape": (0, 3)}, "greater than or equal to 1"),
        (SampleSpec.picture(8, 8, 3).model_dump() | {"dtype": "float32"}, "channels of uint8"),
        (SampleSpec.picture(8, 8, 3).model_dump() | {"shape": (8, 8, 4)}, "one to three channels"),
    ],
)
def test_what_contradicts_itself_is_refused(said: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        SampleSpec.model_validate(said)


def test_only_a_picture_can_be_made_larger() -> None:
    assert SampleSpec.picture(28, 28, 3).resized(64) == SampleSpec.picture(64, 64, 3)
    with pytest.raises(ValueError, match="a series has no size"):
        SampleSpec.model_validate(SERIES).resized(64)
