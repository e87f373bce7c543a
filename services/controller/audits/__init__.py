"""Audits over HTTP: start, list, look at the verdict."""
