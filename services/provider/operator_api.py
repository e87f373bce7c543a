"""The operator's API of a provider: deployments and received uploads."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.security import HTTPBearer
from pydantic import BaseModel, SecretStr

from leakrange.service.app import check_operator
from leakrange.services.provider.intake import Intake
from leakrange.services.provider.models import LoadedModels
from leakrange.wire.errors import NotFound
from leakrange.wire.schemas import Deployment, IntakeRecord, ModelCard

ModelName = Annotated[str, Path(max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class IntakePage(BaseModel):
    """Records in order of arrival; ``after`` of the next page is the last one's ``upload``."""

    records: list[IntakeRecord]


def operator_routes(key: SecretStr, models: LoadedModels, intake: Intake) -> APIRouter:
    """The routes below ``/v1/operator/models``."""

    async def operator(request: Request) -> None:
        check_operator(request.headers.get("authorization"), key)

    router = APIRouter(
        prefix="/v1/operator/models",
        tags=["operator"],
        dependencies=[Depends(operator), Depends(HTTPBearer(auto_error=False))],
    )

    @router.put("/{model}")
    async def deploy(model: ModelName, deployment: Deployment) -> ModelCard:
        """Serve an artifact under this name, instead of the one that is served there now."""
        return await models.deploy(model, deployment)

    @router.delete("/{model}", status_code=204)
    async def withdraw(model: ModelName, of_runs: bool = False) -> Response:
        """Serve nothing under this name any more; with ``of_runs`` only if it was deployed for runs. What was
        taken in stays."""
        await models.withdraw(model, of_runs=of_runs)
        return Response(status_code=204)

    @router.get("/{model}/intake")
    async def page(
        model: ModelName,
        after: Annotated[str | None, Query(max_length=255)] = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> IntakePage:
        """The content of the uploads to this model, in order, and the results of decoding them."""
        return IntakePage(records=await intake.page(model, after, limit))

    @router.get("/{model}/intake/{upload:path}")
    async def record(model: ModelName, upload: str) -> IntakeRecord:
        """The content of one upload, and the result of decoding it."""
        received = await intake.record(model, upload)
        if received is None:
            raise NotFound(f"no upload {upload[:255]!r} to model {model!r}")
        return received

    return router
