"""Attacks on enrolled embeddings, templates, from the distances that a verification tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Asks, Kind, ReleaseStore, SomeChunks
from leakrange.attacks.kinds.served import ask_as_users, crowd_of, served_crowd, utility
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Trial
from leakrange.attacks.people.multilateration import FEWEST_REFERENCES, TemplateEvidence
from leakrange.data import load
from leakrange.data.crowd import part_sizes
from leakrange.jobs.recipe import Crowd, DataSpec
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import Ranking, measured, unit_length
from leakrange.metrics.controls import BesideImputation
from leakrange.metrics.templates import RecoveredTemplates, rank_of_own
from leakrange.metrics.views import viewed
from leakrange.strict import Strict
from leakrange.wire.endpoints import ServiceSpec
from leakrange.wire.errors import InvalidInput

__all__ = ["ComparedFaces", "TemplateKind"]

PERSON = "enrolled person"
"""The name of what such attacks infer."""
SHOWN = ("public", "pool", "photographs")
"""Whose embeddings the attacker's net gives: the references, the hidden pictures to judge by, the gallery."""


class ComparedFaces(Strict):
    """The distances of each of the first ``targets`` pictures of the pool to each of the first ``references``
    of the public, as a ``service`` answered; and the attacker's embeddings by the parts of `SHOWN`:
    identities of stored releases. Those of the pool only judge, and no attack sees them."""

    data: DataSpec
    service: ServiceSpec
    references: Annotated[int, Field(ge=1)]
    targets: Annotated[int, Field(ge=1)]
    answers: SomeChunks
    embeddings: dict[str, str]


@kinds.register("template")
class TemplateKind(Kind):
    """The attacker compares one hidden picture of each person with pictures of the public. The range sends
    both pictures of a comparison; at a service where people are enrolled by one picture, the answer to the
    second one alone is the same."""

    name: ClassVar[str] = "template"
    leakage: ClassVar[str] = "auc"
    hides: ClassVar[str] = "who is enrolled"
    asks: ClassVar[Asks | None] = None
    Evidence: ClassVar[type[BaseModel]] = ComparedFaces

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The people of the crowd, one picture of each."""
        crowd = served_crowd(provider)
        if isinstance(crowd, str):
            return crowd
        target = Target(attack, PERSON, (), attack.Parameters.model_validate(given))
        if target.parameters.net == "provider" and not provider.trains:
            return "its model is somebody else's, of whom nobody has a copy: let 'net' be own"
        if (wanted := target.parameters.targets or 0) > crowd.asked:
            return f"the crowd has {crowd.asked} people, not {wanted}"
        return target

    def buys(
        self,
        target: Target,
        provider: Offer,
        knowledge: Knowledge,
        budget: int,
        available: int | None = None,  # noqa: ARG002
    ) -> int | None:
        """The number of references with which every hidden picture is compared."""
        crowd, parameters = crowd_of(provider.data), target.parameters
        each = budget // target.answers(knowledge) // _targets(target, crowd)
        count = min(each, parameters.references, part_sizes(crowd)["public"])
        return count if count >= FEWEST_REFERENCES else None

    def plan(self, cell: Cell) -> Needs | None:
        """Comparisons under the defence, and embeddings by the attacker's net. Defences on devices are not
        planned: a service has none."""
        references = self.buys(cell.target, cell.provider, cell.knowledge, cell.budget)
        if references is None or cell.changes_devices:
            return None
        data = cell.provider.data
        targets, sizes = _targets(cell.target, crowd_of(data)), part_sizes(crowd_of(data))
        stops = dict(zip(SHOWN, (references, targets, sizes["photographs"]), strict=True))
        own = cell.target.parameters.net == "own"
        return Needs(
            probes={
                "answers": cell.ask("pool", targets * references, references=references),
                "users": ask_as_users(cell),
            },
            shadows=[cell.recogniser() if own else cell.copy()],
            shows=[Span(data=cell.data, split=part, start=0, stop=stops[part]) for part in SHOWN],
            asked={"references": references, "targets": targets},
        )

    def infer(
        self,
        attack: Any,
        evidence: ComparedFaces,
        job: FitJob,  # noqa: ARG002
        releases: ReleaseStore,
    ) -> dict[str, NDArray[Any]]:
        """Of T hidden pictures and the P people of the crowd: ``cosine`` float64 (T,) of the recovered
        embedding and of the references' mean, ``unasked`` (T,), to the one that the attacker's net gives the
        picture; ``similarity`` float32 (T, P) of the recovered one to each person's photographs, and that of
        the picture's own, ``hidden_similarity``. −1 where there is no photograph of a person."""
        wanted = evidence.targets * evidence.references
        distances = releases(evidence.answers)[:wanted].reshape(-1)
        references, hidden, photographs = (releases([[evidence.embeddings[part]]]) for part in SHOWN)
        references, hidden = references[: evidence.references], hidden[: evidence.targets]
        if (len(distances), len(references), len(hidden)) != (wanted, evidence.references, evidence.targets):
            raise InvalidInput(
                f"{len(distances)} distances of {len(hidden)} pictures to {len(references)} references: "
                f"{evidence.targets} times {evidence.references} were asked for"
            )
        if evidence.service.normalised:
            references, hidden, photographs = map(unit_length, (references, hidden, photographs))
        asked = TemplateEvidence(
            references, distances.reshape(evidence.targets, -1), evidence.service.distance
        )
        recovered = attack.recover(asked)
        gallery = _gallery(load(evidence.data), crowd_of(evidence.data), photographs)
        return {
            "cosine": _cosines(recovered, hidden),
            "unasked": _cosines(references.mean(axis=0, keepdims=True), hidden),
            "similarity": _similarity(recovered, gallery),
            "hidden_similarity": _similarity(hidden, gallery),
        }

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The attack, on all distances."""
        assert trial.model.service is not None  # else it has no target
        shown = {span.split: trial.shown(span)[0].releases for span in trial.needs.shows}
        compared = ComparedFaces(
            data=trial.model.recipe.data,
            service=trial.model.service,
            answers=trial.answered("answers"),
            embeddings=dict(shown),
            **trial.needs.asked,
        )
        return {ATTACK: Fit(compared)}

    def judge(self, trial: Trial) -> Judged:
        """Compares whom the recovered embeddings name with the people whose pictures were hidden. People of
        whom the attacker has no photograph are left out."""
        arrays, asked = trial.fitted().arrays, trial.needs.asked
        people = np.flatnonzero(arrays["hidden_similarity"].max(axis=0) > -1)
        judged = people[people < asked["targets"]]
        own = np.searchsorted(people, judged)
        similarity, hidden = (
            arrays[name][np.ix_(judged, people)] for name in ("similarity", "hidden_similarity")
        )
        outcome = RecoveredTemplates(
            cosine=arrays["cosine"][judged],
            unasked=arrays["unasked"][judged],
            rank=rank_of_own(similarity, own),
            hidden_rank=rank_of_own(hidden, own),
            gallery=len(people),
        )
        pairs = np.stack([np.repeat(judged, len(people)), np.tile(people, len(judged))], axis=1)
        truth = (pairs[:, 0] == pairs[:, 1]).astype(int)
        ranking = Ranking(similarity.ravel(), truth, pairs)
        nothing = Ranking(np.zeros(len(truth)), truth)  # is known of whom a picture shows, unless one asks
        return Judged(
            metrics=utility(trial) | measured(outcome, ranking, BesideImputation(ranking, nothing)),
            views=viewed(None, ranking),
            victims=len(judged),
            spent=len(trial.needs.probes["answers"]) * asked["references"] * asked["targets"],
        )


def _targets(target: Target, crowd: Crowd) -> int:
    return int(target.parameters.targets or crowd.asked)


def _gallery(data: Any, crowd: Crowd, photographs: NDArray[np.floating]) -> NDArray[np.float64]:
    """The mean embedding (P, d) of each person's photographs, of length 1; zeros where there is none: then
    another person's picture stands in the photographs' place."""
    person = data.labels["person"]
    place = np.arange(len(photographs)) % crowd.asked
    shown = person[data.where("photographs")] == person[data.where("pool")[place]]
    gallery = np.zeros((crowd.asked, photographs.shape[1]))
    np.add.at(gallery, place[shown], unit_length(photographs)[shown])
    return unit_length(gallery).astype(np.float64)


def _similarity(vectors: NDArray[np.floating], gallery: NDArray[np.float64]) -> NDArray[np.float32]:
    """The cosines (T, P) of vectors (T, d) to people; −1 to people of whom there is nothing."""
    cosines = unit_length(vectors).astype(np.float64) @ gallery.T
    return np.where(gallery.any(axis=1), cosines, -1.0).astype(np.float32)


def _cosines(vectors: NDArray[np.floating], others: NDArray[np.floating]) -> NDArray[np.float64]:
    """The cosine (T,) of each of vectors (T, d) or (1, d) to the same row of others (T, d)."""
    products = unit_length(vectors).astype(np.float64) * unit_length(others)
    return np.asarray(products.sum(axis=1), dtype=np.float64)
