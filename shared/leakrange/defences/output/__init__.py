"""Output defences: transforms of releases, in NumPy only, so that the proxy and the edge client can run them.

A new defence is one file with one registered class; policies are chains of them (`Chain`).
"""

from leakrange.defences.output.base import (
    OutputDefence,
    Parameters,
    Release,
    ReleaseContext,
    Values,
    output_defences,
)
from leakrange.defences.output.chain import Chain, InvalidChain

__all__ = [
    "Chain",
    "InvalidChain",
    "OutputDefence",
    "Parameters",
    "Release",
    "ReleaseContext",
    "Values",
    "output_defences",
]
