"""The kinds of steps of a run, one file each: the job of a worker, and the identity of its result."""
