"""The operator's calls to providers and edge clients. Each may be repeated after a restart."""

from __future__ import annotations

from collections.abc import Mapping

from leakrange import tracing
from leakrange.jobs.steps.stream import Session, SessionReply
from leakrange.service.run_header import RUN
from leakrange.wire.answers import read
from leakrange.wire.errors import LeakrangeError, Unavailable
from leakrange.wire.operator import PartyCalls
from leakrange.wire.schemas import Deployment, IntakeRecord, ModelCard
from leakrange.wire.transport import Transport

__all__ = ["EdgeCalls", "Providers"]

MODELS = "/v1/operator/models/"


class Providers:
    """The provider services by the behaviour that they play."""

    def __init__(
        self, transport: Transport, urls: Mapping[str, str], operator_key: str, *, attempts: int
    ) -> None:
        self._parties = {
            played: PartyCalls(transport, url, operator_key, attempts=attempts)
            for played, url in urls.items()
        }
        for played, party in self._parties.items():
            party.who = f"the {played} provider"

    def url(self, behaviour: str) -> str:
        """Where models of ``behaviour`` are served; raises `Unavailable` if the range has no such
        provider."""
        return self._of(behaviour).url

    async def put(self, behaviour: str, model: str, deployment: Deployment) -> ModelCard:
        """Have a deployment served as ``model``."""
        body = deployment.model_dump(mode="json")
        return read(ModelCard, await self._of(behaviour).ask("PUT", MODELS + model, body))

    async def withdraw(self, behaviour: str, model: str) -> None:
        """Withdraw what was deployed for runs as ``model``; repeating it changes nothing. Raises
        `Conflict` where the operator deployed it."""
        await self._of(behaviour).ask("DELETE", f"{MODELS}{model}?of_runs=true")

    async def intake(self, behaviour: str, model: str, upload: str) -> IntakeRecord:
        """The data that the provider received in ``upload``, and what its decoder inferred from them."""
        return read(IntakeRecord, await self._of(behaviour).ask("GET", f"{MODELS}{model}/intake/{upload}"))

    def _of(self, behaviour: str) -> PartyCalls:
        played = behaviour.partition("/")[0]
        if played not in self._parties:
            there = ", ".join(sorted(self._parties))
            raise Unavailable(
                f"this range has no provider that plays {played!r}; it has {there}",
                hint="add it to LEAKRANGE_PROVIDERS of the controller",
            )
        return self._parties[played]


class EdgeCalls(PartyCalls):
    """The edge-client service: simulated users."""

    who = "the edge client"

    async def session(self, order: Session, run: str) -> SessionReply:
        """Let the users use the app once, for a run; the reply registers the truth about their samples with
        the controller.
        """
        with tracing.inward("session", model=order.model):  # unlike proxies and providers, it may know
            answer = await self.ask("POST", "/v1/sessions", order.model_dump(mode="json"), headers={RUN: run})
        reply = read(SessionReply, answer)
        if order.span is not None and reply.samples != order.span.stop - order.span.start:
            raise LeakrangeError(f"the edge client answered for {reply.samples} samples of another session")
        return reply
