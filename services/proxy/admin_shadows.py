"""The admin API of shadow policies."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query

from leakrange.wire.administration import BindingBody, Endpoint, ShadowFigures, ShadowList
from leakrange.wire.schemas import Name
from services.proxy.admin_parts import Live, PolicyTable, ShadowTable
from services.proxy.configuration import SHADOWS
from services.proxy.shadows import Shadow
from services.proxy.snapshot import Binding

router = APIRouter(prefix="/shadows")


@router.get("")
async def list_shadows(live: Live, shadows: ShadowTable) -> ShadowList:
    """All shadows with their figures."""
    snapshot = await live.refresh()
    ordered = sorted(snapshot.shadows.items(), key=lambda item: [part or "" for part in item[0]])
    bound = [Shadow(each, policy, snapshot.policies[policy]) for each, policy in ordered]
    figures = await asyncio.gather(*(shadows.figures(each) for each in bound))
    return ShadowList(shadows=[_told(each, counted) for each, counted in zip(bound, figures, strict=True)])


@router.put("")
async def put_shadow(body: BindingBody, store: PolicyTable) -> BindingBody:
    """Let a policy be computed and counted, and never sent, beside the one that holds: for a key, a model,
    one endpoint of a model, or (none of them) all. Each policy has figures of its own."""
    await store.put_binding(Binding(body.key, body.model, body.endpoint), body.policy, SHADOWS)
    return body


@router.delete("", status_code=204)
async def delete_shadow(
    store: PolicyTable,
    key: Annotated[Name | None, Query()] = None,
    model: Annotated[Name | None, Query()] = None,
    endpoint: Annotated[Endpoint | None, Query()] = None,
) -> None:
    """Delete the shadow of exactly these. Its figures go on where the same policy is bound there again."""
    await store.delete_binding(Binding(key, model, endpoint), SHADOWS)


def _told(shadow: Shadow, figures: dict[str, float]) -> ShadowFigures:
    counts = {name: round(value) for name, value in figures.items() if name not in ("distance", "seconds")}
    samples = counts["samples"]
    return ShadowFigures(
        **shadow.binding._asdict(),
        policy=shadow.policy,
        **counts,
        distance=figures["distance"] / samples if samples else None,
        cpu_seconds=figures["seconds"],
    )
