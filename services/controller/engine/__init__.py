"""Carries out the plans of runs, step by step."""
