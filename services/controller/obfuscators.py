"""``/v1/obfuscators``: the files that devices need for trained defences, by the digests of their recipes."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from leakrange.providers.artifact_files import RECORD, read_files
from leakrange.services.controller.requests import Operator
from leakrange.store.folders import fetched
from leakrange.store.places import store_at
from leakrange.wire.errors import NotFound

router = APIRouter(prefix="/v1/obfuscators", tags=["obfuscators"])

Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]


@router.get("/{digest}", dependencies=[Operator], response_class=Response)
async def file(digest: Digest, request: Request) -> Response:
    """The safetensors file of a trained obfuscator, which may hold samples of real people: the proxy asks for
    it, and passes it on to whose key may have it.

    404 where nothing of that digest is trained, 422 where its files are damaged or of a provider's model.
    """

    def read() -> bytes | None:
        folder = fetched(store_at(request.app.state.settings.models_dir), digest)
        return read_files(folder, "defence").main if (folder / RECORD).is_file() else None

    content = await asyncio.to_thread(read)
    if content is None:
        raise NotFound(f"no obfuscator {digest[:12]} is trained here")
    return Response(content, media_type="application/octet-stream")
