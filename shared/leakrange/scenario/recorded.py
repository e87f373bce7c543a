"""The results of attacks on answers that were recorded elsewhere, in the form of a run's."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from time import perf_counter

from leakrange.attacks import attacks
from leakrange.attacks.kinds import kind_of
from leakrange.attacks.kinds.membership import MEMBERS, MEMBERSHIP
from leakrange.attacks.kinds.trial import Judged
from leakrange.data.importing.answers import RecordedAnswers
from leakrange.scenario.results import RunResults, TrialResult
from leakrange.wire.errors import InvalidInput

__all__ = ["RECORDED", "recorded_results"]

RECORDED = "recorded"
"""The behaviour of a provider of which nothing is there but answers."""


def recorded_results(answers: RecordedAnswers, seed: int = 0) -> RunResults:
    """Make every registered attack that can do with these answers; ``data_notes`` say why others cannot.

    Raises `InvalidInput` where no attack can be made.
    """
    begun, started = perf_counter(), _now()
    trials: list[TrialResult] = []
    notes = _notes(answers)
    reasons: dict[str, list[str]] = {}
    for name in sorted(attacks):
        entry = attacks[name]
        if entry.control:  # it stands beside each attack
            continue
        judged = kind_of(entry).judge_recorded(entry, answers, seed)
        if isinstance(judged, str):
            reasons.setdefault(judged, []).append(name)
        else:
            trials.append(_trial(name, entry.kind, answers, judged, seed))
    left_out = [f"not made: {', '.join(names)} ({why})" for why, names in reasons.items()]
    if not trials:
        raise InvalidInput(
            f"no attack can be made on {answers.name}",
            hint="give more rows, or more of the file's columns a part",
            mistakes=[{"path": ", ".join(names), "message": why} for why, names in reasons.items()],
        )
    return RunResults(
        run=RECORDED,
        name=answers.name,
        state="done",
        created=started,
        finished=_now(),
        scenario_yaml="",
        scenario={"defences": {"none": []}},
        environment=_environment(answers),
        data_notes={answers.name: [*notes, *left_out]},
        classes={answers.name: _classes(answers)},
        trials=trials,
        models=[],
        seconds=perf_counter() - begun,
    )


def _trial(name: str, kind: str, answers: RecordedAnswers, judged: Judged, seed: int) -> TrialResult:
    hidden = answers.hidden
    on_attribute = kind != MEMBERSHIP and hidden is not None
    return TrialResult(
        id=f"{answers.name}/{name}",
        kind=kind,
        provider=answers.name,
        data=answers.name,
        behaviour=RECORDED,
        release=answers.release,
        target=answers.columns.target or "its decision",
        sensitive=hidden.attribute.name if on_attribute and hidden else MEMBERSHIP,
        defence="none",
        attack=name,
        knowledge="unaware",
        budget=len(answers.values),
        seed=seed,
        state="done",
        victims=judged.victims,
        spent=judged.spent,
        metrics=judged.metrics,
        views=judged.views,
    )


def _notes(answers: RecordedAnswers) -> list[str]:
    """What the figures of such answers do not tell."""
    notes = [
        f"{len(answers.values):,} recorded answers of {answers.values.shape[1]} values ({answers.release}); "
        "nothing was asked of the model, and the budget is the number of answers"
    ]
    if answers.unmatched:
        notes.append(f"{answers.unmatched:,} answers were left out, since nothing is known of their records")
    if answers.labels is None and answers.members is not None and answers.release != "features":
        notes.append(
            "no column holds the true classes: each decision stands for one, and attacks miss what the wrong "
            "ones tell (--target)"
        )
    if answers.members is not None and answers.labels is None and answers.known is None:
        notes.append(
            "nothing is known of the records without the model, so no control was made: where members differ "
            "from others by themselves, that looks like a leak (name such columns by --known)"
        )
    if answers.group is None:
        notes.append(
            "every row counts as another person's: if people have several, name their column (--person)"
        )
    return notes


def _classes(answers: RecordedAnswers) -> dict[str, list[str]]:
    names = {MEMBERSHIP: list(MEMBERS)}
    if answers.columns.target is not None and answers.release != "features":
        names[answers.columns.target] = list(answers.classes)
    if answers.hidden is not None:
        names[answers.hidden.attribute.name] = list(answers.hidden.attribute.classes)
    return names


def _environment(answers: RecordedAnswers) -> dict[str, str]:
    return {
        f"SHA-256 of {answers.name}": answers.sha256,
        "columns": _columns(answers),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "processors": str(os.cpu_count()),
        **{library: version(library) for library in ("leakrange", "numpy")},
    }


def _columns(answers: RecordedAnswers) -> str:
    """Which columns served as what: "values p_*; member in_training"."""
    parts = vars(answers.columns)
    named = {part: [names] if isinstance(names, str) else names for part, names in parts.items() if names}
    return "; ".join(f"{part} {', '.join(names)}" for part, names in named.items())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
