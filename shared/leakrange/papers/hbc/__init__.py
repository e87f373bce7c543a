"""Honest-but-Curious Nets (CCS 2021)."""
