"""Runs beside one another."""
