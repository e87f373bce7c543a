"""One run for each fault of an embedded range, with a line about the fault and its consequence."""
