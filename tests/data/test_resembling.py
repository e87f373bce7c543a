"""Which samples resemble each other, and which of an attacker's must be held out together."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.data.resembling import apart_as_users
from leakrange.data.samples import SPLITS, Attribute, Labelled, by_name

TRAIN, TEST = SPLITS.index("train"), SPLITS.index("test")
RECORDINGS = np.repeat(np.arange(6), 2)
"""Of 12 samples: two of each recording, of which the last two recordings are users'."""
SPLIT = np.where(RECORDINGS < 4, TRAIN, TEST).astype(np.uint8)
STRANGERS = np.array([0, 0, 1, 1, 2, 3])[RECORDINGS]
KNOWN = np.array([0, 0, 1, 1, 0, 1])[RECORDINGS]


def spoken(speakers: np.ndarray) -> Labelled:
    """Samples of ``fsdd``, whose people are speakers."""
    attributes = by_name(Attribute("speaker", ("a", "b", "c", "d")), Attribute("digit", ("0", "1")))
    labels = {"speaker": speakers, "digit": np.resize([0, 1], 12)}
    return Labelled(name="fsdd", attributes=attributes, labels=labels, split=SPLIT, group=RECORDINGS)


@pytest.mark.parametrize(
    ("speakers", "about", "together"),
    [
        (STRANGERS, "digit", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        (KNOWN, "digit", [[0, 1], [2, 3], [4, 5], [6, 7]]),
        (STRANGERS, "speaker", [[0, 1], [2, 3], [4, 5], [6, 7]]),
    ],
    ids=["strangers", "people who are known", "people who are to be told"],
)
def test_people_are_held_out_whole_where_users_are_strangers(
    speakers: np.ndarray, about: str, together: list[list[int]]
) -> None:
    data = spoken(speakers)
    found = apart_as_users(data, data.where("train"), about)
    assert [np.flatnonzero(found == each).tolist() for each in dict.fromkeys(found.tolist())] == together
