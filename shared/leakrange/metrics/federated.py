"""Figures of a federation: the adversaries that devices trained against, its privacy, its updates."""

from __future__ import annotations

from dataclasses import dataclass

from leakrange.metrics.accuracy import nag
from leakrange.metrics.registry import metric

__all__ = ["LocalAdversaries", "Proven", "Updates"]


@dataclass(frozen=True)
class LocalAdversaries:
    """Mean ``accuracy`` on test samples of the devices' adversaries, each as it was when its device last took
    part in a round, and the share of the commonest class of these samples, ``majority``. ``cross_entropy`` is
    the adversaries' in nats; ``kept`` is the loss on these samples of the part that keeps features useful."""

    accuracy: float
    majority: float
    cross_entropy: float
    kept: float


@dataclass(frozen=True)
class Proven:
    """The ε of differential privacy of one device's data, for a δ that the training names: against a
    ``server`` that sees every update, and against everybody who sees the shared ``extractor`` after each
    round."""

    server: float
    extractor: float


@dataclass(frozen=True)
class Updates:
    """Numbers of device updates over all rounds: those a federation's server waited for (``wanted``), those
    it ``refused``, and those ``lost`` with their device."""

    wanted: int
    refused: int
    lost: int


@metric(
    "local_curiosity", measures=LocalAdversaries, title="curiosity of devices' own adversaries", unit="share",
    role="context", rank=21, chance="majority",
    equation="accuracy of the networks that devices train the extractor against (TAPPFL, evaluation metrics)",
)  # fmt: skip
def _accuracy(adversaries: LocalAdversaries) -> float:
    return adversaries.accuracy


@metric(
    "local_nag", measures=LocalAdversaries, title="NAG of devices' own adversaries", unit="score",
    role="context", rank=41, equation="as the normalised accuracy gain, of the devices' own adversaries",
)  # fmt: skip
def _nag(adversaries: LocalAdversaries) -> float | None:
    return nag(adversaries.accuracy, adversaries.majority)


@metric(
    "adversary_cross_entropy", measures=LocalAdversaries, title="cross-entropy of devices' own adversaries",
    unit="number", role="context", rank=77,
    equation="in nats; the greater, the less the features tell them (TAPPFL, Fig. 2)",
)  # fmt: skip
def _cross_entropy(adversaries: LocalAdversaries) -> float:
    return adversaries.cross_entropy


@metric(
    "kept_loss", measures=LocalAdversaries, title="loss of what keeps features useful", unit="number",
    role="context", rank=78, higher=False,
    equation="TAPPFL: the Jensen-Shannon loss; the less, the more the features tell of samples (Fig. 2)",
)  # fmt: skip
def _kept(adversaries: LocalAdversaries) -> float:
    return adversaries.kept


@metric(
    "epsilon_server", measures=Proven, title="ε against the server", unit="number", role="context", rank=79,
    higher=False, equation="Rényi accounting of all updates of one device",
)  # fmt: skip
def _server(proven: Proven) -> float:
    return proven.server


@metric(
    "epsilon_extractor", measures=Proven, title="ε against users of the extractor", unit="number",
    role="context", rank=80, higher=False, equation="Rényi accounting of the sums of updates of all rounds",
)  # fmt: skip
def _extractor(proven: Proven) -> float:
    return proven.extractor


@metric(
    "updates_refused", measures=Updates, title="refused updates", unit="share", role="context", rank=81,
    higher=False, equation="share of devices' updates that held no parameters or too large a move",
)  # fmt: skip
def _refused(updates: Updates) -> float:
    return updates.refused / updates.wanted


@metric(
    "updates_lost", measures=Updates, title="lost updates", unit="share", role="context", rank=82,
    higher=False, equation="share of updates that never came: the device was away or failed",
)  # fmt: skip
def _lost(updates: Updates) -> float:
    return updates.lost / updates.wanted
