"""What all work on one run shares."""

from __future__ import annotations

import asyncio
from typing import Any

from leakrange.defences.chain import DefenceChain
from leakrange.scenario.asked_by import roles
from leakrange.scenario.plan import Plan, PlannedModel
from leakrange.wire.events import Purpose
from services.controller.range.accounts import Accounts
from services.controller.range.dispatch import Dispatch
from services.controller.range.journal import Journal
from services.controller.range.models import Models, of_model
from services.controller.range.offers import Offers
from services.controller.range.parties import Parties
from services.controller.range.together import Once, together
from services.controller.settings import ControllerSettings

FITS_AT_ONCE = 8


class RunContext:
    """The plan by its ids, the parties, the journal, and the limits on work at the same time.

    ``done`` are the identities of the jobs that the run has finished already.
    """

    def __init__(
        self, run: str, plan: Plan, parties: Parties, journal: Journal, settings: ControllerSettings
    ) -> None:
        self.run, self.plan, self.parties, self.journal = run, plan, parties, journal
        self.models = {model.id: model for model in plan.models}
        self.shadows = {model.id: model for model in plan.shadows}
        self.obfuscators = {each.artifact: each for each in plan.obfuscators}
        self.policies = {policy.defence: policy for policy in plan.policies}
        self.streams = {stream.id: stream for stream in plan.streams}
        self.probes = {probe.id: probe for probe in plan.probes}
        self.sessions = asyncio.Semaphore(settings.sessions_at_once)
        self.probing = asyncio.Semaphore(settings.probes_at_once)
        self.fitting = asyncio.Semaphore(FITS_AT_ONCE)
        self.once = Once()
        self.done: set[str] = set()
        self.dispatch = Dispatch(parties.fleet, journal)
        self.own = Models(parties, journal, self.once, self.dispatch)
        self.accounts = Accounts(parties.proxy, journal)
        self.offers = Offers(plan.load)
        self.roles = roles(plan) if plan.load is not None else {}

    def purpose(self, model: PlannedModel, defence: str, **more: str) -> Purpose:
        """What is done for a model under a defence; ``more`` are further members."""
        about = of_model(model).told()
        return Purpose(**{**about, "defence": defence, **more})

    async def ready(self, model: PlannedModel, local: list[Any]) -> dict[str, str]:
        """Have the model served, and the obfuscators trained that the chain ``local`` of its users' devices
        names. Returns the SHA-256 of each one's file, by its digest."""
        digests = DefenceChain.parse(local).artifacts
        planned = [self.obfuscators[each] for each in digests if each in self.obfuscators]
        await together([self.own.served(model), *(self.own.trained(each) for each in planned)])
        return {each: await self.own.file(each) for each in digests}
