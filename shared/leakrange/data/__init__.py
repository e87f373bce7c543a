"""Data sets: a registry with named attributes, splits that keep near-copies together, and fingerprints.

``load(DataSpec(name="digits"))`` gives an `ImageSet`; ``datasets`` lists them and loads nothing.
"""

from leakrange.data.catalogue import Content, DataSet, datasets
from leakrange.data.imageset import POOL, SPLITS, Attribute, ImageSet
from leakrange.data.loading import fingerprint, load

__all__ = ["POOL", "SPLITS", "Attribute", "Content", "DataSet", "ImageSet", "datasets", "fingerprint", "load"]
