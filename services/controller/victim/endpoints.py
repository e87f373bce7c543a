"""``/v1/try``: what visitors can try, and one try."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from leakrange.services.controller.requests import FORM, LONGEST, of_app
from leakrange.services.controller.victim.service import VictimService
from leakrange.wire.trying import Tried, Try, TryView

__all__ = ["VictimOf", "router"]

router = APIRouter(prefix="/v1/try", tags=["try"])

VictimOf = Annotated[VictimService, of_app("victim")]
Chosen = Annotated[str | None, Query(max_length=LONGEST, pattern=FORM)]


@router.get("")
async def view(service: VictimOf, run: Chosen = None) -> TryView:
    """What can be tried: the ready samples of a run (by default the newest with honest, curious and vicious
    providers), its defences, and how many samples are left today. ``run`` is null where nothing is trained
    that could be tried."""
    return await service.view(run)


@router.post("")
async def attempt(body: Try, service: VictimOf) -> Tried:
    """Release one sample to every provider under every defence of a run, as a user's device does, and tell
    what each of them made of it.

    The first try of a run deploys its models and fits its attackers, which takes some seconds; later ones
    take one or two. 404 where nothing of the kind is trained, 422 and 400 for what is no sample, 413 for a
    drawing that is too large, 429 where today's samples are spent.
    """
    return await service.tried(body)
