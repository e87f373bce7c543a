"""The recipe of a student, which refers to its teacher's."""

from __future__ import annotations

from leakrange.jobs.recipe import TrainingRecipe

__all__ = ["EPOCHS", "STUDENT", "student_recipe"]

STUDENT = "student"
"""The behaviour that a student's recipe names."""
EPOCHS = 10
VERSION = 1
"""Raised when the same teacher and samples give another student than before."""


def student_recipe(teacher: TrainingRecipe, **parameters: int) -> TrainingRecipe:
    """The recipe of a recognition student on the body of that teacher; ``parameters`` are everything else
    that decides the student."""
    return TrainingRecipe(
        data=teacher.data,
        behaviour=STUDENT,
        parameters={
            "target": "student",
            "teacher": teacher.digest(),
            **parameters,
            "epochs": EPOCHS,
            "version": VERSION,
        },
        net=teacher.net,
        seed=teacher.seed,
    )
