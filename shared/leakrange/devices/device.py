"""Runs models and local defences on the device, which turn samples into releases."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from leakrange.defences.chain import DefenceChain
from leakrange.defences.output import ReleaseContext
from leakrange.devices.enrolment import Enrolment
from leakrange.nets.classifier import Classifier
from leakrange.providers.inference import outputs
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import UPLOADED
from leakrange.wire.errors import InvalidInput
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.samples import SampleSpec

__all__ = ["Device", "check_upload"]

HARDENED = 16
"""Changed models kept in memory."""


class Device:
    """Runs models, one batch at a time, beside the event loop.

    ``secret``, which only the owner knows, and the upload's name seed local noise. So a repeated upload is
    identical, even after a restart, and the provider, which knows the name, cannot compute the noise.
    """

    def __init__(self, secret: SecretStr, *, batch: int) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="inference")
        self._secret = _keyed(secret.get_secret_value().encode(), b"leakrange edge noise")
        self._batch = batch
        self._hardened: OrderedDict[tuple[str, str], Classifier] = OrderedDict()

    async def released(
        self,
        enrolment: Enrolment,
        release: ReleaseKind,
        samples: NDArray[Any],
        chain: DefenceChain,
        upload: str,
    ) -> NDArray[np.float32]:
        """Return the release of samples (B, *shape): their outputs, or the samples themselves in their own
        units, float32 (B, ...).

        A chain with trained defences is bound to them (`leakrange.devices.obfuscators`). Raises
        `InvalidInput` if the release is not uploaded, or the defence cannot take it.
        """
        check_upload(release, chain)

        def run() -> NDArray[np.float32]:
            seed = _keyed(self._secret, b"draw\0" + upload.encode())
            draw = np.random.default_rng(int.from_bytes(seed, "little"))
            shown = chain.obfuscate(samples, enrolment.config.input, draw)
            if release == "sample":
                values = shown.astype(np.float32)
            else:
                values = outputs(self._model(enrolment, chain), shown, release, batch=self._batch)
            if not chain.outputs.stages:
                return values
            context = ReleaseContext(
                release=release,
                heads=enrolment.card.heads or (),
                draw=draw,
                sticky_key=_keyed(self._secret, b"sticky"),
                digests=_digests(enrolment, chain, release, samples) if chain.outputs.needs_digests else None,
            )
            return chain.outputs.apply(values, context)

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    async def obfuscated(
        self, spec: SampleSpec, samples: NDArray[Any], chain: DefenceChain, upload: str
    ) -> NDArray[Any]:
        """What the input defences of a chain make of samples (B, *shape) of ``spec``, for a model that is
        asked elsewhere. Raises `InvalidInput` for a chain that changes the model or its outputs."""
        if chain.model or chain.outputs.stages or chain.representation:
            raise InvalidInput("whoever serves the model runs it: a device can change samples alone")

        def run() -> NDArray[Any]:
            seed = _keyed(self._secret, b"draw\0" + upload.encode())
            return chain.obfuscate(samples, spec, np.random.default_rng(int.from_bytes(seed, "little")))

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    @property
    def sticky_key(self) -> bytes:
        """The secret of input defences that draw by a keyed hash of the sample."""
        return _keyed(self._secret, b"sticky sample")

    def _model(self, enrolment: Enrolment, chain: DefenceChain) -> Classifier:
        """Return the downloaded model, changed by the chain. Called by the inference thread alone."""
        if not chain.model:
            return chain.harden(enrolment.classifier)
        name = (enrolment.card.sha256, digest(chain.model_spec()))
        if name not in self._hardened:
            self._hardened[name] = chain.harden(enrolment.classifier)
        self._hardened.move_to_end(name)
        while len(self._hardened) > HARDENED:
            self._hardened.popitem(last=False)
        return self._hardened[name]

    def close(self) -> None:
        """Wait for the work in progress."""
        self._thread.shutdown()


def check_upload(release: ReleaseKind, chain: DefenceChain) -> None:
    """Raise `InvalidInput` if the release is not uploaded, or the defence cannot take it."""
    if release not in UPLOADED:
        raise InvalidInput(f"an edge client uploads {' or '.join(UPLOADED)}, not {release!r}")
    if reason := chain.refuse(release):
        raise InvalidInput(reason)


def _keyed(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()


def _digests(
    enrolment: Enrolment, chain: DefenceChain, release: str, samples: NDArray[Any]
) -> Sequence[bytes]:
    """Return one digest per sample, of the model as it is run, the release and the sample's values: the same
    for the same query at any time."""
    model = enrolment.card.sha256 + (digest(chain.model_spec()) if chain.changes_model else "")
    query = f"{model}\0{release}\0{samples.shape[1:]}\0".encode()
    return [hashlib.sha256(query + sample.tobytes()).digest() for sample in samples]
