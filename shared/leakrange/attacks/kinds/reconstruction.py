"""Reconstruction of users' samples: by an outsider, who has samples of its own and learns from their
releases, and by the provider's own decoder."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks.attack import Attack, Pairs, ReconstructionAttack
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Kind, ReleaseStore, SomeChunks
from leakrange.attacks.kinds.reconstructed import (
    HIDDEN,
    Compared,
    compare,
    first,
    judge_pictures,
    pictures_of,
)
from leakrange.attacks.kinds.silent import SilentKind
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Trial
from leakrange.attacks.kinds.users import own_records, planned, spent
from leakrange.data.spans import span_of
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput, NotFound

__all__ = ["ReconstructionDecoderKind", "ReconstructionKind"]


class Learned(Strict):
    """The ``observed`` releases of users, and ``auxiliary`` releases of the attacker's own samples, which are
    the first those of ``span``. About ``unasked`` samples it did not ask. ``compared`` is for the judge
    alone."""

    compared: Compared
    span: Span
    unasked: Annotated[Span | None, Field(exclude_if=operator.not_)] = None
    auxiliary: SomeChunks
    observed: SomeChunks


@kinds.register("reconstruction")
class ReconstructionKind(Kind):
    """The attacker queries auxiliary records, and reads the releases that users upload, of whatever
    provider."""

    name: ClassVar[str] = "reconstruction"
    leakage: ClassVar[str] = "psnr"
    hides: ClassVar[str] = "what users’ samples look like"
    asks = "reconstruction"
    on_device: ClassVar[bool] = True
    Evidence: ClassVar[type[BaseModel]] = Learned

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The users' pictures."""
        if reason := provider.no_uploads:
            return reason
        if isinstance(spec := pictures_of(provider), str):
            return spec
        parameters = attack.Parameters.model_validate(given)
        if getattr(parameters, "unasked", 0) and provider.release not in ("logits", "softmax"):
            return f"a copy of the model answers with scores, and the provider gives {provider.release}"
        if reason := cast(type[ReconstructionAttack], attack).misfit(parameters, spec):
            return reason
        return Target(attack, HIDDEN, (), parameters)

    def plan(self, cell: Cell) -> Needs | None:
        """See `planned`."""
        needs = planned(self, cell)
        if needs is None:
            return None
        asked = needs.asked | {"policy": cell.policy}
        if more := getattr(cell.target.parameters, "unasked", 0):
            span = Span.model_validate(asked["span"])
            available = cell.available(span.split)
            stop = min(span.stop + more, span.stop + more if available is None else available)
            if stop > span.stop:
                rest = span.model_copy(update={"start": span.stop, "stop": stop})
                asked["unasked"] = rest.model_dump(mode="json")
        return needs.model_copy(update={"asked": asked})

    def infer(
        self, attack: Any, evidence: Learned, job: FitJob, releases: ReleaseStore
    ) -> dict[str, NDArray[Any]]:
        """See `compare`. The attack is shown nothing of the victims but their releases."""
        return compare(evidence.compared, attack.reconstruct(_pairs(evidence, job, releases)), releases)

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The attack, on its own samples and on what the first ten thousand users uploaded."""
        compared = Compared.of(trial)
        learned = Learned(
            compared=compared,
            span=own_records(trial),
            unasked=trial.needs.asked.get("unasked"),
            auxiliary=trial.answered("auxiliary"),
            observed=trial.observed[: len(compared.users)],
        )
        return {ATTACK: Fit(learned)}

    def judge(self, trial: Trial) -> Judged:
        """Compares the reconstructions with the users' pictures."""
        return judge_pictures(trial, trial.fitted(), spent=spent(trial))


def _pairs(evidence: Learned, job: FitJob, releases: ReleaseStore) -> Pairs:
    """The attack's evidence. Raises `NotFound` for releases that are not stored, and `InvalidInput` for
    releases that do not fit together."""
    data, chosen = span_of(evidence.span)
    auxiliary = releases(evidence.auxiliary)[: len(chosen)]
    if len(auxiliary) != len(chosen):
        raise InvalidInput(f"{len(auxiliary)} auxiliary releases of {len(chosen)} samples")
    return Pairs(
        auxiliary=auxiliary,
        samples=data.values[chosen],
        observed=releases(evidence.observed)[: evidence.compared.count],
        spec=data.spec,
        seed=job.seed,
        unasked=None if evidence.unasked is None else data.values[span_of(evidence.unasked)[1]],
    )


class Found(Strict):
    """What the provider ``reconstructed``, session by session, and whose pictures it is compared with."""

    compared: Compared
    reconstructed: SomeChunks


@kinds.register("reconstruction-decoder")
class ReconstructionDecoderKind(SilentKind):
    """Needs no queries, and learns nothing: what is reconstructed comes with the uploads. The fleet compares
    it with the users' samples."""

    name: ClassVar[str] = "reconstruction-decoder"
    leakage: ClassVar[str] = "psnr"
    hides: ClassVar[str] = "what users’ samples look like"
    asks = None
    Evidence: ClassVar[type[BaseModel]] = Found

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The users' pictures."""
        if not provider.reconstructs:
            return "its decoder, if it has one, reads no samples"
        if isinstance(spec := pictures_of(provider), str):
            return spec
        return Target(attack, HIDDEN, (), attack.Parameters.model_validate(given))

    def plan(self, cell: Cell) -> Needs | None:
        """One stream of users' uploads."""
        return Needs(streams=cell.uploads(), asked={"policy": cell.policy})

    def infer(
        self,
        attack: Any,  # noqa: ARG002
        evidence: Found,
        job: FitJob,  # noqa: ARG002
        releases: ReleaseStore,
    ) -> dict[str, NDArray[Any]]:
        """See `compare`."""
        pictures: NDArray[np.float32] = releases(evidence.reconstructed)
        return compare(evidence.compared, pictures, releases)

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """A comparison with the pictures of the first ten thousand users whom the budget reaches."""
        stored = trial.uploaded.reconstructed
        if stored is None:
            raise NotFound(f"the provider of {trial.model.id} reconstructed nothing")
        compared = Compared.of(trial, trial.budget)
        chunks = [[name] for name in first(stored, trial.users, compared.count)]
        return {ATTACK: Fit(Found(compared=compared, reconstructed=chunks))}

    def judge(self, trial: Trial) -> Judged:
        """Compares the reconstructions with the users' pictures."""
        users = sum(span.stop - span.start for span in trial.users)
        return judge_pictures(trial, trial.fitted(), spent=min(trial.budget, users))
