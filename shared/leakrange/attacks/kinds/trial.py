"""The input from which a kind of attack judges a trial, and the result that it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds.cell import Needs
from leakrange.data import Names
from leakrange.data.resembling import NEAR_COPIES, whose
from leakrange.data.splits import connected
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.jobs.samples import Span, Split
from leakrange.metrics import Estimate
from leakrange.strict import Strict
from leakrange.wire.endpoints import ServiceSpec
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.releases import ReleaseKind

__all__ = ["ATTACK", "Fit", "Fitted", "Judged", "Shown", "Trial", "TrialModel", "Uploaded"]

ATTACK = "attack"
"""The role of the attack's fit, where a kind has one alone."""


@dataclass(frozen=True)
class Judged:
    """The result of an attack: its metrics, the data of its charts, the number of victims, and the number of
    samples that it had answered, or saw."""

    metrics: dict[str, Estimate]
    views: dict[str, Any]
    victims: int
    spent: int


@dataclass(frozen=True)
class Uploaded:
    """A stream of uploads: the users' true classes by attribute, the decisions that they got (V,), what the
    provider's decoder inferred, if it has one, and the outputs (V, Y) as a softmax, where they are such. Of
    several attributes decisions are (V, A), and outputs lie side by side in ``heads``. ``reconstructed`` are
    the identities of the stored samples that the provider's decoder reconstructed, session by session; None
    where it reconstructs none. ``values``: how many numbers are uploaded of one sample; None where that is
    not known."""

    truths: Sequence[Mapping[str, Sequence[int]]]
    decisions: NDArray[np.int64]
    inferred: Inference | None
    soft: NDArray[np.floating] | None = None
    heads: Sequence[int] = ()
    reconstructed: Sequence[str] | None = None
    values: int | None = None

    def truth(self, attribute: Names) -> NDArray[np.int64]:
        """The users' classes of one attribute (V,), of several (V, A), -1 where unknown.

        Raises `LeakrangeError` where a session did not register that attribute. An edge client of another
        version may load a data set with other attributes.
        """
        if not isinstance(attribute, str):
            return np.stack([self.truth(name) for name in attribute], axis=1)
        for labels in self.truths:
            if attribute not in labels:
                raise LeakrangeError(
                    f"the edge client registered no {attribute!r} of its users, only "
                    f"{', '.join(map(repr, sorted(labels))) or 'nothing'}",
                    hint="is it of another version than the controller?",
                )
        return np.concatenate([np.asarray(labels[attribute], dtype=np.int64) for labels in self.truths])

    def groups(self, data: str, about: Names) -> NDArray[np.int64] | None:
        """Which users (V,) are near-copies of each other, or one person, of users of the set ``data``; see
        `leakrange.data.resembling.groups_of`. None where sessions of an older edge client did not say."""
        if not all(NEAR_COPIES in labels for labels in self.truths):
            return None
        person, copies = whose(data, about), self.truth(NEAR_COPIES)
        return connected(copies, self.truth(person)) if person in self.truths[0] else copies


@dataclass(frozen=True)
class Fit:
    """What the fleet fits for a trial: the trial's attack, or the control of the name ``by``, on that
    evidence."""

    evidence: BaseModel
    by: str = ""


@dataclass(frozen=True)
class Fitted:
    """The result of a job of the fleet: arrays by name, stored under the job's identity."""

    identity: str
    arrays: Mapping[str, NDArray[Any]]

    @property
    def inference(self) -> Inference:
        """Classes and scores of the victims."""
        return Inference(self.arrays["predicted"], self.arrays["scores"])


@dataclass(frozen=True)
class Shown:
    """The training data of a shadow model, and the identity of its stored releases for a span."""

    data: DataSpec
    releases: str


class TrialModel(Strict):
    """The model that is attacked."""

    id: str
    """Its name in the plan."""
    recipe: TrainingRecipe
    release: ReleaseKind
    """What its answers are."""
    target: Names
    """The attribute that it is asked for, or several."""
    service: ServiceSpec | None = None
    """The service in front of it, if any."""


class Trial(Protocol):
    """A trial whose needs are stored. What else the fleet does for it can be read when it is judged."""

    attack: str
    """Its name in the scenario."""
    hidden: str
    """The name of what it infers."""
    classes: int
    """The number of classes of what it infers."""
    parameters: Mapping[str, Any]
    """The parameters of the attack."""
    budget: int
    """The number of answers that the attack may use, or of uploads that it sees, in samples."""
    seed: int
    needs: Needs
    """What was planned for it."""
    model: TrialModel
    observed: list[list[str]]
    """The identities of the releases that users uploaded: chunks, each with its draws."""
    undefended: list[list[str]]
    """The same for the same users' uploads without a defence; empty if these are not needed."""

    @property
    def uploaded(self) -> Uploaded:
        """The first stream of the needs. Raises `NotFound` where they have none."""
        ...

    @property
    def users(self) -> list[Span]:
        """The samples of its sessions."""
        ...

    def answered(self, role: str) -> list[list[str]]:
        """The identities of the answers to the probes of a role, as for `observed`; empty where there are no
        such probes."""

    def answers(self, role: str) -> NDArray[np.float32]:
        """These answers, each the mean of its draws."""

    def members(self, pool: int) -> NDArray[np.bool_]:
        """Which of the ``pool`` samples the model was trained on (pool,), from the record of its training.
        Raises `LeakrangeError` where the record does not say."""

    def trained(self, split: Split) -> Mapping[str, float]:
        """The figures of the model's training, or of a student's teacher's, on a split; empty where it had no
        such samples."""
        ...

    def promised(self) -> Mapping[str, float]:
        """What the training by DP-SGD promises, as `leakrange.providers.model_config.PrivacyLedger` names it;
        empty where it promises nothing."""
        ...

    def obfuscators(self) -> list[Mapping[str, Any]]:
        """The records of what was trained for the defence, in the order of its chain; empty where nothing
        was. Raises `NotFound` for a record that is not stored."""
        ...

    def shown(self, span: Span) -> list[Shown]:
        """The shadow models' releases for a span, one of the needs' ``shows``."""
        ...

    def fitted(self, role: str = ATTACK) -> Fitted:
        """The result of the fit of that role. Raises `NotFound` before it is fitted."""
        ...

    def taken(self, role: str) -> Any:
        """The result of the step of that role, one of the needs' ``steps``. Raises `NotFound` if they ask for
        no such step."""
        ...

    @property
    def handed_in(self) -> Uploaded:
        """The provider's results on the uploads that a user ``hands_in`` by the needs. Raises `NotFound` if
        the needs name none."""
        ...
