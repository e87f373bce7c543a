"""Data sets: a registry with named attributes, splits that keep near-copies together, and fingerprints.

``load(DataSpec(name="digits"))`` gives `Samples`; `load_labels` gives the same without the values.
``datasets`` lists the sets without loading any.
"""

from leakrange.data.catalogue import Content, DataSet, Outline, datasets
from leakrange.data.loading import fingerprint, load, load_labels
from leakrange.data.samples import POOL, POPULATION, SPLITS, Attribute, Labelled, Names, Samples, names

__all__ = [
    "POOL",
    "POPULATION",
    "SPLITS",
    "Attribute",
    "Content",
    "DataSet",
    "Labelled",
    "Names",
    "Outline",
    "Samples",
    "datasets",
    "fingerprint",
    "load",
    "load_labels",
    "names",
]
