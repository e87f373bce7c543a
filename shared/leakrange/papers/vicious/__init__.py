"""Vicious Classifiers (BMVC 2024 workshop)."""
