"""Reads that take long: a process beside the controller makes them.

The controller drives runs, and answers whether it lives, in one event loop. Drawing a chart or reading a
large run would hold that up, in a thread as well: the interpreter, and libraries that do not let go of it,
serve one thread at a time. So a route that takes long (`route.Expensive`) is answered by another process
(`process.ReadingProcess`), which has the same endpoints (`leakrange.services.controller.reads`), reads the
same database, and may use so much memory. The controller checks who asks.
"""
