"""The admin API of limits beside keys' budgets."""

from __future__ import annotations

from fastapi import APIRouter

from leakrange.wire.errors import NotFound
from leakrange.wire.limits import LimitBody, LimitKind, LimitList, LimitUse, NamedLimit
from leakrange.wire.schemas import Name
from services.proxy.admin_parts import LimitTable
from services.proxy.limits import limit_kinds, read_limit

router = APIRouter(prefix="/limits")


@router.get("")
async def list_limits(store: LimitTable) -> LimitList:
    """All limits, and the kinds that there are with their parameters."""
    named = [
        NamedLimit.model_validate({"name": name, **one.spec()}) for name, one in (await store.all()).items()
    ]
    return LimitList(limits=named, kinds=[_kind(name) for name in limit_kinds])


@router.get("/{name}")
async def get_limit(name: Name, store: LimitTable) -> LimitUse:
    """One limit, and what is counted under it."""
    limit = (await store.all()).get(name)
    if limit is None:
        raise NotFound(f"there is no limit {name!r}")
    return LimitUse.model_validate({"name": name, **limit.spec(), "used": await store.used(name)})


@router.put("/{name}")
async def put_limit(name: Name, body: LimitBody, store: LimitTable) -> NamedLimit:
    """Create or change a limit. All mistakes are told at once. What is counted under it stays, unless its
    kind changes."""
    limit = read_limit(body.model_dump())
    await store.put(name, limit)
    return NamedLimit.model_validate({"name": name, **limit.spec()})


@router.delete("/{name}", status_code=204)
async def delete_limit(name: Name, store: LimitTable) -> None:
    """Delete a limit that no key names, and what is counted under it."""
    await store.delete(name)


def _kind(name: str) -> LimitKind:
    made = limit_kinds[name]
    schema = made.model_json_schema()
    return LimitKind(
        kind=name,
        summary=made.summary,
        parameters=schema.get("properties", {}),
        required=schema.get("required", []),
    )
