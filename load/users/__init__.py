"""Locust's users: one module for each kind that a scenario can name."""
