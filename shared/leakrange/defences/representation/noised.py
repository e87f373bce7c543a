"""What a device sends under differential privacy: a clipped move of the parameters, with noise."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from leakrange.defences.representation.task_agnostic import AgnosticParameters, Informative
from leakrange.federation.updates import Arrays

__all__ = ["Noised", "NoisedParameters", "clipped"]


class NoisedParameters(AgnosticParameters):
    """``clip``: the largest norm of a device's move; ``noise``: the scale of the noise on every parameter, as
    a multiple of ``clip``.

    N parameters with noise are about ``noise · clip · √N`` (L2) away from those that the server sent: its
    ``federation.most_norm`` has to be larger, or it refuses every update.
    """

    clip: Annotated[float, Field(gt=0.0, le=1e6)] = 1.0
    noise: Annotated[float, Field(gt=0.0, le=1e6)]


class Noised(Informative[NoisedParameters]):
    """A device clips the difference between its trained parameters and those it was sent, adds noise to every
    one of them, and sends the sum. All floating-point numbers of the extractor are treated so, since one
    without noise would tell what the others hide; integers go back as they were sent.
    """

    Parameters = NoisedParameters
    shorthand = None
    order: Literal[1, 2]
    """Of the norm that is clipped."""

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
