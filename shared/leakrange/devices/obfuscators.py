"""Fetches the trained stages of this device's defences, checks their hashes, and keeps them."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace

import structlog

from leakrange.defences.chain import DefenceChain
from leakrange.wire.client import NativeClient
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidArtifact, InvalidInput

__all__ = ["Obfuscators"]

log = structlog.get_logger("leakrange.devices.obfuscators")


class Obfuscators:
    """The trained stages on this device, at most ``most`` of them, whose files have at most
    ``most_bytes`` together; beyond that the least recently used is dropped, but never the one in use.
    ``key`` is the device's own secret, for those that draw by a keyed hash."""

    def __init__(self, key: bytes, *, most: int, most_bytes: int) -> None:
        self._key, self._most, self._most_bytes = key, most, most_bytes
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = asyncio.Lock()

    async def bound(
        self, chain: DefenceChain, client: NativeClient, files: Mapping[str, str]
    ) -> DefenceChain:
        """Return the chain bound to its obfuscators, which come from ``client`` unless they are here;
        ``files`` has the SHA-256 of each one's file by its digest.

        Raises `InvalidArtifact` for a file of another SHA-256, or that is no obfuscator of the chain,
        `InvalidInput` if ``files`` lacks one, and the errors of the server. Nothing is kept then.
        """
        if not chain.artifacts:
            return chain
        if missing := [each[:12] for each in chain.artifacts if each not in files]:
            raise InvalidInput(
                f"the SHA-256 of the obfuscator {missing[0]} is not given",
                hint="name it among 'obfuscators', by the digest of the obfuscator",
            )
        name = digest([chain.input_spec(), chain.model_spec(), [files[each] for each in chain.artifacts]])
        async with self._lock:
            if name not in self._kept:
                content = {each: await _fetched(each, client, files[each]) for each in chain.artifacts}
                bound = await asyncio.to_thread(chain.bound, content.__getitem__, self._key)
                self._kept[name] = _Kept(bound, sum(map(len, content.values())))
            self._kept.move_to_end(name)
            self._drop()
            kept = self._kept[name].chain
            return replace(chain, inputs=kept.inputs, representation=kept.representation)

    def _drop(self) -> None:
        size = sum(each.size for each in self._kept.values())
        while len(self._kept) > 1 and (len(self._kept) > self._most or size > self._most_bytes):
            _, dropped = self._kept.popitem(last=False)
            size -= dropped.size


@dataclass(frozen=True)
class _Kept:
    chain: DefenceChain
    size: int
    """Of its files, in bytes."""


async def _fetched(artifact: str, client: NativeClient, sha256: str) -> bytes:
    content = await client.obfuscator(artifact)
    if (actual := hashlib.sha256(content).hexdigest()) != sha256:
        raise InvalidArtifact(
            f"the file of the obfuscator {artifact[:12]} is not the one that was trained: "
            f"SHA-256 {actual}, not {sha256}",
            hint="it was changed on its way; nothing of it was loaded",
        )
    log.info("obfuscator fetched", artifact=artifact, bytes=len(content))
    return content
