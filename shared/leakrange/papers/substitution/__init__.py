"""PASS: Private Attributes Protection with Stochastic Data Substitution (ICML 2025)."""
