"""Leakrange: a privacy range for machine learning as a service. The library holds all science and all contracts."""

__version__ = "0.1.0"
