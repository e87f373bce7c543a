"""Attacks on answers that were recorded elsewhere: nothing is asked, and the file says what was hidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.attack import Attack, AttributeAttack, Evidence
from leakrange.attacks.controls import blind_scores, even_parts, imputed
from leakrange.attacks.kinds.figures import PANEL, held_out, viewed_panel
from leakrange.attacks.kinds.trial import Judged
from leakrange.attacks.membership.membership import MembershipAttack, MembershipEvidence
from leakrange.data.importing.answers import RecordedAnswers
from leakrange.data.importing.roles import ImportedLabels
from leakrange.data.splits import shuffled, stream
from leakrange.metrics import Guesses, Membership, Ranking, SoftOutputs, UserDecisions, measured
from leakrange.metrics.controls import BesideBlind, BesideImputation
from leakrange.metrics.views import viewed
from leakrange.wire.errors import InvalidInput

__all__ = ["recorded_attribute", "recorded_members"]

FEWEST = 20
LESSONS = 1_000
"""The most records that an attacker learns an attribute from: from more it learns little more."""
VICTIMS = 100_000
"""The most records whose attribute is inferred: an interval over so many is narrow."""
FEW_VALUES = 12
"""A column of what is known with more different values counts by its quartiles in an imputation."""


def recorded_members(attack: type[Attack], answers: RecordedAnswers, seed: int) -> Judged | str:
    """The result of an attack on membership, or why it cannot be made.

    Where true classes are not known, the model's decisions stand for them. The control guesses by what is
    known of the records without the model: the columns that the file names, and the true class.
    """
    if answers.members is None:
        return "no column says who was trained on"
    if answers.release not in attack.consumes:
        return f"it reads {' or '.join(attack.consumes)}, and these are {answers.release}"
    if "shadows" in attack.Parameters.model_fields:
        return (
            "it trains models of its own, and asks them about the same records, which the file does not hold"
        )
    if "population" in attack.Parameters.model_fields:
        return "it also asks about records that nobody was trained on, which the file does not hold"
    if not issubclass(attack, MembershipAttack):
        return "it chooses each question by the answers before it, and a file answers none"
    labels = answers.decisions if answers.labels is None else answers.labels
    assert labels is not None  # it reads logits or softmax
    return _if_enough(lambda: _on_members(attack, answers, labels, seed))


def _on_members(
    attack: type[MembershipAttack], answers: RecordedAnswers, labels: NDArray[np.int64], seed: int
) -> Judged | str:
    assert answers.members is not None
    rows = np.flatnonzero(labels >= 0)
    members, values = answers.members[rows], answers.values[rows]
    if min(int(members.sum()), int((~members).sum())) < 2:
        return "there are no two members and two others whose true class is known"
    group = None if answers.group is None else answers.group[rows]
    try:
        scores = attack().score(_evidence(values, labels[rows], answers.release))
    except InvalidInput as error:
        return error.detail
    membership = Membership(scores, members, group, None, seed)
    outcomes: list[object] = [membership.guesses, membership]
    if (facts := _facts(answers, rows)) is not None:
        each = np.arange(len(rows)) if group is None else group
        guessed, fold = blind_scores(facts, members, each)
        outcomes.append(BesideBlind(membership, Ranking(guessed, members, group, fold)))
    others = rows[~members]  # of those who were trained on, a model is more often right
    return Judged(
        metrics=measured(*_utility(answers, others), *outcomes),
        views=viewed(membership.guesses, membership),
        victims=len(membership.guesses.truth),
        spent=0,
    )


def recorded_attribute(attack: type[Attack], answers: RecordedAnswers, seed: int) -> Judged | str:
    """The result of an attack on the hidden attribute, or why it cannot be made.

    The attacker knows the attribute of two fifths of the records, of `LESSONS` at most, and infers that of
    the other three, of `VICTIMS` at most; all records of a person are on one side. The control imputes it
    from the true class, the decision and what else is known.
    """
    hidden = answers.hidden
    if hidden is None:
        return "no column holds a hidden attribute"
    if answers.release not in attack.consumes:
        return f"it reads {' or '.join(attack.consumes)}, and these are {answers.release}"
    return _if_enough(lambda: _on_attribute(attack, answers, hidden, seed))


def _on_attribute(
    attack: type[Attack], answers: RecordedAnswers, hidden: ImportedLabels, seed: int
) -> Judged | str:
    classes, known = len(hidden.attribute.classes), np.flatnonzero(hidden.values >= 0)
    if len(known) < FEWEST:
        return f"the attribute of {len(known)} records is known; an attacker and its control need {FEWEST}"
    group = None if answers.group is None else answers.group[known]
    fold = even_parts(hidden.values[known], group, seed)
    learnt = fold < max(1, 2 * (int(fold.max()) + 1) // 5)
    lessons, victims = _drawn(known[learnt], LESSONS, seed), _drawn(known[~learnt], VICTIMS, seed)
    given = {"sensitive": hidden.attribute.name} if "sensitive" in attack.Parameters.model_fields else {}
    evidence = Evidence(
        auxiliary=answers.values[lessons],
        auxiliary_labels=hidden.values[lessons],
        observed=answers.values[victims],
        classes=classes,
        release=answers.release,
        seed=seed,
        auxiliary_group=None if answers.group is None else answers.group[lessons],
    )
    try:
        inference = cast(AttributeAttack, attack(attack.Parameters.model_validate(given))).infer(evidence)
    except InvalidInput as error:
        return error.detail
    truth, persons = hidden.values[victims], None if answers.group is None else answers.group[victims]
    guesses = Guesses(inference.predicted, truth, classes, persons)
    ranking = Ranking(inference.scores, truth, persons)
    arrays = {PANEL + name: array for name, array in inference.panel.items()}
    control = BesideImputation(ranking, _imputation(answers, victims, truth, classes, persons, seed))
    return Judged(
        metrics=measured(*_utility(answers, victims), guesses, ranking, control, *held_out(arrays)),
        views=viewed(guesses, ranking) | viewed_panel(arrays, truth),
        victims=len(victims),
        spent=0,
    )


def _if_enough(judge: Callable[[], Judged | str]) -> Judged | str:
    """What ``judge`` gives, or that there is too little: metrics and controls need records of every class in
    each part, and records of several people."""
    try:
        return judge()
    except ValueError:
        return "there are too few records, or people, of either side to judge by"


def _drawn(rows: NDArray[np.intp], most: int, seed: int) -> NDArray[np.intp]:
    """At most so many of the rows, in random order."""
    return rows[shuffled(stream(seed, "recorded"), len(rows))[:most]]


def _evidence(values: NDArray[np.float32], labels: NDArray[np.int64], release: str) -> MembershipEvidence:
    """The evidence of an attacker who has these answers and nothing else."""
    given = {"observed": values, "labels": labels, "release": release}
    return MembershipEvidence(**MembershipAttack.arrays_filled(given))


def _utility(answers: RecordedAnswers, rows: NDArray[np.intp]) -> list[object]:
    """What users got, as far as the file says it."""
    outcomes: list[object] = []
    if answers.labels is not None and answers.decisions is not None:
        group = None if answers.group is None else answers.group[rows]
        outcomes.append(UserDecisions(answers.decisions[rows], answers.labels[rows], group))
    if answers.release == "softmax":
        outcomes.append(SoftOutputs(answers.values[rows]))
    return outcomes


def _facts(answers: RecordedAnswers, rows: NDArray[np.intp]) -> NDArray[np.float32] | None:
    """What is known of the records without the model (N, F); None where nothing is."""
    facts = [] if answers.known is None else [answers.known[rows]]
    if answers.labels is not None:
        classes = np.arange(len(answers.classes))
        facts.append((answers.labels[rows][:, np.newaxis] == classes).astype(np.float32))
    return np.concatenate(facts, axis=1) if facts else None


def _imputation(
    answers: RecordedAnswers,
    rows: NDArray[np.intp],
    truth: NDArray[np.int64],
    classes: int,
    group: NDArray[np.int64] | None,
    seed: int,
) -> Ranking:
    """The control of an attribute, see `imputed`."""
    known = [each[rows] for each in (answers.labels, answers.decisions) if each is not None]
    if answers.known is not None:
        known += [_classes(column) for column in answers.known[rows].T]
    fold = even_parts(truth, group, seed)
    return Ranking(imputed(known, truth, classes, fold), truth, group, fold)


def _classes(column: NDArray[np.float32]) -> NDArray[np.int64]:
    """A class (N,) for each value, or for each quarter where there are many values."""
    values, places = np.unique(column, return_inverse=True)
    if len(values) > FEW_VALUES:
        places = np.searchsorted(np.unique(np.quantile(column, (0.25, 0.5, 0.75))), column)
    return places.astype(np.int64)
