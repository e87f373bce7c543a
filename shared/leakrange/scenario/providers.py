"""Checks of providers: behaviour and its parameters, data and its attributes, release, net."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from leakrange.data import Attribute, DataSet, datasets, names
from leakrange.data.crowd import CAST
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule
from leakrange.registry import unknown
from leakrange.scenario import registered
from leakrange.scenario.document import ClientSpec, ProviderSpec
from leakrange.scenario.draft import Draft
from leakrange.scenario.mistakes import Mistakes, Path
from leakrange.scenario.provider import Provider, parameters_of
from leakrange.wire.endpoints import ServiceSpec
from leakrange.wire.errors import InvalidInput
from leakrange.wire.releases import ReleaseKind

__all__ = ["check_data", "check_providers"]


def check_data(draft: Draft, mistakes: Mistakes) -> dict[str, type[DataSet]]:
    """The registered data set of each label; those that no data set has are mistakes.

    A set that cannot be loaded here is no mistake: the parties that load it may have its files.
    """
    found = {}
    for label, spec in draft.data.items():
        if spec is None:
            continue
        entry = datasets.get(spec.name)
        if entry is None:
            # Written short, as "data: name", the name stands where the specification would.
            path = (*draft.data_path(label), "name")
            said = unknown("data set", spec.name, datasets)
            mistakes.add(path, said, allowed=list(datasets), given=spec.name)
            continue
        if spec.count is not None and not entry.procedural():
            said = f"{spec.name!r} is given, so its number of samples cannot be chosen; 'limit' keeps fewer"
            mistakes.add((*draft.data_path(label), "count"), said, key=True)
        try:
            entry.sized(spec.size)
        except InvalidInput as error:
            mistakes.add((*draft.data_path(label), "size"), error.detail, key=True)
        if spec.crowd is not None and not set(entry.attributes) >= CAST:
            said = f"{spec.name!r} has no cast people to make a crowd of"
            cast = [name for name, each in datasets.items() if set(each.attributes) >= CAST]
            path = (*draft.data_path(label), "crowd")
            mistakes.add(path, f"{said}; {', '.join(cast)} have", key=True)
        if spec.validation + spec.auxiliary >= 1.0:
            said = "'validation' and 'auxiliary' together leave nothing to train on"
            mistakes.add(draft.data_path(label), said, key=True)
        found[label] = entry
    return found


def check_providers(draft: Draft, mistakes: Mistakes) -> dict[str, Provider]:
    """The providers that are sound."""
    entries = check_data(draft, mistakes)
    client = next(iter(draft.clients.values()), None)
    found: dict[str, Provider] = {}
    for name, spec in draft.providers.items():
        if spec is None:
            continue
        provider = _Check(draft, entries, client, name, spec, mistakes).provider()
        if provider is None:
            continue
        for other in found.values():
            if (other.recipe(0), other.release, other.service) == (
                provider.recipe(0),
                provider.release,
                provider.service,
            ):
                mistakes.add(("providers", name), f"the same as provider {other.name!r}", key=True)
        found[name] = provider
    return found


@dataclass
class _Check:
    """One provider."""

    draft: Draft
    entries: dict[str, type[DataSet]]
    client: ClientSpec | None
    name: str
    spec: ProviderSpec
    mistakes: Mistakes

    @property
    def path(self) -> Path:
        return ("providers", self.name)

    def provider(self) -> Provider | None:
        label = self._label()
        key = self._behaviour()
        net = self.spec.net or (self.draft.head.net if self.draft.head else None)
        if net is not None:  # else the head has mistakes of its own, and may well name a net that fits
            self._net(net, label)
        if key is None:
            return None
        behaviour = registered.behaviours()[key]
        release = self._release(key, behaviour)
        parameters = self._parameters(behaviour, release) if self._takes(key, behaviour) else None
        attributes = dict(self.entries[label].attributes) if label in self.entries else None
        named = self._attributes(attributes) if attributes is not None else False
        if label is None or attributes is None or parameters is None or release is None or not named:
            return None
        spec = self.draft.data[label]
        if spec is None or not self._fits(behaviour, parameters, attributes):
            return None
        if not self._serves(behaviour, parameters, spec):
            return None
        return Provider(
            name=self.name,
            label=label,
            data=spec,
            attributes=attributes,
            key=key,
            behaviour=behaviour,
            parameters=parameters,
            release=release,
            target=self.spec.target,
            hides=behaviour.sensitive(parameters) or self.spec.sensitive,
            net=net or NetSpec(),
            schedule=_merged(self.draft.head.schedule if self.draft.head else None, self.spec.schedule),
            service=self.spec.service,
        )

    def _label(self) -> str | None:
        labels = list(self.draft.data)
        label = self.spec.data
        if label is None:
            if len(labels) > 1:
                said = f"'data' is missing: there are {', '.join(labels)}"
                self.mistakes.add((*self.path, "data"), said, allowed=labels, at=self.path, key=True)
            return labels[0] if len(labels) == 1 else None
        if label not in labels:
            self.mistakes.add(
                (*self.path, "data"), f"there is no data {label!r}", allowed=labels, given=label
            )
            return None
        return label

    def _behaviour(self) -> str | None:
        known = list(registered.behaviours())
        family, method = self.spec.behaviour, self.spec.method
        if method is None and family in known:
            return family
        families = list(dict.fromkeys(key.partition("/")[0] for key in known))
        methods = [key.partition("/")[2] for key in known if key.startswith(f"{family}/")]
        if family not in families:
            said = unknown("behaviour", family, registered.behaviours())
            self.mistakes.add((*self.path, "behaviour"), said, allowed=families, given=family)
        elif method is None:
            said = f"behaviour {family!r} needs a 'method'"
            self.mistakes.add((*self.path, "method"), said, allowed=methods, at=self.path, key=True)
        elif not methods:
            said = f"behaviour {family!r} has no methods"
            self.mistakes.add((*self.path, "method"), said, key=True)
        elif method not in methods:
            said = f"unknown method {method!r} of behaviour {family!r}"
            self.mistakes.add((*self.path, "method"), said, allowed=methods, given=method)
        else:
            return f"{family}/{method}"
        return None

    def _release(self, key: str, behaviour: Any) -> ReleaseKind | None:
        """What users send: as the provider says, else as they upload, else the behaviour's first. Any
        provider takes samples and runs its model on them. A service has only one release."""
        if self.spec.service is not None:
            return self._answer(self.spec.service)
        allowed = (*behaviour.releases, "sample")
        uploads = self.client.uploads if self.client else None
        group = next(iter(self.draft.clients), "users")
        if self.spec.release is not None:
            if self.spec.release not in allowed:
                said = f"behaviour {key!r} cannot release {self.spec.release}"
                self.mistakes.add((*self.path, "release"), said, allowed=allowed, given=self.spec.release)
                return None
            if uploads not in (None, self.spec.release):
                said = f"users upload {uploads} (clients.{group}.uploads), not {self.spec.release}"
                self.mistakes.add((*self.path, "release"), said, allowed=[str(uploads)])
                return None
            return self.spec.release
        if uploads is not None and uploads not in allowed:
            said = f"provider {self.name!r} ({key}) cannot take {uploads}: it wants {', '.join(allowed)}"
            self.mistakes.add(("clients", group, "uploads"), said, allowed=allowed)
            return None
        release: ReleaseKind = uploads or allowed[0]
        return release

    def _answer(self, service: ServiceSpec) -> ReleaseKind | None:
        if self.spec.release not in (None, service.release):
            said = f"a {service.kind} service answers with {service.release}"
            self.mistakes.add((*self.path, "release"), said, allowed=[service.release])
            return None
        return service.release

    def _serves(self, behaviour: Any, parameters: BaseModel, data: DataSpec) -> bool:
        """Whether the service that the provider names, if any, can stand before such a model."""
        if self.spec.service is None:
            return True
        path: Path = (*self.path, "service")
        if behaviour.sensitive(parameters) is not None or behaviour.reconstructs:
            said = "nobody sends outputs to a service: its provider has nothing to decode, and can be honest"
            self.mistakes.add(path, said, key=True)
            return False
        if not isinstance(self.spec.target, str):
            self.mistakes.add(path, "a service stands before a model with one target", key=True)
            return False
        if data.crowd is None:
            said = "the data has no 'crowd': nobody is there to ask the service"
            self.mistakes.add(path, said, key=True)
            return False
        return True

    def _takes(self, key: str, behaviour: Any) -> bool:
        """Whether it takes as many attributes as the provider names."""
        good = True
        for role in ("target", "sensitive"):
            number = len(names(getattr(self.spec, role)))
            if number > 1 and role in behaviour.Parameters.model_fields and role not in behaviour.several:
                takers = [name for name, each in registered.behaviours().items() if role in each.several]
                said = f"behaviour {key!r} takes one attribute for {role}, not {number}"
                self.mistakes.add((*self.path, role), f"{said}; several take {', '.join(takers)}")
                good = False
        return good

    def _parameters(self, behaviour: Any, release: ReleaseKind | None) -> BaseModel | None:
        try:
            return parameters_of(behaviour, self.spec, release)
        except ValidationError as error:
            self.mistakes.add_pydantic(self.path, error, behaviour.Parameters, ProviderSpec.model_fields)
            return None

    def _attributes(self, attributes: dict[str, Attribute]) -> bool:
        good = True
        asked = names(self.spec.target)
        for role in ("target", "sensitive"):
            named = getattr(self.spec, role)
            for place, name in enumerate(names(named)):
                path: Path = (*self.path, role) if name == named else (*self.path, role, place)
                if name not in attributes:
                    said = f"the data has no attribute {name!r}"
                    self.mistakes.add(path, said, allowed=sorted(attributes), given=name)
                    good = False
                elif role == "sensitive" and name in asked:
                    said = f"{name!r} is what the provider is asked for: it hides nothing"
                    self.mistakes.add(path, said, allowed=sorted(set(attributes) - set(asked)))
                    good = False
        return good

    def _fits(self, behaviour: Any, parameters: BaseModel, attributes: dict[str, Attribute]) -> bool:
        try:
            behaviour.check(parameters, attributes)
        except InvalidInput as error:
            hides = behaviour.sensitive(parameters) is not None
            self.mistakes.add(
                (*self.path, "sensitive" if hides else "target"),
                error.detail,
                allowed=_that_would_do(behaviour, parameters, attributes) if hides else (),
            )
            return False
        return True

    def _net(self, net: NetSpec, label: str | None) -> None:
        nets = registered.nets()
        path: Path = (*self.path, "net") if self.spec.net else ("net",)
        entry = nets.get(net.name)
        if entry is None:
            said = unknown("net", net.name, nets)
            self.mistakes.add((*path, "name"), said, allowed=list(nets), given=net.name)
            return
        spec = self.draft.data.get(label) if label is not None else None
        if spec is None or label not in self.entries:
            return
        data = self.entries[label]
        sample = data.sized(spec.size) if data.spec.encoding == "picture" else data.spec
        if reason := entry.misfit(sample):
            if sample.encoding == "picture" and sample.encoding in entry.encodings:
                self.mistakes.add((*self.draft.data_path(str(label)), "size"), reason)
            else:
                fit = [name for name, each in nets.items() if each.misfit(sample) is None]
                self.mistakes.add((*path, "name"), reason, allowed=fit)


def _that_would_do(behaviour: Any, parameters: BaseModel, attributes: dict[str, Attribute]) -> Iterable[str]:
    """The attributes that could be hidden instead."""
    for name in sorted(set(attributes) - set(names(getattr(parameters, "target", None)))):
        try:
            behaviour.check(parameters.model_copy(update={"sensitive": name}), attributes)
        except InvalidInput:
            continue
        yield name


def _merged(shared: Schedule | None, own: Schedule | None) -> Schedule:
    """The scenario's schedule, but for what the provider says itself."""
    parts = [part.model_dump(exclude_unset=True) for part in (shared, own) if part is not None]
    return Schedule.model_validate({key: value for part in parts for key, value in part.items()})
