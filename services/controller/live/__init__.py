"""The live picture of a run: a state that is folded from its events, and the words and figures made of it."""
