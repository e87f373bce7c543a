"""The edge client's API: enrol (operator), decide and obfuscate (the local app), play a session
(operator)."""

from __future__ import annotations

import hmac
from collections import Counter
from typing import Annotated, Any
from uuid import uuid4

import orjson
from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import HTTPBearer
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from clients.edge.auditor import Auditor
from clients.edge.metrics import EdgeMetrics
from clients.edge.sessions import Sessions
from clients.edge.settings import EdgeSettings
from leakrange import tracing
from leakrange.defences.chain import DefenceChain
from leakrange.devices.device import Device, check_upload
from leakrange.devices.enrolment import Enrolment, Enrolments
from leakrange.devices.obfuscators import Obfuscators
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.session import Session, SessionReply
from leakrange.service.app import bearer, check_operator
from leakrange.wire.codecs import sample_steps
from leakrange.wire.errors import BudgetExhausted, Forbidden, InvalidInput, UnknownModel
from leakrange.wire.openapi import BINARY, sample_body
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import Decisions, Releases
from leakrange.wire.tensors import JSON, NPY, encode_npy, negotiate
from leakrange.wire.turns import in_turns

__all__ = ["EnrolmentReply", "EnrolmentRequest", "edge_routes"]

ModelName = Annotated[str, Field(max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class EnrolmentRequest(BaseModel):
    """The provider and model that the local app is to use, and the defences that run on this device.

    ``release`` is the kind of release that is uploaded; None: the model's default. ``obfuscators`` has the
    SHA-256 of the file of each trained obfuscator that ``defence`` names, by its digest; the device fetches
    it from ``url``. ``budget`` is the number of samples that the local app may have obfuscated for its user
    (None: any number), those of earlier enrolments with the same key and model counted. With ``audit`` the
    device enrols only if the model passes; where it has a plan of its own, that one holds.
    """

    model_config = ConfigDict(extra="forbid")

    url: str
    api_key: SecretStr | None = None
    model: ModelName
    release: ReleaseKind | None = None
    defence: list[Any] = []
    obfuscators: dict[str, str] = {}
    budget: Annotated[int, Field(ge=0)] | None = None
    audit: AuditPlan | None = None


class EnrolmentReply(BaseModel):
    """The model that is on the device now."""

    model: str
    version: str
    sha256: str
    task: str
    classes: list[str]
    release: ReleaseKind
    defence: list[dict[str, Any]]
    bytes: int


class _App:
    """What the local app uses under one model name."""

    def __init__(
        self,
        request: EnrolmentRequest,
        enrolment: Enrolment,
        chain: DefenceChain,
        spent: Counter[tuple[str, str | None]],
    ) -> None:
        """``spent``: samples obfuscated by model and key, over all enrolments of this device."""
        self.url = request.url
        self.key = request.api_key.get_secret_value() if request.api_key else None
        self.enrolment = enrolment
        self.release = request.release or enrolment.card.default_release
        self.chain = chain
        self.budget = request.budget
        self._spent, self._account = spent, (request.model, self.key)
        check_upload(self.release, self.chain)

    @property
    def balance(self) -> dict[str, str]:
        """``RateLimit-*`` headers; nothing where there is no budget."""
        if self.budget is None:
            return {}
        remaining = max(0, self.budget - self._spent[self._account])
        return {"RateLimit-Limit": str(self.budget), "RateLimit-Remaining": str(remaining)}

    def spend(self, samples: int) -> None:
        """Count samples of the local app's user; raises `BudgetExhausted`."""
        spent = self._spent[self._account]
        if self.budget is not None and spent + samples > self.budget:
            remaining = max(0, self.budget - spent)
            raise BudgetExhausted(
                f"{samples} samples asked, {remaining} remain",
                headers=self.balance,
                asked=samples,
                remaining=remaining,
            )
        self._spent[self._account] += samples

    def refund(self, samples: int) -> None:
        """Count them no more: they were not obfuscated."""
        self._spent[self._account] -= samples

    def reply(self) -> EnrolmentReply:
        """The reply to the enrolment."""
        card = self.enrolment.card
        return EnrolmentReply(
            model=card.name,
            version=card.version,
            sha256=card.sha256,
            task=card.task,
            classes=card.classes,
            release=self.release,
            defence=self.chain.spec(),
            bytes=self.enrolment.size,
        )

    def check(self, request: Request, operator: SecretStr) -> None:
        """Raise `Forbidden` unless the request shows the key of the enrolment, or that of the operator where
        the enrolment has none."""
        given = bearer(request.headers.get("authorization"))
        if not hmac.compare_digest(given.encode(), (self.key or operator.get_secret_value()).encode()):
            raise Forbidden(
                "this device works for the user who is enrolled",
                hint="send the key that the enrolment was made with",
            )


def _enrolled(apps: dict[str, _App], model: str) -> _App:
    if model not in apps:
        raise UnknownModel(
            f"this device is not enrolled for {model[:128]!r}", hint="POST /v1/enrolments enrols it"
        )
    return apps[model]


async def _samples(request: Request, spec: SampleSpec, most: int) -> NDArray[Any]:
    """Those of the body (B, *shape)."""
    body = await request.body()
    read = sample_steps(request.headers.get("content-type"), body, spec=spec, most=most)
    return await in_turns(read, len(body))


def edge_routes(
    settings: EdgeSettings,
    enrolments: Enrolments,
    device: Device,
    obfuscators: Obfuscators,
    auditor: Auditor,
    sessions: Sessions,
    metrics: EdgeMetrics,
) -> APIRouter:
    """All routes of an edge client."""
    apps: dict[str, _App] = {}
    spent = Counter[tuple[str, str | None]]()

    async def check(request: Request) -> None:
        check_operator(request.headers.get("authorization"), settings.operator_key)

    bearer_scheme = Depends(HTTPBearer(auto_error=False))
    operator = [Depends(check), bearer_scheme]
    router = APIRouter(prefix="/v1", tags=["edge"])

    @router.post("/enrolments", dependencies=operator)
    async def enrol(request: EnrolmentRequest) -> EnrolmentReply:
        """Download a model, check, load and maybe audit it, and let the local app use it. A repetition
        changes nothing."""
        key = request.api_key.get_secret_value() if request.api_key else None
        enrolment = await enrolments.current(request.url, key, request.model)
        await auditor.check(enrolment, request.audit)
        chain = DefenceChain.parse(request.defence, outputs_at="device")
        chain = await obfuscators.bound(chain, enrolments.client(request.url, key), request.obfuscators)
        app = apps[request.model] = _App(request, enrolment, chain, spent)
        metrics.enrolled.set(len(enrolments))
        return app.reply()

    @router.post(
        "/models/{model}/decisions",
        openapi_extra={"requestBody": sample_body()},
        dependencies=[bearer_scheme],
    )
    async def decide(model: str, request: Request) -> Decisions:
        """For the local app: run the model here, send its outputs, and return the provider's decisions.

        Needs the key of the enrolment, or the operator's where the enrolment has none.
        """
        app = _enrolled(apps, model)
        app.check(request, settings.operator_key)
        card = app.enrolment.card
        samples = await _samples(request, card.input, settings.max_batch)
        upload = uuid4().hex
        with tracing.outward("upload", model=model, samples=len(samples)):
            with tracing.span("on device"):
                values = await device.released(app.enrolment, app.release, samples, app.chain, upload)
            client = enrolments.client(app.url, app.key)
            decisions = await client.upload(model, app.release, values, idempotency_key=upload)
        metrics.uploaded(model, len(values), len(encode_npy(values)))
        return Decisions(model=model, version=card.version, decisions=decisions)

    @router.post(
        "/models/{model}/sample",
        openapi_extra={"requestBody": sample_body()},
        dependencies=[bearer_scheme],
        response_model=Releases,
        responses={200: {"content": {NPY: BINARY}}},
    )
    async def obfuscate(model: str, request: Request) -> Response:
        """For the local app: its user's samples as they would leave this device. Nothing is sent to anybody.

        Needs the key of the enrolment, as decisions do, and uses its budget.
        """
        app = _enrolled(apps, model)
        app.check(request, settings.operator_key)
        wanted = negotiate(request.headers.get("accept"))
        if not app.chain.inputs:
            raise InvalidInput(
                f"this device changes no samples for {model!r}",
                hint="enrol with an input defence, e.g. [{'gaussian-input': 0.5}]",
            )
        card = app.enrolment.card
        samples = await _samples(request, card.input, settings.max_batch)
        app.spend(len(samples))
        try:
            chain = DefenceChain(inputs=app.chain.inputs)
            values = await device.released(app.enrolment, "sample", samples, chain, uuid4().hex)
        except BaseException:
            app.refund(len(samples))
            raise
        if wanted == NPY:
            return Response(encode_npy(values), media_type=NPY, headers=app.balance)
        told = {"model": model, "version": card.version, "release": "sample", "values": values}
        content = orjson.dumps(told, option=orjson.OPT_SERIALIZE_NUMPY)
        return Response(content, media_type=JSON, headers=app.balance)

    @router.post("/sessions", dependencies=operator)
    async def play(order: Session) -> SessionReply:
        """Let the simulated users of a span use the app once. The reply holds their true labels."""
        reply = await sessions.play(order)
        metrics.enrolled.set(len(enrolments))
        return reply

    return router
