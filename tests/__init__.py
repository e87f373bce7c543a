"""Tests share the cores with each other and with the servers that they start: each process has one thread for
its arithmetic. Two threads wait for each other as soon as somebody else wants a core, and they wait busily: a
fit of an attack then takes twenty times as long.

It is said here, which is read before all that heeds it: NumPy, torch and scikit-learn when they are imported,
and the processes that tests start.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"
