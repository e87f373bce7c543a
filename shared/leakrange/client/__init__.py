"""A range from Python, for scripts and notebooks: start runs, follow them, read what they found.

Blocking and typed. Needs no more than Leakrange's own dependencies, and no torch::

    from leakrange.client import Range

    with Range.embedded() as here:
        begun = here.runs.start("scenarios/demo.yaml")
        for event in here.runs.follow(begun):
            print(event.message)
        rows = here.runs.table(begun)

Events have the schemas of `leakrange.wire.events`. A refusal of the range is raised as its error: see
`leakrange.wire.errors`.
"""

from leakrange.client.audits import AuditFailed
from leakrange.client.events import Event
from leakrange.client.model import Model
from leakrange.client.range import Range
from leakrange.client.runs import RunFailed

__all__ = ["AuditFailed", "Event", "Model", "Range", "RunFailed"]
