"""Benchmarks: each a module that runs by itself and prints a table with what it ran on."""
