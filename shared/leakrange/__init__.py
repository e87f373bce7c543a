"""A privacy range for machine learning as a service: the library, with all science and all contracts."""

__version__ = "0.1.0"
