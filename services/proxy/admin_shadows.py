"""The admin API of shadow policies."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query

from leakrange.services.proxy.admin_parts import Live, PolicyTable, ShadowTable
from leakrange.services.proxy.shadows import ShadowPolicy
from leakrange.services.proxy.snapshot import Binding
from leakrange.wire.administration import BindingBody, Endpoint, ShadowFigures, ShadowList
from leakrange.wire.schemas import Name

router = APIRouter(prefix="/shadows")


@router.get("")
async def list_shadows(live: Live, shadows: ShadowTable) -> ShadowList:
    """All shadows with their figures."""
    snapshot = await live.refresh()
    ordered = sorted(snapshot.shadows.items(), key=lambda item: [part or "" for part in item[0]])
    bound = [ShadowPolicy(each, policy, snapshot.policies[policy]) for each, policy in ordered]
    figures = await asyncio.gather(*(shadows.figures(each) for each in bound))
    return ShadowList(shadows=[_figures(each, counted) for each, counted in zip(bound, figures, strict=True)])


@router.put("")
async def put_shadow(body: BindingBody, store: PolicyTable) -> BindingBody:
    """Bind a policy as a shadow of the one that holds: it is computed and counted, and never sent. It is for
    a key, a model, one endpoint of a model, or (none of them) for all. Each policy has figures of its own."""
    await store.put_binding(Binding(body.key, body.model, body.endpoint), body.policy, shadow=True)
    return body


@router.delete("", status_code=204)
async def delete_shadow(
    store: PolicyTable,
    key: Annotated[Name | None, Query()] = None,
    model: Annotated[Name | None, Query()] = None,
    endpoint: Annotated[Endpoint | None, Query()] = None,
) -> None:
    """Delete the shadow of exactly these. Its figures continue where the same policy is bound there again."""
    await store.delete_binding(Binding(key, model, endpoint), shadow=True)


def _figures(shadow: ShadowPolicy, figures: dict[str, float]) -> ShadowFigures:
    counts = {name: round(value) for name, value in figures.items() if name not in ("distance", "seconds")}
    samples = counts["samples"]
    return ShadowFigures(
        **shadow.binding._asdict(),
        policy=shadow.policy,
        **counts,
        distance=figures["distance"] / samples if samples else None,
        cpu_seconds=figures["seconds"],
    )
