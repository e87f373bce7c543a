"""Defences that hide by what a device sends, and not by what the extractor learns: a part of its parameters,
or a clipped move of them with noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from leakrange.defences.representation import representation_defences
from leakrange.defences.representation.federated import FederatedParameters, FederatedRepresentation
from leakrange.federation.accounting import DELTA, Noise, epsilon, noise_of_a_mean
from leakrange.federation.updates import Arrays

if TYPE_CHECKING:
    from leakrange.defences.games import Game, Sizes

__all__ = ["Compressed", "DpGaussian", "DpLaplace", "clipped", "pruned"]


class AgnosticParameters(FederatedParameters):
    """``private`` is the attribute that a device's adversary watches: the extractor is not trained against
    it."""

    useful: None = None


T = TypeVar("T", bound=AgnosticParameters)


class Informative(FederatedRepresentation[T]):
    """A defence whose extractor learns as TAPPFL's with λ = 0: features that tell the most of the sample."""

    @override
    def game(self, sizes: Sizes) -> Game:
        """See `FederatedRepresentation.game`."""
        from leakrange.defences.games import InformationGame

        return InformationGame(sizes, 0.0, self.parameters.critics)


class CompressedParameters(AgnosticParameters):
    """``amount``: the pruning rate, the share of the extractor's parameters that a device does not share."""

    amount: Annotated[float, Field(gt=0.0, lt=1.0)]


@representation_defences.register("compressed")
class Compressed(Informative[CompressedParameters]):
    """A device prunes the parameters of its trained extractor that are smallest in magnitude, of all layers
    together, and shares the others.

    The server takes parameters that are not shared as zero: TAPPFL says that devices prune them. So the mean
    of a parameter that some devices pruned is pulled towards zero, and it can come back in a later round.
    """

    name = "compressed"
    Parameters = CompressedParameters
    summary = "devices share the largest parameters of the extractor alone"
    equation = "Comparison with task-agnostic defenses: MC"
    shorthand = None

    @override
    def sent(self, sent: Arrays, trained: Arrays, draw: np.random.Generator) -> Arrays:
        """See `FederatedRepresentation.sent` and `pruned`."""
        return pruned(trained, self.parameters.amount)


def pruned(arrays: Arrays, amount: float) -> Arrays:
    """The arrays with ``round(amount · N)`` of their N floating-point numbers set to zero: the smallest in
    magnitude, of equals the first. Integers stay as they are."""
    floating = [name for name, array in arrays.items() if np.issubdtype(array.dtype, np.floating)]
    magnitudes = np.concatenate([np.abs(arrays[name]).ravel() for name in floating])
    kept = np.ones(len(magnitudes), dtype=bool)
    kept[np.argsort(magnitudes, kind="stable")[: round(amount * len(magnitudes))]] = False
    ends = np.cumsum([arrays[name].size for name in floating])
    masks = dict(zip(floating, np.split(kept, ends[:-1]), strict=True))
    return {
        name: np.where(masks[name].reshape(array.shape), array, 0).astype(array.dtype)
        if name in masks
        else array
        for name, array in arrays.items()
    }


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


@representation_defences.register("dp-gaussian")
class DpGaussian(Noised):
    """Moves are clipped to ``clip`` in the L2 norm; the noise has the standard deviation ``noise · clip``."""

    name = "dp-gaussian"
    summary = "devices clip what they learned of the extractor and add Gaussian noise"
    equation = "θ + clip₂(θ' - θ) + N(0, (noise·clip)²)"
    mechanism = "gaussian"

    @override
    def drawn(self, draw: np.random.Generator, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """See `Noised.drawn`; ``scale`` is the standard deviation."""
        return draw.normal(0.0, scale, shape)


@representation_defences.register("dp-laplace")
class DpLaplace(Noised):
    """Moves are clipped to ``clip`` in the L1 norm; the noise has the scale ``noise · clip``, and √2 times
    that as its standard deviation."""

    name = "dp-laplace"
    summary = "devices clip what they learned of the extractor and add Laplace noise"
    equation = "θ + clip₁(θ' - θ) + Laplace(noise·clip)"
    mechanism = "laplace"

    @override
    def drawn(self, draw: np.random.Generator, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """See `Noised.drawn`; ``scale`` is the mean magnitude."""
        return draw.laplace(0.0, scale, shape)
