"""Data sets: a registry with named attributes, splits that keep near-copies together, and fingerprints.

``load(DataSpec(name="digits"))`` gives an `Samples`; `load_labels` all of it but the images;
``datasets`` lists them and loads nothing.
"""

from leakrange.data.catalogue import Content, DataSet, Outline, datasets
from leakrange.data.loading import fingerprint, load, load_labels
from leakrange.data.samples import POOL, SPLITS, Attribute, Labelled, Samples

__all__ = [
    "POOL",
    "SPLITS",
    "Attribute",
    "Content",
    "DataSet",
    "Labelled",
    "Outline",
    "Samples",
    "datasets",
    "fingerprint",
    "load",
    "load_labels",
]
