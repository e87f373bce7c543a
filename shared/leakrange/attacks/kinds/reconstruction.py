"""Reconstruction of users' samples by an outsider, who has samples of its own and learns from their
releases."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, cast

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from leakrange.attacks.attack import Attack, Pairs, ReconstructionAttack
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.auxiliary import own_records, planned, spent
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Chunks, Kind, Releases
from leakrange.attacks.kinds.reconstructed import (
    HIDDEN,
    Compared,
    compare,
    judge_pictures,
    pictures_of,
)
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Judged, Trial
from leakrange.data.spans import span_of
from leakrange.jobs.job import FitJob, Span
from leakrange.wire.errors import InvalidInput

__all__ = ["ReconstructionKind"]


class Learned(BaseModel):
    """The ``observed`` releases of users, and ``auxiliary`` releases of the attacker's own samples, which are
    the first those of ``span``; ``compared`` is for the judge alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    compared: Compared
    span: Span
    auxiliary: Annotated[Chunks, Field(min_length=1)]
    observed: Annotated[Chunks, Field(min_length=1)]


@kinds.register("reconstruction")
class ReconstructionKind(Kind):
    """The attacker queries auxiliary records, and reads the releases that users upload, of whatever
    provider."""

    name: ClassVar[str] = "reconstruction"
    leakage: ClassVar[str] = "psnr"
    asks = "reconstruction"
    on_device: ClassVar[bool] = True
    Evidence: ClassVar[type[BaseModel]] = Learned

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The users' pictures."""
        if provider.service is not None:
            return f"it is a {provider.service.kind} service, to which nobody uploads anything"
        if isinstance(spec := pictures_of(provider), str):
            return spec
        parameters = attack.Parameters.model_validate(given)
        if reason := cast(type[ReconstructionAttack], attack).misfit(parameters, spec):
            return reason
        return Target(attack, HIDDEN, (), parameters)

    def plan(self, cell: Cell) -> Needs | None:
        """See `planned`."""
        needs = planned(self, cell)
        if needs is None:
            return None
        return needs.model_copy(update={"asked": needs.asked | {"policy": cell.policy}})

    def infer(
        self, attack: Any, evidence: Learned, job: FitJob, releases: Releases
    ) -> dict[str, NDArray[Any]]:
        """See `compare`. The attack is shown nothing of the victims but their releases."""
        return compare(evidence.compared, attack.reconstruct(_pairs(evidence, job, releases)), releases)

    async def judge(self, trial: Trial) -> Judged:
        """Compares the reconstructions with the users' pictures, of the first ten thousand users."""
        compared = Compared.of(trial)
        found = await trial.fitted(
            Learned(
                compared=compared,
                span=own_records(trial),
                auxiliary=trial.answered("auxiliary"),
                observed=trial.observed[: len(compared.users)],
            )
        )
        return judge_pictures(trial, found, spent=spent(trial))


def _pairs(evidence: Learned, job: FitJob, releases: Releases) -> Pairs:
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
    )
