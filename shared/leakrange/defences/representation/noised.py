"""Updates of a device under differential privacy: a clipped move of the parameters, with noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from leakrange.defences.representation.task_agnostic import AgnosticParameters, Informative
from leakrange.federation.accounting import DELTA, Noise, epsilon, noise_of_a_mean
from leakrange.federation.updates import Arrays

__all__ = ["Noised", "NoisedParameters", "clipped"]


class NoisedParameters(AgnosticParameters):
    """``clip``: the largest norm of a device's move; ``noise``: the scale of the noise on every parameter, as
    a multiple of ``clip``.

    N parameters with noise are about ``noise · clip · √N`` (L2) away from those that the server sent: its
    ``federation.most_norm`` has to be larger, or it refuses every update.
    """

    clip: Annotated[float, Field(gt=0.0, le=1e6)] = 1.0
    noise: Annotated[float, Field(ge=1e-6, le=1e6)]


class Noised(Informative[NoisedParameters]):
    """A device clips the difference between its trained parameters and those it was sent, adds noise to every
    one of them, and sends the sum. All floating-point numbers of the extractor get noise, since one without
    it would tell what the others hide; integers go back as they were sent."""

    Parameters = NoisedParameters
    shorthand = None
    mechanism: ClassVar[Noise]

    @property
    def order(self) -> Literal[1, 2]:
        """Order of the norm that is clipped."""
        return 2 if self.mechanism == "gaussian" else 1

    @abstractmethod
    def drawn(self, draw: np.random.Generator, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Independent noise of that scale."""

    @override
    def sent(self, sent: Arrays, trained: Arrays, draw: np.random.Generator) -> Arrays:
        """See `FederatedRepresentation.sent`."""
        moves = clipped(sent, trained, self.parameters.clip, self.order)
        scale = self.parameters.noise * self.parameters.clip
        return {
            name: (array + moves[name] + self.drawn(draw, scale, array.shape)).astype(array.dtype)
            if name in moves
            else array
            for name, array in sent.items()
        }

    @override
    def accounted(
        self, samples: Sequence[int], turns: Sequence[int], accepted: Sequence[int]
    ) -> dict[str, Any]:
        """The ε of everything that a device has sent, for δ = `DELTA`, in two views.

        ``server``: for an observer of each device's updates, who knows when a device takes part. The data of
        one device is replaced by any other, which moves its update by at most ``2 · clip``; all its turns
        count. ``extractor``: for an observer of the shared extractor after each round, who does not know the
        participants. One device is present or not, which moves the weighed sum by its ``clip``; the noise is
        that of the fewest updates that counted in a round. It is the smaller of two bounds: for all rounds,
        in each of which a device takes part with the probability ``share`` by itself (close to a real
        training, where a fixed number takes part), and for its turns alone.

        Assumed: the server is curious, and nothing worse; nobody knows the draws of the noise, which here
        come from the recipe's seed, so that a training can be repeated; noise is real numbers, and not
        floating-point ones. Not covered: the number of samples that a device reports, and its reported
        losses.
        """
        parameters, longest, rounds = self.parameters, max(turns, default=0), len(accepted)
        share = parameters.federation.participants / parameters.federation.devices
        fewest = min(filter(None, accepted), default=1)
        mean = noise_of_a_mean(self.mechanism, parameters.noise, samples, fewest)
        views = {
            "server": epsilon(self.mechanism, parameters.noise / 2.0, longest),
            "extractor": min(
                epsilon(self.mechanism, mean, rounds, share), epsilon(self.mechanism, mean, longest)
            ),
        }
        return {"delta": DELTA, "turns": longest, "rounds": rounds, "share": share, "epsilon": views}


def clipped(
    sent: Arrays, trained: Arrays, clip: float, order: Literal[1, 2]
) -> dict[str, NDArray[np.float64]]:
    """The moves of all floating-point parameters from the ``sent`` to the ``trained`` ones, in float64,
    shrunk alike so that their L1 or L2 norm together is at most ``clip``."""
    moves = {
        name: trained[name].astype(np.float64) - array
        for name, array in sent.items()
        if np.issubdtype(array.dtype, np.floating)
    }
    norm = float(np.linalg.norm([np.linalg.norm(move.ravel(), order) for move in moves.values()], order))
    shrunk = min(1.0, clip / norm) if norm else 1.0
    return {name: shrunk * move for name, move in moves.items()}
