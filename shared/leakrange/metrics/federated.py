"""How the adversaries fare that devices learned against."""

from __future__ import annotations

from dataclasses import dataclass

from leakrange.metrics.accuracy import nag
from leakrange.metrics.registry import metric

__all__ = ["LocalAdversaries", "Proven", "Updates"]


@dataclass(frozen=True)
class LocalAdversaries:
    """The mean ``accuracy`` on test samples of the adversaries of devices, each as it was when its device
    last took part in a round, and the share of the commonest class of these samples, ``majority``.
    ``cross_entropy`` is theirs in nats, ``kept`` the loss of what keeps features useful there."""

    accuracy: float
    majority: float
    cross_entropy: float
    kept: float


@dataclass(frozen=True)
class Proven:
    """The ε of differential privacy of one device's data, for a δ that the training names: against a
    ``server`` that sees every update, and against whoever sees the shared ``extractor`` after each round."""

    server: float
    extractor: float


@dataclass(frozen=True)
class Updates:
    """How many updates of devices a federation's server was waiting for over all rounds, how many it
    ``refused``, and how many were ``lost`` with their device."""

    wanted: int
    refused: int
    lost: int


@metric(
    "local_curiosity", measures=LocalAdversaries, title="curiosity of devices' own adversaries", unit="share",
    role="context", rank=21, chance="majority",
    equation="accuracy of the networks that devices train the extractor against (TAPPFL, evaluation metrics)",
)  # fmt: skip
def _accuracy(found: LocalAdversaries) -> float:
    return found.accuracy


@metric(
    "local_nag", measures=LocalAdversaries, title="NAG of devices' own adversaries", unit="score",
    role="context", rank=41, equation="as the normalised accuracy gain, of the devices' own adversaries",
)  # fmt: skip
def _nag(found: LocalAdversaries) -> float | None:
    return nag(found.accuracy, found.majority)


@metric(
    "adversary_cross_entropy", measures=LocalAdversaries, title="cross-entropy of devices' own adversaries",
    unit="number", role="context", rank=77,
    equation="in nats; the greater, the less the features tell them (TAPPFL, Fig. 2)",
)  # fmt: skip
def _cross_entropy(found: LocalAdversaries) -> float:
    return found.cross_entropy


@metric(
    "kept_loss", measures=LocalAdversaries, title="loss of what keeps features useful", unit="number",
    role="context", rank=78, higher=False,
    equation="TAPPFL: the Jensen-Shannon loss; the less, the more the features tell of samples (Fig. 2)",
)  # fmt: skip
def _kept(found: LocalAdversaries) -> float:
    return found.kept


@metric(
    "epsilon_server", measures=Proven, title="ε against the server", unit="number", role="context", rank=79,
    higher=False, equation="Rényi accounting of all updates of one device",
)  # fmt: skip
def _server(found: Proven) -> float:
    return found.server


@metric(
    "epsilon_extractor", measures=Proven, title="ε against users of the extractor", unit="number",
    role="context", rank=80, higher=False, equation="Rényi accounting of the sums of updates of all rounds",
)  # fmt: skip
def _extractor(found: Proven) -> float:
    return found.extractor


@metric(
    "updates_refused", measures=Updates, title="refused updates", unit="share", role="context", rank=81,
    higher=False, equation="share of devices' updates that held no parameters or too large a move",
)  # fmt: skip
def _refused(found: Updates) -> float:
    return found.refused / found.wanted


@metric(
    "updates_lost", measures=Updates, title="lost updates", unit="share", role="context", rank=82,
    higher=False, equation="share of updates that never came: the device was away or failed",
)  # fmt: skip
def _lost(found: Updates) -> float:
    return found.lost / found.wanted
