"""One run for each fault of an embedded range: what was done, and what happened."""
