"""Attributes that classifiers learn from obfuscated samples: what an obfuscator hides, and what it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.attack import Attack, Inference
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.figures import PANEL, held_out, viewed_panel
from leakrange.attacks.kinds.kind import Chunks, Kind, ReleaseStore, SomeChunks
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Fit, Fitted, Judged, Trial
from leakrange.attacks.kinds.users import (
    decisions_of,
    imputation_of,
    own_records,
    planned,
    spent,
    user_groups,
)
from leakrange.attacks.probing import Probing, ProbingParameters
from leakrange.data import names
from leakrange.data.resembling import apart_as_users
from leakrange.data.spans import span_of
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import Guesses, Ranking, mean_auc, measured, share_interval
from leakrange.metrics.accuracy import accuracy, majority_share
from leakrange.metrics.controls import BesideImputation
from leakrange.metrics.entropy import information_bound
from leakrange.metrics.probing import AttributeRole, Probed, ProbedAttribute
from leakrange.metrics.views import viewed
from leakrange.strict import Strict
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput, LeakrangeError

__all__ = ["Classified", "ProbingKind"]

ROLES: tuple[AttributeRole, ...] = ("private", "useful", "general")
ADAPTED, UNDEFENDED, UNADAPTED = "adapted", "undefended", "unadapted"
"""The classifiers of an attribute."""


class Classified(Strict):
    """Answers about the first samples of ``span``, whose ``attribute`` the attacker knows and learns from
    ``lessons``, and the ``observed`` releases of users. With ``panel`` other learners stand beside the net.
    """

    attribute: str
    span: Span
    lessons: SomeChunks
    observed: SomeChunks
    panel: bool = False


@kinds.register("probing")
class ProbingKind(Kind):
    """The attacker has its own samples obfuscated, learns attributes from them, and reads what users upload.

    Every attribute has a classifier of its own. Another one learns from samples that are not obfuscated:
    applied to such samples it shows what there is to gain, applied to obfuscated ones how well a classifier
    does that nobody adapted.

    Gains are those of these nets alone, as in the paper. Beside the net of each private attribute stands a
    panel of other learners: the AUC, by which a report concludes, is that of the learner that did best on
    held-out records.
    """

    name: ClassVar[str] = "probing"
    version: ClassVar[int] = 3
    leakage: ClassVar[str] = "auc"
    on_device: ClassVar[bool] = True
    Evidence: ClassVar[type[BaseModel]] = Classified

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The first private attribute stands for all of them."""
        if reason := provider.no_uploads:
            return reason
        parameters = ProbingParameters.model_validate(given)
        if parameters.private is None:
            if provider.sensitive is None:
                return "neither the attack names what is 'private', nor the provider what is 'sensitive'"
            parameters = parameters.model_copy(update={"private": provider.sensitive})
        wanted = [name for role in ROLES for name in names(getattr(parameters, role))]
        for name in wanted:
            if name not in provider.attributes:
                return f"its data has no attribute {name!r}"
            if wanted.count(name) > 1:
                return f"{name!r} has two roles"
        hidden = names(parameters.private)[0]
        return Target(attack, hidden, provider.attributes[hidden].classes, parameters)

    def plan(self, cell: Cell) -> Needs | None:
        """Ask for what `planned` asks; besides, for answers about the same records and for users' samples
        without obfuscation, which show what there is to gain."""
        needs = planned(self, cell)
        if needs is None:
            return None
        span, given = Span.model_validate(needs.asked["span"]), cell.target.parameters
        classes = {
            name: [role, len(cell.provider.attributes[name].classes)]
            for role in ROLES
            for name in names(getattr(given, role))
        }
        plain = cell.ask(span.split, span.stop, undefended=True, by="device", repeated=False)
        return needs.model_copy(
            update={
                "undefended": cell.uploads(undefended=True),
                "probes": {**needs.probes, "plain": plain},
                "asked": {**needs.asked, "attributes": classes},
            }
        )

    def infer(
        self, attack: Probing, evidence: Classified, job: FitJob, releases: ReleaseStore
    ) -> dict[str, NDArray[Any]]:
        """``predicted`` int64 (V,) and ``scores`` float32 (V, S), probabilities, of the net. The same lessons
        are learned once. Names of the panel's arrays begin with `PANEL`."""
        data, chosen = span_of(evidence.span)
        if evidence.attribute not in data.attributes:
            raise InvalidInput(
                f"{data.name!r} has no attribute {evidence.attribute!r}; it has {sorted(data.attributes)}"
            )
        labels, classes = data.labels[evidence.attribute][chosen], data.attributes[evidence.attribute].classes
        known = labels >= 0

        def lessons() -> tuple[Any, ...]:
            draws = _draws(evidence.lessons, releases)
            if any(len(draw) < len(labels) for draw in draws):
                raise InvalidInput(f"{len(draws[0])} releases of {len(labels)} labelled samples")
            samples = [draw[: len(labels)][known] for draw in draws]
            group = apart_as_users(data, chosen, evidence.attribute)[known]
            return samples, labels[known], len(classes), data.spec, job.seed, group

        identity = evidence.model_dump(mode="json", exclude={"observed", "panel"})
        name = digest(["probing", attack.version, attack.training(), job.seed, identity])
        state = releases.once(name, lambda: attack.fit(*lessons()))
        observed = _draws(evidence.observed, releases)
        inference = attack.infer(state, observed, len(classes), data.spec)
        panel = attack.panel(state, observed, *lessons()) if evidence.panel else {}
        return {
            "predicted": inference.predicted,
            "scores": inference.scores,
            **{PANEL + name: array for name, array in panel.items()},
        }

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """Three classifiers of each attribute: one that learns from obfuscated samples, the first beside a
        panel where the attribute is private; and one that learns from samples that are not obfuscated,
        applied to users' samples without and with obfuscation."""
        lessons, plain, span = trial.answered("auxiliary"), trial.answered("plain"), own_records(trial)
        once = [draws[:1] for draws in trial.observed]  # users send a sample once
        fits = {}
        for name, (role, _) in trial.needs.asked["attributes"].items():
            about = partial(Classified, attribute=name, span=span)
            fits[f"{name} {ADAPTED}"] = Fit(
                about(lessons=lessons, observed=trial.observed, panel=role == "private")
            )
            fits[f"{name} {UNDEFENDED}"] = Fit(about(lessons=plain, observed=trial.undefended))
            fits[f"{name} {UNADAPTED}"] = Fit(about(lessons=plain, observed=once))
        return fits

    def judge(self, trial: Trial) -> Judged:
        """Compares the classifiers' guesses with the labels that the users' edge clients registered."""
        roles: dict[str, list[Any]] = trial.needs.asked["attributes"]
        records = trial.obfuscators()
        results = {}
        for name, (role, classes) in roles.items():
            protector = _protector(records, name)
            results[name] = _probed(trial, name, cast(AttributeRole, role), classes, protector)
        _, fitted, guesses, ranking = results[trial.hidden]
        probed = Probed([attribute for attribute, *_ in results.values()])
        views: dict[str, Any] = {"attributes": [_row(each) for each in probed.attributes]}
        if substituted := _substituted(records):
            views["substitution"] = substituted
        uploaded = trial.uploaded
        truth = uploaded.truth(trial.hidden)
        known = np.flatnonzero(truth >= 0)
        control = imputation_of(trial, uploaded, trial.hidden, guesses.classes, known)
        decided, beside = decisions_of(trial, uploaded), BesideImputation(ranking, control)
        return Judged(
            metrics=measured(decided, guesses, ranking, beside, probed, *held_out(fitted.arrays)),
            views=viewed(guesses, ranking) | viewed_panel(fitted.arrays, truth) | views,
            victims=len(guesses.truth),
            spent=spent(trial),
        )


def _row(attribute: ProbedAttribute) -> dict[str, Any]:
    """One row of the view "attributes": the figures that an attribute has, and its NAGs."""
    row = {
        "attribute": attribute.name,
        "role": attribute.role,
        "accuracy": attribute.accuracy,
        "majority": attribute.majority,
        "undefended": attribute.undefended,
        "at_least": attribute.at_least,
        "nag": attribute.nag,
        "unfinetuned": attribute.unfinetuned,
        "unfinetuned_nag": attribute.gain(attribute.unfinetuned),
        "protector": attribute.protector,
        "protector_nag": attribute.gain(attribute.protector),
        "bits": attribute.bits,
        "panel_auc": attribute.panel_auc,
    }
    return {name: value for name, value in row.items() if value is not None}


def _probed(
    trial: Trial, name: str, role: AttributeRole, classes: int, protector: float | None
) -> tuple[ProbedAttribute, Fitted, Guesses, Ranking]:
    """Judge one attribute by the net and its panel; guesses and ranking are those of the best learner."""
    truth = trial.uploaded.truth(name)
    known = np.flatnonzero(truth >= 0)
    if len(known) == 0:
        raise LeakrangeError(f"no user's {name!r} is known: there is nothing to judge by")

    def inferred(how: str) -> tuple[Fitted, Inference]:
        fitted = trial.fitted(f"{name} {how}")
        inference = fitted.inference
        if inference.scores.shape != (len(truth), classes):
            raise LeakrangeError(
                f"{trial.attack} answered with scores of shape {inference.scores.shape} about {len(truth)} "
                f"users and {classes} classes of {name!r}"
            )
        return fitted, Inference(inference.predicted[known], inference.scores[known])

    private = role == "private"
    fitted, reached = inferred(ADAPTED)
    (_, at_best), (_, unadapted) = inferred(UNDEFENDED), inferred(UNADAPTED)
    group = user_groups(trial, trial.uploaded, name, known)
    scores = fitted.arrays[f"{PANEL}scores"][0][known] if private else reached.scores
    attribute = ProbedAttribute(
        name=name,
        role=role,
        accuracy=accuracy(reached.predicted, truth[known]),
        undefended=accuracy(at_best.predicted, truth[known]),
        at_least=share_interval(at_best.predicted == truth[known], group)[0],
        majority=majority_share(truth[known], classes),
        unfinetuned=accuracy(unadapted.predicted, truth[known]),
        protector=protector,
        bits=information_bound(scores, truth[known]),
        panel_auc=mean_auc(scores, truth[known]) if private else None,
    )
    guesses = Guesses(scores.argmax(axis=1), truth[known], classes, group)
    return attribute, fitted, guesses, Ranking(scores, truth[known], group)


def _protector(records: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """The accuracy of the adversary that an obfuscator was trained against, on test samples."""
    for record in records:
        share = record["figures"].get("test", {}).get(f"adversary {name}")
        if share is not None:
            return float(share)
    return None


def _substituted(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The view "substitution": with which probability each class of a sample (row) meets each class of its
    substitute, by attribute; empty where nothing is substituted."""
    return {name: joint for record in records for name, joint in record.get("classes", {}).items()}


def _draws(chunks: Chunks, releases: ReleaseStore) -> list[NDArray[np.float32]]:
    """Read every draw (N, *shape) by itself."""
    if len({len(draws) for draws in chunks}) != 1:
        raise InvalidInput("chunks of the same samples must have as many draws each")
    return [releases([[draws[number]] for draws in chunks]) for number in range(len(chunks[0]))]
