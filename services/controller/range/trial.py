"""A trial whose needs are met, as its kind of attack sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.trial import Fitted, Shown, Uploaded
from leakrange.jobs.job import Span
from leakrange.scenario.plan import PlannedModel, PlannedTrial
from leakrange.store.files import get_arrays, put_arrays, whole
from leakrange.store.joined import joined
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import UPLOADS
from leakrange.wire.errors import LeakrangeError, NotFound
from services.controller.range.context import RunContext
from services.controller.range.students import hand_in
from services.controller.range.together import together

__all__ = ["ReadyTrial", "trained_on"]


class ReadyTrial:
    """Implements `leakrange.attacks.kinds.trial.Trial`. ``streams`` and ``probes`` hold identities of
    stored releases, for each draw chunk by chunk."""

    def __init__(
        self,
        context: RunContext,
        planned: PlannedTrial,
        streams: list[list[str]],
        probes: Mapping[str, list[list[str]]],
        uploaded: Uploaded | None,
    ) -> None:
        self._context, self._planned = context, planned
        self._streams, self._probes, self._uploaded = streams, probes, uploaded
        self.attack, self.hidden = planned.result.attack, planned.result.sensitive
        self.budget, self.seed = planned.result.budget, planned.result.seed
        self.parameters: Mapping[str, Any] = planned.parameters
        self.needs: Needs = planned.needs
        self.model: PlannedModel = context.models[planned.model]

    @property
    def classes(self) -> int:
        """The number of classes of the hidden attribute."""
        return len(self._context.plan.classes[self.model.data][self.hidden])

    @property
    def uploaded(self) -> Uploaded:
        """The first stream of the needs. Raises `NotFound` where they have none."""
        if self._uploaded is None:
            raise NotFound(f"{self._planned.result.id} needs no user's uploads")
        return self._uploaded

    @property
    def users(self) -> list[Span]:
        """The samples of its sessions."""
        return self._context.streams[self.needs.streams[0]].spans

    @property
    def observed(self) -> list[list[str]]:
        """The releases that users uploaded."""
        return _by_chunk(self._streams)

    def answered(self, role: str) -> list[list[str]]:
        """The answers to the probes of a role; none where there are no such probes."""
        return _by_chunk(self._probes.get(role, []))

    def answers(self, role: str) -> NDArray[np.float32]:
        """These answers, each the mean of its draws."""
        return joined(self._context.parties.releases, self.answered(role))

    def members(self, pool: int) -> NDArray[np.bool_]:
        """Which of the ``pool`` samples the model, or a student's teacher, was trained on."""
        trained = self.model.teacher or self.model
        record = self._context.parties.models.get(f"{trained.artifact}/training.json")
        return trained_on(orjson.loads(record), pool)

    async def shown(self, span: Span) -> list[Shown]:
        """The shadow models' releases for a span."""
        shadows = [self._context.shadows[name] for name in self.needs.shadows]
        found = await together(self._context.own.shown(shadow, span) for shadow in shadows)
        return [Shown(shadow.recipe.data, name) for shadow, name in zip(shadows, found, strict=True)]

    async def fitted(self, evidence: BaseModel) -> Fitted:
        """The result of fitting the attack on that evidence in the fleet; stored results are used again."""
        context, trial = self._context, self._planned.result.id
        job = self._planned.job(self.model.release, evidence)
        identity = job.identity()
        await context.journal.expect([(identity, "fit", {"trial": trial})])
        if not whole(context.parties.releases, f"{identity}.npz"):
            async with context.fitting:
                await context.dispatch.run(job, f"fitting {trial}")
        await context.journal.job_done(identity, "fit", {}, message=f"fitted {trial}")
        return Fitted(identity, get_arrays(context.parties.releases, f"{identity}.npz"))

    async def handed_in(self, student: Fitted) -> Uploaded:
        """The decisions on a student's soft outputs for the users' samples, and what the provider inferred
        from them."""
        context, trial, outputs = self._context, self._planned.result, student.arrays["scores"]
        policy = context.policies[trial.defence]
        identity = digest(["student", student.identity, policy.digest])
        name = f"{context.run}.student.{self.model.id}.{identity[:12]}"
        await context.journal.expect([(identity, "stream", {"trial": trial.id})])
        served_as = context.own.name(self.model)
        key = await context.accounts.key(
            name, policy=policy.name, budget=len(outputs), model=served_as, endpoints=[UPLOADS]
        )
        known = whole(context.parties.releases, f"{identity}.npz")
        if not known:
            try:
                async with context.sessions:
                    found = await hand_in(
                        context.parties.proxy,
                        context.parties.providers,
                        self.model,
                        served_as=served_as,
                        account=name,
                        key=key,
                        outputs=outputs,
                        spans=self.users,
                        upload=context.own.upload(identity),
                    )
            except LeakrangeError as error:
                await context.journal.job_failed(identity, "stream", f"{trial.id}: {error.detail}")
                raise
            put_arrays(context.parties.releases, f"{identity}.npz", found)
        await context.journal.job_done(
            identity,
            "stream",
            {"key": None if known else name, "samples": len(outputs)},  # known: another run has paid for it
            message=f"{len(outputs)} outputs of the student of {trial.id}",
        )
        read = get_arrays(context.parties.releases, f"{identity}.npz")
        inferred = Inference(read["inferred"], read["scores"])
        return Uploaded(self.uploaded.truths, read["decisions"], inferred)


def trained_on(record: dict[str, Any], pool: int) -> NDArray[np.bool_]:
    """Which of the ``pool`` samples a model was trained on (pool,), from the record of its training.

    Raises `LeakrangeError` where the record does not say, or is about another pool.
    """
    places = record.get("members")
    if not isinstance(places, list) or not all(isinstance(each, int) and 0 <= each < pool for each in places):
        raise LeakrangeError(f"the model's record does not tell which of {pool} samples it was trained on")
    members = np.zeros(pool, dtype=bool)
    members[places] = True
    return members


def _by_chunk(draws: list[list[str]]) -> list[list[str]]:
    """Rearrange a list of draws, each with its chunks, into a list of chunks, each with its draws."""
    return [list(chunk) for chunk in zip(*draws, strict=True)]
