"""Data sets: a registry with named attributes, splits that keep near-copies together, and fingerprints.

``load(DataSpec(name="digits"))`` gives an `ImageSet`; `load_labels` all of it but the images;
``datasets`` lists them and loads nothing.
"""

from leakrange.data.catalogue import Content, DataSet, Outline, datasets
from leakrange.data.imageset import POOL, SPLITS, Attribute, ImageSet, Labelled
from leakrange.data.loading import fingerprint, load, load_labels

__all__ = [
    "POOL",
    "SPLITS",
    "Attribute",
    "Content",
    "DataSet",
    "ImageSet",
    "Labelled",
    "Outline",
    "datasets",
    "fingerprint",
    "load",
    "load_labels",
]
