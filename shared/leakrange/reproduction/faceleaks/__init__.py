"""FACELEAKS, reproduced over HTTP against student services of a real range."""
