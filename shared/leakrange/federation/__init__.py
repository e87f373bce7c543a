"""Learning across devices: the steps of a server and its devices in each round, whatever carries the
messages.

`leakrange.federation.rounds` is the server's part, `leakrange.federation.learner` the interface of a
device's. `leakrange.federation.in_process` runs both in one process.
"""
