"""Inversions: the people whom attackers drew from a model's answers, beneath pictures of these people."""

from __future__ import annotations

from functools import partial

from leakrange.report.views import View, views
from leakrange.report.views.reconstructions import Depiction, gallery

PEOPLE = Depiction(
    view="inversions",
    whose="person",
    original="a training picture",
    originals="pictures of these people",
    label="Training pictures of {} above what attackers drew of the same people.",
)

views.register("inversions")(
    View(
        "Drawings of people",
        "Training pictures of people whom the model knows, which no attacker saw; beneath them what the "
        "strongest attackers drew of the same people from what each defence let out. Each picture’s tooltip "
        "says which judges take it for that person: a drawing can look right to one judge, and to no other.",
        partial(gallery, depicted=PEOPLE),
        wide=True,
    )
)
