"""``/v1/data``, ``/v1/models``, ``/v1/attacks``, ``/v1/behaviours``, ``/v1/defences`` and the scenario
language's schema. What is looked up in registries is made in threads.
"""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response

from leakrange.attacks import attacks
from leakrange.data import datasets
from leakrange.defences.chain import STAGES
from leakrange.providers.behaviours import behaviours
from leakrange.scenario.schema import scenario_schema
from leakrange.store.engine import Database
from leakrange.store.models import Models
from leakrange.store.tables import ModelRow
from leakrange.wire.catalogue import DataEntry, Entry, ModelEntry

router = APIRouter(prefix="/v1", tags=["catalogue"])


@router.get("/data")
def data() -> dict[str, list[DataEntry]]:
    """Data sets that scenarios can name."""
    return {
        "data": [
            DataEntry(
                name=name,
                description=entry.description,
                sample=entry.spec,
                attributes={key: list(value.classes)[:64] for key, value in entry.attributes.items()},
                source=entry.source,
                unavailable=entry.available(),
            )
            for name, entry in datasets.items()
        ]
    }


@router.get("/attacks")
def list_attacks() -> dict[str, list[Entry]]:
    """Attacks, each with the paper and equation that it implements."""
    return {"attacks": [_entry(name, entry) for name, entry in attacks.items()]}


@router.get("/behaviours")
def list_behaviours() -> dict[str, list[Entry]]:
    """Behaviours that a provider can be given."""
    return {"behaviours": [_entry(name, entry) for name, entry in behaviours.items()]}


@router.get("/defences")
def list_defences() -> dict[str, list[Entry]]:
    """The links of a chain, stage by stage in their order."""
    stages = STAGES.values()
    return {"defences": [_entry(name, entry) for stage in stages for name, entry in stage.items()]}


@router.get("/models")
async def models(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> dict[str, list[ModelEntry]]:
    """Trained models, newest first."""
    database: Database = request.app.state.database
    async with database.read() as session:
        rows = await Models(session).page(limit=limit, offset=offset)
    return {"models": [_model(row) for row in rows]}


@router.get("/scenario/schema", response_model=dict[str, Any])
def schema() -> Response:
    """The JSON schema of scenarios, for editors."""
    return Response(orjson.dumps(scenario_schema()), media_type="application/json")


def _entry(name: str, entry: Any) -> Entry:
    return Entry(
        name=name,
        summary=entry.summary,
        paper=getattr(entry, "paper", ""),
        equation=getattr(entry, "equation", ""),
        parameters=entry.Parameters.model_json_schema(),
    )


def _model(row: ModelRow) -> ModelEntry:
    return ModelEntry(
        digest=row.digest,
        data=row.data,
        behaviour=row.behaviour,
        seed=row.seed,
        recipe=row.recipe,
        figures=row.figures,
        created=row.created.isoformat(),
    )
