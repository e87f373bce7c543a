"""A visitor's drawing becomes a sample like those of the set."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from leakrange.data import datasets
from leakrange.data.sets.digits import as_counts
from leakrange.wire.errors import InvalidInput


def drawing(counts: np.ndarray, side: int, place: tuple[int, int]) -> np.ndarray:
    """A digit of the set as somebody draws it: large, and anywhere on the page."""
    page = np.zeros((400, 400), np.uint8)
    big = Image.fromarray((counts * 15.9).astype(np.uint8)).resize((side, side), Image.Resampling.BICUBIC)
    page[place[0] : place[0] + side, place[1] : place[1] + side] = np.asarray(big)
    return page


def test_digits_drawn_large_or_small_and_anywhere_are_read_like_those_of_the_set() -> None:
    found = load_digits()
    model = LogisticRegression(max_iter=2000).fit(found.images[:1000].reshape(1000, -1), found.target[:1000])
    rng, drawn = np.random.default_rng(0), []
    for counts in found.images[1000:1200]:
        side = int(rng.integers(80, 240))
        drawn.append(as_counts(drawing(counts, side, tuple(rng.integers(0, 400 - side, 2)))))
    assert np.stack(drawn).min() >= 0
    assert np.stack(drawn).max() <= 16
    read = model.predict(np.stack(drawn).reshape(200, -1))
    assert (read == found.target[1000:1200]).mean() > 0.85


@pytest.mark.parametrize(("shift", "leans"), [(40, 0), (-40, 1)])
def test_how_a_drawing_leans_is_judged_among_digits_of_its_kind(shift: int, leans: int) -> None:
    page = np.zeros((300, 300), np.uint8)
    for row in range(60, 240):
        at = 150 + round(shift * (150 - row) / 90)
        page[row, at - 12 : at + 12] = 255
    made = datasets["digits"].drawn(page, 1)
    assert made is not None
    assert made.values.shape == (1, 8, 8, 1)
    assert made.values.dtype == np.uint8
    told = {name: int(values[0]) for name, values in made.labels.items()}
    assert told == {"digit": 1, "parity": 1, "large": 0, "loop": 0, "slant": leans}


def test_an_empty_page_is_no_digit_and_nobody_draws_faces() -> None:
    page = np.zeros((300, 300), np.uint8)
    page[:3, :3] = 255
    with pytest.raises(InvalidInput, match="nothing is drawn"):
        datasets["digits"].drawn(page, 1)
    assert datasets["synthfaces"].drawn(page, 1) is None
