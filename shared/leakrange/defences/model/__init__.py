"""Model defences: what a device does to a model that it downloaded, before it runs it. One file per
registered defence; listing them needs no deep learning framework.
"""

from leakrange.defences.model.base import ModelDefence, model_defences

__all__ = ["ModelDefence", "model_defences"]
