"""Promised ε, and the lower bounds of it that guesses about canaries give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leakrange.metrics.numbers import count
from leakrange.report.charts.drawing import Axis, Key, Picture, picture, points
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.wire.views import Column, Definition, Table, Term

__all__ = ["in_words"]

KINDS = {"found": "lower bound", "gaussian": "lower bound, if Gaussian", "promised": "promised"}
FACTS = {
    "delta": "δ",
    "noise": "noise",
    "rate": "probability of a sample",
    "steps": "steps",
    "canaries": "canaries",
}
COLUMNS = ("provider", "seed", *(f"{title} ε" for title in KINDS.values()), *FACTS.values(), "promise")


def in_words(held: Mapping[str, Any]) -> str:
    """The verdict on the promise of one training: "holds", "broken", or "none" where nothing is promised."""
    if held["promised"] is None:
        return "none"
    return "holds" if max(held["found"], held["gaussian"]) <= held["promised"] else "broken"


def _summed_up(label: str, held: Sequence[Mapping[str, Any]]) -> str:
    found, gaussian = (max(each[kind] for each in held) for kind in ("found", "gaussian"))
    bounds = f"{label}: lower bound of ε up to {found:.2f}, {gaussian:.2f} if Gaussian"
    verdicts = [in_words(each) for each in held]
    if set(verdicts) == {"none"}:
        return f"{bounds}; nothing is promised"
    promised = min(each["promised"] for each in held if each["promised"] is not None)
    broken = verdicts.count("broken")
    verdict = f"broken in {broken} of {len(held)} trainings" if broken else "holds"
    return f"{bounds}; promised {promised:.2f}: {verdict}"


def _draw(findings: Findings, subject: Subject) -> Picture | None:
    """All providers of the subject's data, drawn at the first of them."""
    trials = {
        other: [trial for trial in findings.trials(row) if "promise" in trial.views]
        for other in findings.of_data(subject.data)
        if (row := findings.open(other)) is not None
    }
    held = {findings.label(other): each for other, each in trials.items() if each}
    if subject != next((other for other, each in trials.items() if each), None):
        return None
    rows, table, texts = [], [], []
    for label, each in held.items():
        texts.append(_summed_up(label, [trial.views["promise"] for trial in each]))
        for trial in each:
            view = trial.views["promise"]
            table.append([label, trial.seed, *(view[each] for each in (*KINDS, *FACTS))])
            table[-1].append(in_words(view))
            rows += [
                {
                    "x": label,
                    "y": view[kind],
                    "colour": place,
                    "marker": place,
                    "tip": f"{title}: {view[kind]:.2f}",
                }
                for place, (kind, title) in enumerate(KINDS.items(), 1)
                if view[kind] is not None
            ]
    trainings = count(len(table), "training")
    return picture(
        subject.data,
        f"Promised ε and its lower bounds on {subject.data}. {'. '.join(texts)}.",
        [
            points(
                rows,
                Axis("", names=list(held)),
                Axis("ε", ends=(0.0, 1.05 * max(row["y"] for row in rows) + 0.1)),
            )
        ],
        size=(max(300, 110 * len(held)), 260),
        note=". ".join(texts),
        keys=[Key(title, colour=place, marker=place) for place, title in enumerate(KINDS.values(), 1)],
        table=Table([Column(name) for name in COLUMNS], table),
        definition=Definition(
            (
                Term("lower bound", "Steinke, Nasr and Jagielski 2023: of any training, at 95 %"),
                Term(KINDS["gaussian"], "Mahloujifar, Melis and Chaudhuri 2024: of one with Gaussian noise"),
                Term("promised", "what the ledger of the training says"),
            ),
            f"{trainings}, by the strongest attack on each provider",
            "Each point is one training; a bound at 95 % is too high in one of twenty sound ones.",
        ),
    )


views.register("promise")(
    View(
        "Promised and found ε",
        "Fair coins put canaries into each training. The attacker’s guesses about them give a lower bound of "
        "its ε, beside what its ledger promises: a promise is broken where a bound exceeds it. A bound far "
        "below does not show that the promise is kept: a stronger attack may come nearer.",
        _draw,
        wide=True,
    )
)
