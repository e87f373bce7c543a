"""Whether a record was trained on, read from the releases that a model gives for it.

One module per attack; `confidence` turns releases into what all of them look at, `membership` says what they
are given.
"""
