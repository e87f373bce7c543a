"""The admin API of limits beside keys' budgets."""

from __future__ import annotations

from fastapi import APIRouter

from leakrange.services.proxy.admin_parts import LimitTable
from leakrange.services.proxy.limits import limit_kinds, read_limit
from leakrange.wire.administration import LimitBody, LimitKind, LimitList, LimitUse, NamedLimit
from leakrange.wire.errors import NotFound
from leakrange.wire.schemas import Name

router = APIRouter(prefix="/limits")


@router.get("")
async def list_limits(store: LimitTable) -> LimitList:
    """All limits, and all kinds of limits with their parameters."""
    named = [
        NamedLimit.model_validate({"name": name, **limit.spec()})
        for name, limit in (await store.all()).items()
    ]
    return LimitList(limits=named, kinds=[_kind(name) for name in limit_kinds])


@router.get("/{name}")
async def get_limit(name: Name, store: LimitTable) -> LimitUse:
    """One limit, and the counts under it."""
    limit = (await store.all()).get(name)
    if limit is None:
        raise NotFound(f"there is no limit {name!r}")
    used = await store.used(name)
    return LimitUse.model_validate({"name": name, **limit.spec(), "used": used, "spent": limit.spent(used)})


@router.put("/{name}")
async def put_limit(name: Name, body: LimitBody, store: LimitTable) -> NamedLimit:
    """Create or change a limit. All mistakes are reported at once. The counts under it stay, unless its kind
    changes."""
    limit = read_limit(body.model_dump())
    await store.put(name, limit)
    return NamedLimit.model_validate({"name": name, **limit.spec()})


@router.delete("/{name}", status_code=204)
async def delete_limit(name: Name, store: LimitTable) -> None:
    """Delete a limit that no key names, with the counts under it."""
    await store.delete(name)


def _kind(name: str) -> LimitKind:
    kind = limit_kinds[name]
    schema = kind.model_json_schema()
    return LimitKind(
        kind=name,
        summary=kind.summary,
        parameters=schema.get("properties", {}),
        required=schema.get("required", []),
    )
