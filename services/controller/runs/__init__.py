"""Runs over HTTP: start, list, follow, cancel, results."""
