"""Recipes and jobs: what is asked of the fleet, and what names its result."""
