"""Reconstructed samples in the record of an upload: as they were sent, or refused."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from leakrange.wire.errors import InvalidInput, LeakrangeError, MalformedBody
from leakrange.wire.schemas import IntakeRecord
from leakrange.wire.tensors import to_text


def record(reconstructed: str | None) -> IntakeRecord:
    """Of an upload of two samples."""
    return IntakeRecord(
        upload="u",
        model="m",
        release="logits",
        values=[[0.0, 1.0], [2.0, 3.0]],
        decisions=[1, 1],
        inferred=None,
        scores=None,
        reconstructed=reconstructed,
    )


def test_samples_come_as_they_were_sent_in_little_room() -> None:
    samples = np.random.default_rng(0).uniform(0, 255, (2, 16, 24, 3)).astype(np.float32)
    text = to_text(samples)
    assert len(text) < 1.4 * samples.nbytes
    read = IntakeRecord.model_validate_json(record(text).model_dump_json()).samples()
    assert read is not None
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, samples)
    assert record(None).samples() is None


def npy(**header: object) -> str:
    """An npy file that says more than it holds."""
    entries = {"descr": "<f4", "fortran_order": False, "shape": (2, 1)} | header
    text = repr(entries).encode() + b"\n"
    return base64.b64encode(
        b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"12345678"
    ).decode()


@pytest.mark.parametrize(
    ("sent", "error", "said"),
    [
        ("no base64!", MalformedBody, "not in base64"),
        ("ä" * 8, MalformedBody, "not in base64"),
        ("", MalformedBody, "not an npy file"),
        (npy(shape=(2, 10**11)), MalformedBody, "announces"),
        (npy(descr="|O"), InvalidInput, "dtype"),
        (to_text(np.full((2, 4), np.nan, np.float32)), InvalidInput, "finite"),
        (to_text(np.full((2, 4), 1e300)), InvalidInput, "finite"),
        (to_text(np.zeros((1, 4), np.float32)), InvalidInput, "1 samples were reconstructed from 2"),
        (to_text(np.zeros((3, 4), np.float32)), InvalidInput, "3 samples"),
        (to_text(np.zeros((2, 2_000_000), np.uint8)), InvalidInput, "2000000 numbers a sample"),
        (to_text(np.zeros(2, np.float32)), InvalidInput, "shape"),
    ],
)
def test_what_is_no_such_array_is_refused(sent: str, error: type[LeakrangeError], said: str) -> None:
    with pytest.raises(error, match=said):
        record(sent).samples()
