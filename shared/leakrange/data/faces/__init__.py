"""Cartoon faces drawn from signed distances, many at a time.

Only operations that IEEE 754 rounds exactly are used (+, −, ×, ÷, square root, comparisons; no sine, no
exponential, no matrix product, no sum over pixels), and only the raw stream of NumPy's generator: the same
seed gives the same bytes on every machine.
"""
