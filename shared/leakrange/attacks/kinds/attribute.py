"""Attacks on an attribute of the users, by an outsider who has labelled records of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.attack import Attack, Evidence, Inference
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.figures import (
    PANEL,
    embeddings,
    federated,
    first_users,
    held_out,
    represented,
    viewed_embeddings,
    viewed_panel,
)
from leakrange.attacks.kinds.kind import Kind, ReleaseStore, SomeChunks
from leakrange.attacks.kinds.recorded import recorded_attribute
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Trial, Uploaded
from leakrange.attacks.kinds.users import (
    decisions_of,
    imputation_of,
    own_records,
    planned,
    spent,
    user_groups,
)
from leakrange.data import names
from leakrange.data.importing.answers import RecordedAnswers
from leakrange.data.resembling import groups_of
from leakrange.data.spans import span_of
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import Guesses, Ranking, SoftOutputs, measured
from leakrange.metrics.controls import BesideImputation
from leakrange.metrics.views import viewed
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput, LeakrangeError

__all__ = ["LEARNT", "AttributeEvidence", "AttributeKind", "evidence_of", "judge_guesses"]

LEARNT = "learnt."


class AttributeEvidence(Strict):
    """The ``observed`` releases of users, and ``auxiliary`` releases of the attacker's own samples. The first
    of these belong to the samples of ``span``, whose ``sensitive`` attribute the attacker knows. ``users``
    are the samples of the first users, for a picture of them alone. With ``keep`` the result also holds what
    the attack learnt, for `leakrange.attacks.attack.AttributeAttack.again`."""

    sensitive: str
    span: Span
    auxiliary: SomeChunks
    observed: SomeChunks
    users: list[Span] = []
    keep: bool = False


@kinds.register("attribute")
class AttributeKind(Kind):
    """The attacker queries auxiliary records and reads the releases that users upload."""

    name: ClassVar[str] = "attribute"
    leakage: ClassVar[str] = "auc"
    on_device: ClassVar[bool] = True
    Evidence: ClassVar[type[BaseModel]] = AttributeEvidence

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The attribute that the attack names, by default the one that the provider names."""
        if reason := provider.no_uploads:
            return reason
        sensitive = given.get("sensitive", provider.sensitive)
        if sensitive is None:
            return "neither the attack nor the provider names a 'sensitive' attribute"
        if "sensitive" in attack.Parameters.model_fields:
            given = {**given, "sensitive": sensitive}
        parameters = attack.Parameters.model_validate(given)
        if sensitive not in provider.attributes:
            return f"its data has no attribute {sensitive!r}"
        if sensitive in names(provider.target):
            return f"{sensitive!r} is what it is asked for"
        return Target(attack, str(sensitive), provider.attributes[sensitive].classes, parameters)

    def plan(self, cell: Cell) -> Needs | None:
        """See `planned`."""
        return planned(self, cell)

    def infer(
        self, attack: Any, evidence: AttributeEvidence, job: FitJob, releases: ReleaseStore
    ) -> dict[str, NDArray[Any]]:
        """``predicted`` int64 (V,) and ``scores`` float32 (V, S); of features also ``norm`` (), the greatest
        of a user's, and `embeddings`. Names of the panel's arrays begin with `PANEL`, those of what was
        learnt with `LEARNT`."""
        given = evidence_of(evidence, job, releases)
        inference: Inference = attack.infer(given)
        arrays: dict[str, NDArray[Any]] = {"predicted": inference.predicted, "scores": inference.scores}
        if job.release == "features":
            lengths = np.linalg.norm(given.observed.reshape(len(given.observed), -1), axis=1)
            arrays["norm"] = np.asarray(lengths.max(initial=0.0))
            arrays |= embeddings(evidence.users, evidence.observed, given.observed, releases)
        arrays |= {PANEL + name: array for name, array in inference.panel.items()}
        if evidence.keep:
            arrays |= {LEARNT + name: array for name, array in inference.learnt.items()}
        return arrays

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The attack, on its own records and on what users uploaded."""
        evidence = AttributeEvidence(
            sensitive=trial.hidden,
            span=own_records(trial),
            auxiliary=trial.answered("auxiliary"),
            observed=trial.observed,
            users=first_users(trial),
        )
        return {ATTACK: Fit(evidence)}

    def judge(self, trial: Trial) -> Judged:
        """Compares the guesses with the labels that the users' edge clients registered."""
        fitted, uploaded = trial.fitted(), trial.uploaded
        truth = uploaded.truth(trial.hidden)
        panel_ranking = held_out(fitted.arrays)
        also = [*represented(trial, uploaded, fitted), *federated(trial), *panel_ranking]
        judged = judge_guesses(trial, uploaded, fitted.inference, spent=spent(trial), also=also)
        views = viewed_embeddings(fitted.arrays, truth) | viewed_panel(fitted.arrays, truth)
        return replace(judged, views=judged.views | views)

    def judge_recorded(self, attack: type[Attack], answers: RecordedAnswers, seed: int) -> Judged | str:
        """See `recorded_attribute`."""
        return recorded_attribute(attack, answers, seed)


def evidence_of(evidence: AttributeEvidence, job: FitJob, releases: ReleaseStore) -> Evidence:
    """The attack's evidence: releases, and the samples and labels that its threat model grants.

    Raises `NotFound` for releases that are not stored, and `InvalidInput` for releases that do not fit
    together.
    """
    data, chosen = span_of(evidence.span)
    if evidence.sensitive not in data.attributes:
        raise InvalidInput(
            f"{data.name!r} has no attribute {evidence.sensitive!r}; it has {sorted(data.attributes)}"
        )
    labels = data.labels[evidence.sensitive][chosen]
    auxiliary = releases(evidence.auxiliary)[: len(labels)]
    if len(auxiliary) != len(labels):
        raise InvalidInput(f"{len(auxiliary)} auxiliary releases of {len(labels)} labelled samples")
    known = labels >= 0
    return Evidence(
        auxiliary=auxiliary[known],
        auxiliary_labels=labels[known],
        observed=releases(evidence.observed),
        classes=len(data.attributes[evidence.sensitive].classes),
        release=job.release,
        seed=job.seed,
        auxiliary_group=groups_of(data, evidence.sensitive)[chosen][known],
        samples=data.values[chosen][known],
        spec=data.spec,
    )


def judge_guesses(
    trial: Trial,
    uploaded: Uploaded,
    guessed: Inference,
    *,
    seen: int | None = None,
    spent: int | None = None,
    also: Sequence[object] = (),
) -> Judged:
    """The metrics of the guesses about all users' hidden attribute, beside what is imputed without the model,
    and of the decisions that users got.

    ``seen`` limits the users to the first so many (the budget of an inside attack). ``spent`` is the number
    of answers that an outside attack used, ``also`` is what else was measured. Users whose hidden class is
    unknown do not count for the guesses, those whose target class is unknown do not count for the decisions.
    Raises `LeakrangeError` where the number of guesses is not the number of users, or is zero.
    """
    hidden, target = uploaded.truth(trial.hidden), uploaded.truth(trial.model.target)
    users = len(hidden) if seen is None else min(seen, len(hidden))
    if len(guessed.predicted) != len(hidden) or guessed.scores.shape[1:] != (trial.classes,):
        raise LeakrangeError(
            f"{trial.attack} answered for {len(guessed.predicted)} users with scores of shape "
            f"{guessed.scores.shape}; there were {len(hidden)} users and {trial.classes} classes"
        )
    hidden = hidden[:users]
    known = np.flatnonzero(hidden >= 0)
    if len(known) == 0:
        raise LeakrangeError(f"no user's {trial.hidden!r} is known: there is nothing to judge by")
    group = user_groups(trial, uploaded, trial.hidden, known)
    guesses = Guesses(guessed.predicted[known], hidden[known], trial.classes, group)
    ranking = Ranking(guessed.scores[known], hidden[known], group)
    control = imputation_of(trial, uploaded, trial.hidden, trial.classes, known)
    outcomes: list[object] = [decisions_of(trial, uploaded, users), guesses, ranking]
    outcomes.append(BesideImputation(ranking, control))
    if uploaded.soft is not None:
        asked = (target[:users].reshape(users, -1) >= 0).all(axis=1)
        outcomes.append(SoftOutputs(uploaded.soft[:users][asked], uploaded.heads))
    return Judged(
        metrics=measured(*outcomes, *also),
        views=viewed(guesses, ranking),
        victims=len(known),
        spent=users if spent is None else spent,
    )
