"""Decoders by name: a provider that is not honest reads its users' releases with one. One file per registered
decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakrange.registry import Registry

if TYPE_CHECKING:
    from leakrange.providers.decoder import Decoder

__all__ = ["decoders"]

decoders: Registry[type[Decoder]] = Registry("decoder", "leakrange.providers.decoders")
