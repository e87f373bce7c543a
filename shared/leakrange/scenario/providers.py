"""Checks of providers: behaviour and its parameters, data and its attributes, release, net."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from leakrange.data import Attribute, DataSet, datasets, names
from leakrange.data.composition import unknown_class
from leakrange.data.crowd import CAST
from leakrange.data.known_members import unknown_members
from leakrange.defences.chain import DefenceChain
from leakrange.jobs.net_choice import NetChoice
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule
from leakrange.registry import unknown
from leakrange.scenario import registered
from leakrange.scenario.document import ClientSpec, ProviderSpec
from leakrange.scenario.draft import Draft
from leakrange.scenario.mistakes import Mistakes, Path
from leakrange.scenario.provider import SoundProvider, parameters_of
from leakrange.wire.endpoints import ServiceSpec
from leakrange.wire.errors import InvalidInput
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.samples import encodings

__all__ = ["check_data", "check_providers"]


def check_data(draft: Draft, mistakes: Mistakes) -> dict[str, type[DataSet]]:
    """Return the registered data set of each label; an unknown name is a mistake.

    A set that cannot be loaded here is no mistake of the scenario: see `leakrange.scenario.missing`.
    """
    by_label = {}
    for label, spec in draft.data.items():
        if spec is None:
            continue
        entry = datasets.get(spec.name)
        if entry is None:
            # Written short, as "data: name", the name stands where the specification would.
            path = (*draft.data_path(label), "name")
            message = unknown("data set", spec.name, datasets)
            if "LEAKRANGE_DATA" not in os.environ:
                message += "; imported ones lie in the folder of LEAKRANGE_DATA, which is not set here"
            mistakes.add(path, message, allowed=list(datasets), given=spec.name)
            continue
        if spec.count is not None and not entry.procedural():
            message = (
                f"{spec.name!r} is given, so its number of samples cannot be chosen; 'limit' keeps fewer"
            )
            mistakes.add((*draft.data_path(label), "count"), message, key=True)
        try:
            entry.sized(spec.size)
        except InvalidInput as error:
            mistakes.add((*draft.data_path(label), "size"), error.detail, key=True)
        if spec.subset is not None and spec.subset.members is not None:
            reason = unknown_members(entry.attributes, spec.subset.members)
            tell = [name for name in entry.attributes if unknown_members(entry.attributes, name) is None]
            if reason is not None:
                path = (*draft.data_path(label), "subset", "members")
                mistakes.add(path, reason, allowed=tell, given=spec.subset.members)
        if spec.composition is not None:
            unknown_field = unknown_class(entry.attributes, spec.composition)
            if unknown_field is not None:
                field, reason = unknown_field
                mistakes.add((*draft.data_path(label), "composition", field), reason)
        if spec.crowd is not None and not set(entry.attributes) >= CAST:
            message = f"{spec.name!r} has no cast people to make a crowd of"
            cast = [name for name, each in datasets.items() if set(each.attributes) >= CAST]
            path = (*draft.data_path(label), "crowd")
            mistakes.add(path, f"{message}; {', '.join(cast)} have", key=True)
        if spec.validation + spec.auxiliary >= 1.0:
            message = "'validation' and 'auxiliary' together leave nothing to train on"
            mistakes.add(draft.data_path(label), message, key=True)
        by_label[label] = entry
    return by_label


def check_providers(draft: Draft, mistakes: Mistakes) -> dict[str, SoundProvider]:
    """Return the valid providers."""
    entries = check_data(draft, mistakes)
    client = next(iter(draft.clients.values()), None)
    valid: dict[str, SoundProvider] = {}
    for name, spec in draft.providers.items():
        if spec is None:
            continue
        provider = _ProviderCheck(draft, entries, client, name, spec, mistakes).provider()
        if provider is None:
            continue
        for other in valid.values():
            if (other.recipe(0), other.release, other.service) == (
                provider.recipe(0),
                provider.release,
                provider.service,
            ):
                mistakes.add(("providers", name), f"the same as provider {other.name!r}", key=True)
        valid[name] = provider
    return valid


@dataclass
class _ProviderCheck:
    """The checks of one provider."""

    draft: Draft
    entries: dict[str, type[DataSet]]
    client: ClientSpec | None
    name: str
    spec: ProviderSpec
    mistakes: Mistakes

    @property
    def path(self) -> Path:
        return ("providers", self.name)

    def provider(self) -> SoundProvider | None:
        label = self._label()
        key = self._behaviour()
        net = self._net(label)
        if key is None:
            return None
        behaviour = registered.behaviours()[key]
        service = self._service(behaviour)
        release = self._release(key, behaviour, service)
        parameters = self._parameters(behaviour, release) if self._takes(key, behaviour) else None
        attributes = dict(self.entries[label].attributes) if label in self.entries else None
        named = self._attributes(attributes) if attributes is not None else False
        if label is None or attributes is None or parameters is None or release is None or not named:
            return None
        spec = self.draft.data[label]
        if spec is None or net is None or not self._fits(behaviour, parameters, attributes):
            return None
        if not self._takes_samples(behaviour, parameters, label, spec):
            return None
        if behaviour.samples_apart and not self._parts_samples(net):
            return None
        if not self._serves(behaviour, parameters, spec, service):
            return None
        return SoundProvider(
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
            net=net,
            schedule=_merged(self.draft.head.schedule if self.draft.head else None, self.spec.schedule),
            service=service,
        )

    def _label(self) -> str | None:
        labels = list(self.draft.data)
        label = self.spec.data
        if label is None:
            if len(labels) > 1:
                message = f"'data' is missing: there are {', '.join(labels)}"
                self.mistakes.add((*self.path, "data"), message, allowed=labels, at=self.path, key=True)
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
            message = unknown("behaviour", family, registered.behaviours())
            self.mistakes.add((*self.path, "behaviour"), message, allowed=families, given=family)
        elif method is None:
            message = f"behaviour {family!r} needs a 'method'"
            self.mistakes.add((*self.path, "method"), message, allowed=methods, at=self.path, key=True)
        elif not methods:
            message = f"behaviour {family!r} has no methods"
            self.mistakes.add((*self.path, "method"), message, key=True)
        elif method not in methods:
            message = f"unknown method {method!r} of behaviour {family!r}"
            self.mistakes.add((*self.path, "method"), message, allowed=methods, given=method)
        else:
            return f"{family}/{method}"
        return None

    def _service(self, behaviour: Any) -> ServiceSpec | None:
        """Return the service that stands before the model: of a remote one, what its card says."""
        given = self.spec.service
        if behaviour.trains:
            return given
        try:
            parameters = parameters_of(behaviour, self.spec, None)
        except ValidationError:  # told with the other parameters
            return given
        declared: ServiceSpec | None = behaviour.service(parameters)
        if given is not None and (declared is None or given.kind != declared.kind):
            kind = "no service" if declared is None else f"a {declared.kind} service"
            message = f"the card of its endpoint says that it is {kind}"
            self.mistakes.add((*self.path, "service"), message, key=True)
        return declared

    def _release(self, key: str, behaviour: Any, service: ServiceSpec | None) -> ReleaseKind | None:
        """Return the release that users send: the provider's, else the one that they upload, else the
        behaviour's first. Any provider takes samples and runs its model on them. A service has only one
        release."""
        if service is not None:
            return self._answer(service)
        allowed = (*behaviour.releases, "sample")
        if not behaviour.trains:
            return self._declared()
        uploads = self.client.uploads if self.client else None
        group = next(iter(self.draft.clients), "users")
        if self.spec.release is not None:
            if self.spec.release not in allowed:
                message = f"behaviour {key!r} cannot release {self.spec.release}"
                self.mistakes.add((*self.path, "release"), message, allowed=allowed, given=self.spec.release)
                return None
            if uploads not in (None, self.spec.release):
                message = f"users upload {uploads} (clients.{group}.uploads), not {self.spec.release}"
                self.mistakes.add((*self.path, "release"), message, allowed=[str(uploads)])
                return None
            return self.spec.release
        if uploads is not None and uploads not in allowed:
            message = f"provider {self.name!r} ({key}) cannot take {uploads}: it wants {', '.join(allowed)}"
            self.mistakes.add(("clients", group, "uploads"), message, allowed=allowed)
            return None
        release: ReleaseKind = uploads or allowed[0]
        return release

    def _declared(self) -> ReleaseKind | None:
        """Return the release that the card of a remote model declares."""
        endpoint = (self.spec.model_extra or {}).get("endpoint")
        card = endpoint.get("card") if isinstance(endpoint, dict) else None
        given = card.get("release", "softmax") if isinstance(card, dict) else "softmax"
        declared = next((kind for kind in get_args(ReleaseKind) if kind == given), None)
        if declared is not None and self.spec.release not in (None, declared):
            message = f"the card of its endpoint releases {declared}"
            self.mistakes.add((*self.path, "release"), message, allowed=[declared])
            return None
        return declared or "softmax"  # a mistake of the card is reported with its parameters

    def _answer(self, service: ServiceSpec) -> ReleaseKind | None:
        if self.spec.release not in (None, service.release):
            message = f"a {service.kind} service answers with {service.release}"
            self.mistakes.add((*self.path, "release"), message, allowed=[service.release])
            return None
        return service.release

    def _serves(
        self, behaviour: Any, parameters: BaseModel, data: DataSpec, service: ServiceSpec | None
    ) -> bool:
        """Whether the ``service``, if there is one, can stand before such a model."""
        if service is None:
            return True
        path: Path = (*self.path, "service")
        if not behaviour.trains and service.kind == "recognition":
            message = "nobody can teach a recognition of somebody else the people of this data"
            self.mistakes.add(path, message, at=self.path, key=True)
            return False
        if behaviour.sensitive(parameters) is not None or behaviour.reconstructs:
            message = (
                "nobody sends outputs to a service: its provider has nothing to decode, and can be honest"
            )
            self.mistakes.add(path, message, key=True)
            return False
        if not isinstance(self.spec.target, str):
            self.mistakes.add(path, "a service stands before a model with one target", key=True)
            return False
        if data.crowd is None:
            message = "the data has no 'crowd': nobody is there to ask the service"
            self.mistakes.add(path, message, at=path if self.spec.service else self.path, key=True)
            return False
        return True

    def _takes(self, key: str, behaviour: Any) -> bool:
        """Whether it takes as many attributes as the provider names."""
        good = True
        for role in ("target", "sensitive"):
            number = len(names(getattr(self.spec, role)))
            if number > 1 and role in behaviour.Parameters.model_fields and role not in behaviour.several:
                takers = [name for name, each in registered.behaviours().items() if role in each.several]
                message = f"behaviour {key!r} takes one attribute for {role}, not {number}"
                self.mistakes.add((*self.path, role), f"{message}; several take {', '.join(takers)}")
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
                    message = f"the data has no attribute {name!r}"
                    self.mistakes.add(path, message, allowed=sorted(attributes), given=name)
                    good = False
                elif role == "sensitive" and name in asked:
                    message = f"{name!r} is what the provider is asked for: it hides nothing"
                    self.mistakes.add(path, message, allowed=sorted(set(attributes) - set(asked)))
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

    def _takes_samples(self, behaviour: Any, parameters: BaseModel, label: str, spec: DataSpec) -> bool:
        """Whether a model that is not trained here takes the data's samples, and its users run nothing."""
        good = True
        if reason := behaviour.misfit(parameters, self.entries[label].sample(spec)):
            self.mistakes.add((*self.path, "endpoint", "card", "input"), reason, at=self.path, key=True)
            good = False
        if not behaviour.trains and spec.subset is not None and spec.subset.members is None:
            message = (
                f"whoever serves {self.name!r} trained it: 'members' names the attribute that tells on whom"
                " ('leakrange data import --member' makes one)"
            )
            self.mistakes.add((*self.draft.data_path(label), "subset"), message, key=True)
            good = False
        if not behaviour.trains and self.client is not None:
            chain = DefenceChain.parse(self.client.defence, outputs_at="device")
            if chain.model or chain.outputs.stages or chain.representation:
                message = f"users of {self.name!r} ask whoever serves it: devices can change samples alone"
                group = next(iter(self.draft.clients))
                self.mistakes.add(("clients", group, "defence"), message, key=True)
                good = False
        return good

    def _net(self, label: str | None) -> NetSpec | None:
        """Return the net and note its mistakes; None if its input is not known."""
        # A head that has mistakes may well name a net that fits.
        choice = self.spec.net or (self.draft.head.net if self.draft.head else NetChoice())
        nets = registered.nets()
        path: Path = (*self.path, "net") if self.spec.net else ("net",)
        if choice.name is not None and choice.name not in nets:
            message = unknown("net", choice.name, nets)
            self.mistakes.add((*path, "name"), message, allowed=list(nets), given=choice.name)
        spec = self.draft.data.get(label) if label is not None else None
        if spec is None or label not in self.entries:
            return None
        data = self.entries[label]
        sample = data.sample(spec)
        net = choice.of(sample)
        entry = nets.get(net.name)
        if entry is not None and (reason := entry.misfit(sample)):
            if data.resizable() and sample.encoding in (entry.encodings or encodings):
                self.mistakes.add((*self.draft.data_path(str(label)), "size"), reason)
            else:
                fit = [name for name, each in nets.items() if each.misfit(sample) is None]
                self.mistakes.add((*path, "name"), reason, allowed=fit)
        return net

    def _parts_samples(self, net: NetSpec) -> bool:
        """Whether the net takes samples apart, as the behaviour wants it."""
        nets = registered.nets()
        if net.name not in nets or nets[net.name].samples_apart:
            return True
        message = (
            f"net {net.name!r} has batch norm, which mixes the samples of a batch: DP-SGD cannot train it"
        )
        apart = [name for name, each in nets.items() if each.samples_apart]
        path: Path = (*self.path, "net") if self.spec.net else ("net",)
        self.mistakes.add((*path, "name"), message, allowed=apart, at=self.path)
        return False


def _that_would_do(behaviour: Any, parameters: BaseModel, attributes: dict[str, Attribute]) -> Iterable[str]:
    """The attributes that could be hidden instead."""
    for name in sorted(set(attributes) - set(names(getattr(parameters, "target", None)))):
        try:
            behaviour.check(parameters.model_copy(update={"sensitive": name}), attributes)
        except InvalidInput:
            continue
        yield name


def _merged(shared: Schedule | None, of_provider: Schedule | None) -> Schedule:
    """Return the scenario's schedule, overridden by what the provider sets."""
    parts = [part.model_dump(exclude_unset=True) for part in (shared, of_provider) if part is not None]
    return Schedule.model_validate({key: value for part in parts for key, value in part.items()})
