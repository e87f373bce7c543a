"""Runs: taken, told about, cancelled."""
