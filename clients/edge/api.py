"""The edge client's API: enrol (operator), decide and obfuscate (the local app), play a session
(operator)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any
from uuid import uuid4

import orjson
from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import HTTPBearer
from numpy.typing import NDArray
from pydantic import BaseModel, Field, SecretStr

from leakrange import tracing
from leakrange.clients.edge.auditor import Auditor
from leakrange.clients.edge.metrics import EdgeMetrics
from leakrange.clients.edge.sessions import Sessions
from leakrange.clients.edge.settings import EdgeSettings
from leakrange.defences.chain import DefenceChain
from leakrange.devices.device import Device, check_upload
from leakrange.devices.enrolment import Enrolment, Enrolments
from leakrange.devices.obfuscators import Obfuscators
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.steps.stream import Session, SessionReply
from leakrange.service.app import bearer, check_operator
from leakrange.strict import Strict, example
from leakrange.wire.codecs import sample_steps
from leakrange.wire.errors import BudgetExhausted, Forbidden, InvalidInput, UnknownModel
from leakrange.wire.keys import is_key
from leakrange.wire.openapi import BINARY, sample_body
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import Decisions, Releases
from leakrange.wire.tensors import JSON, NPY, encode_npy, negotiate
from leakrange.wire.turns import in_turns

__all__ = ["EnrolmentReply", "EnrolmentRequest", "edge_routes"]

ModelName = Annotated[str, Field(max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class EnrolmentRequest(Strict):
    """The provider and model that the local app is to use, and the defences that run on this device.

    ``release`` is the kind of release that is uploaded; None: the model's default. ``obfuscators`` has the
    SHA-256 of the file of each trained obfuscator that ``defence`` names, by its digest; the device fetches
    it from ``url``. ``budget`` is the number of samples that the local app may have obfuscated for its user
    (None: any number), with those of earlier enrolments with the same key and model. With ``audit`` the
    device enrols only if the model passes; a plan of the device's own takes precedence.
    """

    model_config = example(
        {
            "url": "http://127.0.0.1:8701",
            "api_key": "the key that the operator gave you",
            "model": "digits",
            "defence": [{"round": {"decimals": 1}}],
        }
    )
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
    """The resources of the local app under one model name."""

    def __init__(
        self,
        request: EnrolmentRequest,
        enrolment: Enrolment,
        chain: DefenceChain,
        spent: Counter[tuple[str, str | None]],
    ) -> None:
        """Keep the resources; ``spent``: samples obfuscated by model and key, over all enrolments of this
        device."""
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
        """The ``RateLimit-*`` headers; none where there is no budget."""
        if self.budget is None:
            return {}
        remaining = max(0, self.budget - self._spent[self._account])
        return {"RateLimit-Limit": str(self.budget), "RateLimit-Remaining": str(remaining)}

    def spend(self, samples: int) -> None:
        """Count samples of the local app's user. Raises `BudgetExhausted`."""
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
        """Undo the count of samples that were not obfuscated."""
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

    def answer(self, samples: NDArray[Any], media: str) -> Response:
        """Obfuscated samples for the local app."""
        if media == NPY:
            return Response(encode_npy(samples), media_type=NPY, headers=self.balance)
        card = self.enrolment.card
        release = {"model": card.name, "version": card.version, "release": "sample", "values": samples}
        content = orjson.dumps(release, option=orjson.OPT_SERIALIZE_NUMPY)
        return Response(content, media_type=JSON, headers=self.balance)

    def check(self, request: Request, operator: SecretStr) -> None:
        """Raise `Forbidden` unless the request shows the key of the enrolment, or that of the operator where
        the enrolment has none."""
        token = bearer(request.headers.get("authorization"))
        valid = is_key(token, self.key or operator.get_secret_value())
        if not valid:
            raise Forbidden(
                "this device works for the user who is enrolled",
                hint="send the key that the enrolment was made with",
            )


def _enrolled(apps: Mapping[str, _App], model: str, request: Request, operator: SecretStr) -> _App:
    """The app of that model. Raises `UnknownModel`, and `Forbidden` as `_App.check` does."""
    if model not in apps:
        raise UnknownModel(
            f"this device is not enrolled for {model[:128]!r}", hint="enrol the device for that model first"
        )
    apps[model].check(request, operator)
    return apps[model]


async def _samples(request: Request, spec: SampleSpec, most: int) -> NDArray[Any]:
    """The samples of the body (B, *shape)."""
    body = await request.body()
    steps = sample_steps(request.headers.get("content-type"), body, spec=spec, most=most)
    return await in_turns(steps, len(body))


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

    router = APIRouter(prefix="/v1", tags=["edge"], dependencies=[Depends(HTTPBearer(auto_error=False))])
    operator = [Depends(check)]

    @router.post("/enrolments", dependencies=operator)
    async def enrol(request: EnrolmentRequest) -> EnrolmentReply:
        """Download a model, check it, load it and maybe audit it, and let the local app use it. A repetition
        changes nothing."""
        key = request.api_key.get_secret_value() if request.api_key else None
        enrolment = await enrolments.current(request.url, key, request.model)
        await auditor.check(enrolment, request.audit)
        chain = DefenceChain.parse(request.defence, outputs_at="device")
        chain = await obfuscators.bound(chain, enrolments.client(request.url, key), request.obfuscators)
        app = apps[request.model] = _App(request, enrolment, chain, spent)
        metrics.enrolled.set(len(enrolments))
        return app.reply()

    @router.post("/sessions", dependencies=operator, response_model_exclude_none=True)
    async def play(order: Session) -> SessionReply:
        """Let the simulated users of a span use the app once. The reply holds their true labels."""
        reply = await sessions.play(order)
        metrics.enrolled.set(len(enrolments))
        return reply

    router.include_router(_local_app(settings, enrolments, device, metrics, apps))
    return router


def _local_app(
    settings: EdgeSettings,
    enrolments: Enrolments,
    device: Device,
    metrics: EdgeMetrics,
    apps: Mapping[str, _App],
) -> APIRouter:
    """What the local app asks this device for."""
    router = APIRouter(prefix="/models/{model}")

    @router.post("/decisions", openapi_extra={"requestBody": sample_body()})
    async def decide(model: str, request: Request) -> Decisions:
        """For the local app: run the model here, send its outputs, and return the provider's decisions.

        Needs the key of the enrolment, or the operator's where the enrolment has none.
        """
        app = _enrolled(apps, model, request, settings.operator_key)
        samples = await _samples(request, app.enrolment.card.input, settings.max_batch)
        upload = uuid4().hex
        with tracing.outward("upload", model=model, samples=len(samples)):
            with tracing.span("on device"):
                values = await device.released(app.enrolment, app.release, samples, app.chain, upload)
            client = enrolments.client(app.url, app.key)
            decisions = await client.upload(model, app.release, values, idempotency_key=upload)
        metrics.uploaded(model, len(values), len(encode_npy(values)))
        return Decisions(model=model, version=app.enrolment.card.version, decisions=decisions)

    @router.post(
        "/sample",
        openapi_extra={"requestBody": sample_body()},
        response_model=Releases,
        responses={200: {"content": {NPY: BINARY}}},
    )
    async def obfuscate(model: str, request: Request) -> Response:
        """For the local app: its user's samples as they would leave this device. Nothing is sent to anybody.

        Needs the key of the enrolment, as decisions do, and uses its budget.
        """
        app = _enrolled(apps, model, request, settings.operator_key)
        accepted = negotiate(request.headers.get("accept"))
        if not app.chain.inputs:
            raise InvalidInput(
                f"this device changes no samples for {model!r}",
                hint="enrol with an input defence, e.g. [{'gaussian-input': 0.5}]",
            )
        samples = await _samples(request, app.enrolment.card.input, settings.max_batch)
        app.spend(len(samples))
        try:
            chain = DefenceChain(inputs=app.chain.inputs)
            values = await device.released(app.enrolment, "sample", samples, chain, uuid4().hex)
        except BaseException:
            app.refund(len(samples))
            raise
        return app.answer(values, accepted)

    return router
