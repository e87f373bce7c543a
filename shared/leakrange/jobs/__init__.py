"""Recipes and jobs: the work of the fleet, and the identities of its results."""
