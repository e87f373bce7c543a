"""Input defences: what a device does to its user's samples before anything else sees them. One file per
registered defence; listing them needs no deep learning framework.
"""

from leakrange.defences.input.base import InputDefence, input_defences

__all__ = ["InputDefence", "input_defences"]
