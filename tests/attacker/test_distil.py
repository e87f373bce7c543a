"""The fleet plays a user: a job's answers teach a student, which is used on the victims' samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leakrange.data import load
from leakrange.jobs.job import FitJob, Span, Student
from leakrange.jobs.recipe import DataSpec, NetSpec
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput, NotFound
from services.attacker.distil import student_outputs

DIGITS = DataSpec(name="digits", size=16, auxiliary=0.3)
NUMBER = 300
VICTIMS = [
    Span(data=DIGITS, split="test", start=0, stop=100),
    Span(data=DIGITS, split="test", start=100, stop=150),
]


def answers_of(split: str, start: int, stop: int) -> np.ndarray:
    """A teacher that is nine tenths sure of the parity."""
    data = load(DIGITS)
    parity = data.labels["parity"][data.where(split)[start:stop]]
    return np.where(np.arange(2) == parity[:, None], 0.9, 0.1).astype(np.float32)


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(str(tmp_path))


def job(store: FolderStore, **changes: object) -> FitJob:
    """The user asked about the first 320 of its records, in two chunks, and may use 300."""
    chunks = []
    for start, stop in ((0, 200), (200, 320)):
        identity = digest(["answers", start])
        put_array(store, f"{identity}.npy", answers_of("auxiliary", start, stop))
        chunks.append([identity])
    fields: dict[str, object] = {
        "attack": "distillation",
        "parameters": {"epochs": 15, "width": 0.5},
        "release": "softmax",
        "sensitive": "large",
        "auxiliary": chunks,
        "auxiliary_count": NUMBER,
        "span": Span(data=DIGITS, split="auxiliary", start=0, stop=NUMBER),
        "observed": [],
        "student": Student(teacher=NetSpec(width=0.5), victims=VICTIMS),
    }
    return FitJob.model_validate(fields | changes)


def test_the_student_answers_for_the_victims_in_order(store: FolderStore) -> None:
    soft = student_outputs(job(store), store)
    assert (soft.shape, soft.dtype) == ((150, 2), np.float32)
    np.testing.assert_allclose(soft.sum(axis=1), 1.0, atol=1e-5)
    teacher = answers_of("test", 0, 150)
    assert (soft.argmax(axis=1) == teacher.argmax(axis=1)).mean() > 0.85
    assert 0.7 < soft.max(axis=1).mean() < 0.97  # as sure as the teacher, and no surer


def test_answers_that_are_missing_or_too_few_are_told(store: FolderStore) -> None:
    with pytest.raises(NotFound):
        student_outputs(job(store, auxiliary=[[digest("nothing")]]), store)
    with pytest.raises(InvalidInput, match="learns from"):
        student_outputs(job(store, auxiliary=[[digest(["answers", 0])]]), store)
    without = job(store, student=None)
    assert without.identity() != job(store).identity()
    with pytest.raises(InvalidInput, match="needs a student"):
        student_outputs(without, store)
