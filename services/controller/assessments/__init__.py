"""Audits of endpoints over HTTP: planned, started, listed, and read in every form."""
