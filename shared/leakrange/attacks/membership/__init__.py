"""Membership inference for records, from a model's releases.

`membership` defines input and output, turns releases into confidences, which all attacks use, and has the
simplest attack; `shadows` has those with shadow models, `quantile` the one with a regression.
"""
