"""The parts of the application that endpoints of the admin API use, as dependencies by name."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from leakrange.services.proxy.accounts import AccountStore
from leakrange.services.proxy.acts import ActStore
from leakrange.services.proxy.configuration import Configuration
from leakrange.services.proxy.limit_store import LimitStore
from leakrange.services.proxy.policies import PolicyStore
from leakrange.services.proxy.shadows import Shadows
from leakrange.services.proxy.targets import Targets

__all__ = ["ActTable", "KeyTable", "LimitTable", "Live", "PolicyTable", "ShadowTable", "TargetTable"]


def _acts(request: Request) -> ActStore:
    store: ActStore = request.app.state.acts
    return store


def _configuration(request: Request) -> Configuration:
    configuration: Configuration = request.app.state.configuration
    return configuration


def _policies(request: Request) -> PolicyStore:
    store: PolicyStore = request.app.state.policies
    return store


def _accounts(request: Request) -> AccountStore:
    store: AccountStore = request.app.state.accounts
    return store


def _limits(request: Request) -> LimitStore:
    store: LimitStore = request.app.state.limits
    return store


def _shadows(request: Request) -> Shadows:
    shadows: Shadows = request.app.state.shadows
    return shadows


def _targets(request: Request) -> Targets:
    targets: Targets = request.app.state.targets
    return targets


ActTable = Annotated[ActStore, Depends(_acts)]
Live = Annotated[Configuration, Depends(_configuration)]
PolicyTable = Annotated[PolicyStore, Depends(_policies)]
KeyTable = Annotated[AccountStore, Depends(_accounts)]
LimitTable = Annotated[LimitStore, Depends(_limits)]
ShadowTable = Annotated[Shadows, Depends(_shadows)]
TargetTable = Annotated[Targets, Depends(_targets)]
