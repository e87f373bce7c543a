"""The provider's own reconstruction: its decoder makes samples of the users' uploads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks.attack import Attack
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Chunks, ReleaseStore
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
from leakrange.jobs.steps.fit import FitJob
from leakrange.strict import Strict
from leakrange.wire.errors import NotFound

__all__ = ["ReconstructionDecoderKind"]


class Found(Strict):
    """What the provider ``reconstructed``, session by session, and whose pictures it is compared with."""

    compared: Compared
    reconstructed: Annotated[Chunks, Field(min_length=1)]


@kinds.register("reconstruction-decoder")
class ReconstructionDecoderKind(SilentKind):
    """Needs no queries, and learns nothing: what is reconstructed comes with the uploads. The fleet compares
    it with the users' samples."""

    name: ClassVar[str] = "reconstruction-decoder"
    leakage: ClassVar[str] = "psnr"
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
        sessions = [span.stop - span.start for span in trial.users]
        chunks = [[name] for name in first(stored, sessions, compared.count)]
        return {ATTACK: Fit(Found(compared=compared, reconstructed=chunks))}

    def judge(self, trial: Trial) -> Judged:
        """Compares the reconstructions with the users' pictures."""
        users = sum(span.stop - span.start for span in trial.users)
        return judge_pictures(trial, trial.fitted(), spent=min(trial.budget, users))
