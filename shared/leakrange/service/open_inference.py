"""The Open Inference Protocol before models: clients of a serving system change one address.

Only what cannot undo a defence is served: liveness, metadata, and inference of the one release that a model's
card declares. Everything else under ``/v2`` is refused, whatever a serving system can do there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import Any

from fastapi import APIRouter

from leakrange.service.exchange import CompleteAnswer, MethodNotAllowed, Request
from leakrange.wire.endpoints import RELEASES, endpoint_of
from leakrange.wire.errors import NotFound
from leakrange.wire.names import is_name
from leakrange.wire.open_inference import model_metadata, server_metadata
from leakrange.wire.openapi import INFER, MODEL
from leakrange.wire.schemas import ModelCard

__all__ = ["OpenInference", "documented_inference"]


class OpenInference(ABC):
    """Answers everything under ``/v2``; a server says where its models are and who answers for them."""

    @abstractmethod
    async def ready(self) -> None:
        """Raise an error if the server cannot answer now."""

    @abstractmethod
    async def card(self, request: Request, model: str) -> ModelCard:
        """The card of a model, as whoever asks may see it. Raises `NotFound`, or what an API key lacks."""

    @abstractmethod
    async def infer(self, request: Request, card: ModelCard, endpoint: str) -> CompleteAnswer:
        """The answer to a request for the release of that endpoint."""

    def handler(self, request: Request) -> tuple[str, Awaitable[CompleteAnswer]]:
        """The endpoint of a request, for metrics, and its answer. Raises `NotFound`, `MethodNotAllowed`."""
        parts = request.path.rstrip("/").split("/")[2:]
        if parts in ([], ["health", "live"], ["health", "ready"]):
            _allow(request, "GET")
            return "/".join(["v2", *parts]), self._health(parts)
        if len(parts) < 2 or parts[0] != "models" or not is_name(parts[1]):
            raise _refusal(request.path)
        model, version, rest = parts[1], None, parts[2:]
        if len(rest) >= 2 and rest[0] == "versions":
            version, rest = rest[1], rest[2:]
        if rest == ["infer"]:
            _allow(request, "POST")
            return "v2/infer", self._infer(request, model, version)
        if rest in ([], ["ready"]):
            _allow(request, "GET")
            return "v2/model", self._model(request, model, version, ready=bool(rest))
        raise _refusal(request.path)

    async def _health(self, parts: list[str]) -> CompleteAnswer:
        if not parts:
            return CompleteAnswer.json(server_metadata())
        if parts[1] == "ready":
            await self.ready()
        return CompleteAnswer.json({parts[1]: True})

    async def _model(
        self, request: Request, model: str, version: str | None, *, ready: bool
    ) -> CompleteAnswer:
        card, endpoint = await self._served(request, model, version)
        return CompleteAnswer.json({"ready": True} if ready else model_metadata(card, endpoint))

    async def _infer(self, request: Request, model: str, version: str | None) -> CompleteAnswer:
        return await self.infer(request, *await self._served(request, model, version))

    async def _served(self, request: Request, model: str, version: str | None) -> tuple[ModelCard, str]:
        """The card, and the endpoint of the release that it declares."""
        card = await self.card(request, model)
        if version not in (None, card.version):
            raise NotFound(f"the model {model!r} is served in the version {card.version!r} alone")
        endpoint = endpoint_of(card.service, card.default_release)
        if RELEASES[endpoint] == "score":
            raise NotFound(
                f"the model {model!r} compares pairs, which this protocol has no input for",
                hint=f"the native API answers for it, at its endpoint {endpoint!r}",
            )
        return card, endpoint


def documented_inference() -> APIRouter:
    """The protocol's routes for the OpenAPI document; `OpenInference` answers before the framework."""
    router = APIRouter(prefix="/v2", tags=["Open Inference Protocol"])

    async def answered_before() -> None:
        raise NotImplementedError("`OpenInference` answers before the framework")

    def add(path: str, summary: str, model: Any, *, body: Any = None, named: bool = True) -> None:
        extra = {"parameters": [MODEL] if named else []} | ({} if body is None else {"requestBody": body})
        router.add_api_route(
            path,
            answered_before,
            methods=["GET" if body is None else "POST"],
            summary=summary,
            name=summary,
            response_model=model,
            openapi_extra=extra,
        )

    add("", "The server", dict[str, Any], named=False)
    add("/health/live", "Whether the process lives", dict[str, bool], named=False)
    add("/health/ready", "Whether the server can answer", dict[str, bool], named=False)
    add("/models/{model}", "The input and the output of a model", dict[str, Any])
    add("/models/{model}/ready", "Whether a model can answer", dict[str, bool])
    add("/models/{model}/infer", "The release that a model declares", dict[str, Any], body=INFER)
    return router


def _allow(request: Request, method: str) -> None:
    if request.method != method:
        raise MethodNotAllowed(request.method, method)


def _refusal(path: str) -> NotFound:
    return NotFound(
        f"{path[:200]!r} is not served",
        hint="/v2/health/live, /v2/health/ready, /v2/models/{model}, its /ready, and its /infer are",
    )
