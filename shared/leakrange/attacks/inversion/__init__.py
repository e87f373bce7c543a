"""Attacks that draw the people whom a model knows, from its answers about drawn pictures of nobody."""
