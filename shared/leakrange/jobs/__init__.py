"""Recipes and jobs: what the fleet is asked to do, and the identities of the results."""
