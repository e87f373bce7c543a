"""What was trained for the input defences of this device: fetched, held against its hash, and kept."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

import structlog

from leakrange.defences.chain import DefenceChain
from leakrange.wire.client import NativeClient
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidArtifact, InvalidInput

__all__ = ["Obfuscators"]

log = structlog.get_logger("leakrange.devices.obfuscators")


class Obfuscators:
    """The trained input stages on this device, at most ``most`` of them; the least recently used is dropped.
    ``key`` is the device's own secret, for those that draw by a keyed hash."""

    def __init__(self, key: bytes, *, most: int) -> None:
        self._key, self._most = key, most
        self._kept: OrderedDict[str, DefenceChain] = OrderedDict()
        self._lock = asyncio.Lock()

    async def bound(
        self, chain: DefenceChain, client: NativeClient, files: Mapping[str, str]
    ) -> DefenceChain:
        """The chain as it can be applied. Its obfuscators come from ``client``, unless they are here;
        ``files`` has the SHA-256 of each one's file by its digest.

        Raises `InvalidArtifact` for a file of another SHA-256, or that is no obfuscator of the chain,
        `InvalidInput` where ``files`` lacks one, and the errors of the server. Nothing is kept then.
        """
        if not chain.artifacts:
            return chain
        if missing := [each[:12] for each in chain.artifacts if each not in files]:
            raise InvalidInput(
                f"the SHA-256 of the obfuscator {missing[0]} is not given",
                hint="name it among 'obfuscators', by the digest of the obfuscator",
            )
        name = digest([chain.input_spec(), [files[each] for each in chain.artifacts]])
        async with self._lock:
            if name not in self._kept:
                content = {each: await _fetched(each, client, files[each]) for each in chain.artifacts}
                self._kept[name] = await asyncio.to_thread(chain.bound, content.__getitem__, self._key)
            self._kept.move_to_end(name)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return replace(chain, inputs=self._kept[name].inputs)


async def _fetched(artifact: str, client: NativeClient, sha256: str) -> bytes:
    content = await client.obfuscator(artifact)
    if (found := hashlib.sha256(content).hexdigest()) != sha256:
        raise InvalidArtifact(
            f"the file of the obfuscator {artifact[:12]} is not the one that was trained: "
            f"SHA-256 {found}, not {sha256}",
            hint="it was changed on its way; nothing of it was loaded",
        )
    log.info("obfuscator fetched", artifact=artifact, bytes=len(content))
    return content
