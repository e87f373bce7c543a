"""``/v1/try``: visitors release a sample of their own to the models of a run, and see what leaked."""
