"""The file of Locust's users for a run under load: ``leakrange load`` starts it.

    LEAKRANGE_URL=http://127.0.0.1:8700 LEAKRANGE_OPERATOR_KEY=… \\
        python -m leakrange.load --leakrange-run RUN --headless

Workers (``--worker``) need the same two variables; the master passes the run on to them.
"""

from __future__ import annotations

from typing import Any

import gevent
from locust import events, runners
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import WorkerRunner

from leakrange.load.conductor import Conductor, ScenarioShape
from leakrange.load.users.attribute import AttributeAttacker
from leakrange.load.users.botnet import Botnet
from leakrange.load.users.honest import HonestClient
from leakrange.load.users.membership import MembershipAttacker
from leakrange.load.users.reconstruction import ReconstructionCollector
from leakrange.load.users.user import desk_of
from leakrange.load.users.verification import VerificationProber

__all__ = [
    "AttributeAttacker",
    "Botnet",
    "HonestClient",
    "MembershipAttacker",
    "ReconstructionCollector",
    "ScenarioShape",
    "VerificationProber",
]

runners.HEARTBEAT_LIVENESS = 60
"""Seconds for which a worker may be silent. With Locust's three, one that loads a model on a busy machine
counts as lost, and the load test ends with the last worker."""


@events.init_command_line_parser.add_listener  # type: ignore[untyped-decorator]
def options(parser: LocustArgumentParser) -> None:
    """Add the option for the run whose questions are asked."""
    parser.add_argument(
        "--leakrange-run", default="", include_in_web_ui=False, help="id of the run under load"
    )


@events.init.add_listener  # type: ignore[untyped-decorator]
def begin(environment: Environment, **_: Any) -> None:
    """Let the process that has all statistics conduct the load test."""
    if isinstance(environment.runner, WorkerRunner):
        return
    assert environment.parsed_options is not None
    conductor = Conductor(environment, desk_of(environment.parsed_options.leakrange_run))
    ScenarioShape.conductor = conductor
    gevent.spawn(conductor.watch)

    def ends(**_: Any) -> None:
        environment.process_exit_code = 0  # what failed is in the run's record, which decides

    def ended(**_: Any) -> None:
        conductor.report()  # now that all workers have reported

    environment.events.quitting.add_listener(ends)  # type: ignore[no-untyped-call]
    environment.events.quit.add_listener(ended)  # type: ignore[no-untyped-call]
