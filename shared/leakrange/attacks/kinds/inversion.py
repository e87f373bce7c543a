"""Drawings of people whom a model knows, and whether they are those people."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.attack import Attack
from leakrange.attacks.inversion.search import InversionParameters
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import AskedStep, Cell, Needs, Offer
from leakrange.attacks.kinds.extraction import MOST_POOL, WALK_ROLE, public_data, unlike, walks
from leakrange.attacks.kinds.judges import Judges
from leakrange.attacks.kinds.kind import Asks, Kind, ReleaseStore
from leakrange.attacks.kinds.reconstructed import strip
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Trial
from leakrange.attacks.kinds.users import decisions_of
from leakrange.data import datasets
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.jobs.steps.walk import MOST_TOGETHER, WALK, WalkOrder
from leakrange.metrics import Ranking, measured
from leakrange.metrics.inversion import JUDGES, DrawnPeople
from leakrange.metrics.views import viewed
from leakrange.nets import nets
from leakrange.nets.reconstructors import reconstructors
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = ["InversionKind"]

LOOKS = "looks of its people"
"""What such attacks infer, in words."""
FEWEST = 3
"""The fewest questions for each person."""
SHOWN = 10
"""The most people whose drawings the report shows."""


class DrawnEvidence(Strict):
    """The ``walk`` that drew people, and what judges it alone: the ``data`` of the model and the attribute
    ``target``, whose classes they are."""

    walk: str
    data: DataSpec
    target: str


@kinds.register("inversion")
class InversionKind(Kind):
    """The attacker asks about pictures that a generator draws, which has learnt from other people. Judges see
    the model's training pictures, and the attacker does not."""

    name: ClassVar[str] = "inversion"
    leakage: ClassVar[str] = "auc"
    hides: ClassVar[str] = "what its people look like"
    asks: ClassVar[Asks | None] = None
    Evidence: ClassVar[type[BaseModel]] = DrawnEvidence

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """Each class of the provider's model, as a person."""
        if reason := provider.no_uploads:
            return reason
        if not isinstance(provider.target, str):
            return "it is asked for several attributes, and a drawing is of a class of one"
        parameters = attack.Parameters.model_validate(given)
        assert isinstance(parameters, InversionParameters)
        if reason := _misfit(parameters, provider.data):
            return reason
        classes = provider.attributes[provider.target].classes
        if parameters.people > len(classes):
            return f"{provider.target!r} has {len(classes)} classes: let 'people' be {len(classes)} or less"
        return Target(attack, LOOKS, classes, parameters)

    def plan(self, cell: Cell) -> Needs | None:
        """A walk, and what users got. None where the budget is below `FEWEST` questions for each person, and
        where devices defend themselves: the attacker has none."""
        queries = self.buys(cell.target, cell.provider, cell.knowledge, min(cell.budget, MOST_TOGETHER))
        parameters = cell.target.parameters
        public = _public(parameters, cell.provider.data)
        available = cell.available("train", public)
        if queries is None or queries < FEWEST * parameters.people or cell.changes_devices:
            return None
        order = WalkOrder(
            span=Span(data=public, split="train", start=0, stop=min(available or MOST_POOL, MOST_POOL)),
            queries=queries,
            attack=cell.target.attack.name,
            parameters=parameters.model_dump(mode="json"),
            together=True,
        )
        return Needs(
            streams=cell.uploads(),
            steps={WALK_ROLE: AskedStep(step=WALK.name, parameters=order.model_dump(mode="json"))},
        )

    def infer(
        self,
        attack: Any,
        evidence: DrawnEvidence,
        job: FitJob,  # noqa: ARG002
        releases: ReleaseStore,
    ) -> dict[str, NDArray[Any]]:
        """Whom each of `JUDGES` sees in the drawings, ``drawn_…`` (T,), in those that were made ``unasked_…``
        (T,), and in real pictures ``shown_…`` (R,) of the people ``real`` (R,); the drawings that can be
        ``judged``, since there are training pictures of the person; the greatest cosine ``similarity`` (T, Y)
        of a drawing to those of each class, −1 where there are none; and PNG files of the first drawings and
        of training pictures of the same people."""
        walked = releases.arrays(evidence.walk)
        judges = Judges(evidence.data, evidence.target, attack.parameters.evaluator, releases)
        values, person, wanted = judges.data.values, judges.person, walked["wanted"]
        if wanted.max(initial=0) >= judges.classes:
            raise InvalidInput(
                f"the model answers with more classes than the {judges.classes} of {evidence.target!r}",
                hint="let the target's data have the classes of the model",
            )
        drawn, similarity = judges.seen(walked["pictures"])
        by = {
            "drawn": drawn,
            "unasked": judges.seen(walked["unasked"])[0],
            "shown": judges.seen(values[judges.real])[0],
        }
        gallery = judges.gallery
        judged = np.flatnonzero(np.isin(wanted, person[gallery]))
        if not len(judged):
            raise InvalidInput(
                "nobody whom the attack drew is in the training pictures that judge it",
                hint="let 'people' be greater, or take data with pictures of the people whom the model knows",
            )
        first = [gallery[(person[gallery] == each).argmax()] for each in wanted[judged[:SHOWN]]]
        return {
            **{f"{role}_{judge}": people for role, seen in by.items() for judge, people in seen.items()},
            "real": person[judges.real],
            "wanted": wanted,
            "judged": judged,
            "similarity": similarity,
            "original": strip(values[first]),
            "reconstructed": strip(walked["pictures"][judged[:SHOWN]]),
        }

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The judges' work, which loads the training pictures."""
        target = trial.model.target
        assert isinstance(target, str)  # else it has no target
        evidence = DrawnEvidence(walk=walks(trial).identities[0], data=trial.model.recipe.data, target=target)
        return {ATTACK: Fit(evidence)}

    def judge(self, trial: Trial) -> Judged:
        """Compares whom the drawings show with the people whom the attacker wanted. Those of whom the gallery
        has no picture are left out."""
        arrays = trial.fitted().arrays
        known = np.flatnonzero(arrays["similarity"].max(axis=0) > -1)
        judged = arrays["judged"]
        wanted = arrays["wanted"][judged]
        by = {
            role: {judge: arrays[f"{role}_{judge}"] for judge in JUDGES}
            for role in ("drawn", "unasked", "shown")
        }
        drawn = {judge: people[judged] for judge, people in by["drawn"].items()}
        outcome = DrawnPeople(wanted, drawn, by["unasked"], by["shown"], arrays["real"])
        similarity = arrays["similarity"][np.ix_(judged, known)]
        pairs = np.stack([np.repeat(wanted, len(known)), np.tile(known, len(wanted))], axis=1)
        truth = (pairs[:, 0] == pairs[:, 1]).astype(int)
        ranking = Ranking(similarity.ravel(), truth, pairs)
        shown = {
            name: base64.b64encode(arrays[name].tobytes()).decode() for name in ("original", "reconstructed")
        }
        right = {
            f"drawn_{judge}": (people == wanted)[:SHOWN].astype(float).tolist()
            for judge, people in drawn.items()
        }
        return Judged(
            metrics=measured(decisions_of(trial, trial.uploaded), outcome, ranking),
            views=viewed(None, ranking) | {"inversions": shown | right},
            victims=len(judged),
            spent=int(walks(trial).joined("asked").sum()),
        )


def _public(parameters: InversionParameters, data: DataSpec) -> DataSpec:
    """The generator's set, in the size of the model's samples."""
    chosen = parameters.public
    return public_data(data, chosen.name).model_copy(update={"seed": chosen.seed, "count": chosen.count})


def _misfit(parameters: InversionParameters, data: DataSpec) -> str | None:
    """Why no generator of those parameters can draw what a model of ``data`` is asked about, or nobody can
    judge it; None where all is well."""
    name = parameters.public.name
    if reason := unlike(data, name):
        return reason
    public = datasets[name]
    if not public.procedural():
        if parameters.public.count is not None:
            return f"{name!r} is a given set, which draws nothing: leave out its 'count'"
        if name == data.name:
            return "the generator would learn from the model's people: let 'public' name another set"
    elif datasets[data.name].procedural() and parameters.public.seed == data.seed:
        return "the generator would learn from the model's people: give 'public' another 'seed' than the data"
    spec, net = datasets[data.name].sample(data), parameters.evaluator.name
    if net not in nets:
        return f"the evaluator's net {net!r} is unknown; there are {', '.join(sorted(nets))}"
    return nets[net].misfit(spec) or reconstructors["strided-conv"].misfit(spec)
