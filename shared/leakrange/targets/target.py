"""The file of a target: its owner, how it is asked, where its values stand, and how much it may be asked."""

from __future__ import annotations

import datetime
import ipaddress
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit

import jsonpath
import orjson
import yaml
from pydantic import AfterValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from leakrange.strict import Strict
from leakrange.targets.columns import encoded_row, lacking
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import ServiceSpec, endpoint_of, released_by
from leakrange.wire.errors import InvalidInput
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.samples import SampleSpec, encodings
from leakrange.wire.schemas import MAX_BATCH, Answers, Distance, ModelCard, Name, Service, Threshold

__all__ = [
    "ONE_BY_ONE",
    "PLACEHOLDERS",
    "SECRET_NAME",
    "VARIABLE",
    "Authentication",
    "Certificate",
    "OAuth2",
    "RemoteTarget",
    "SigV4",
    "TargetCard",
    "TargetLimits",
    "TargetRead",
    "TargetStep",
    "compiled",
    "presets",
    "read_target",
    "target_of",
]

ONE_BY_ONE = frozenset({"sample", "row", "png", "first_png", "second_png"})
"""Placeholders of one sample, or one pair, a request."""
PLACEHOLDERS = ONE_BY_ONE | {
    *("samples", "rows", "values", "columns", "column_names"),
    *("flat", "shape", "datatype", "pngs"),
}
"""What a template may hold in the place of samples."""
_NAMED = re.compile(r"\$\{([a-z][a-z0-9_]*)\}")
VARIABLE = re.compile(r"\$\{([A-Z][A-Z0-9_]*)\}")
"""A variable of the environment, in a header."""
SECRET_NAME = re.compile(r"authorization|api[-_]?key|token|secret|cookie|password", re.IGNORECASE)
"""What the name of a header tells of a secret in it."""
_PATHS = jsonpath.JSONPathEnvironment()


@lru_cache(256)
def compiled(path: str) -> Any:
    """The JSONPath, ready to be used. Raises `jsonpath.JSONPathError`."""
    return _PATHS.compile(path)


def _checked_path(path: str) -> str:
    try:
        compiled(path)
    except jsonpath.JSONPathError as error:
        raise ValueError(f"{path!r} is no JSONPath: {str(error).splitlines()[0]}") from error
    return path


JsonPath = Annotated[str, Field(max_length=500), AfterValidator(_checked_path)]


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no address: it begins with http:// or https://")
    if parts.username or parts.password:
        raise ValueError("an address holds no password: a header names it by a variable, as in ${RISK_KEY}")
    return url


Url = Annotated[str, Field(max_length=2000), AfterValidator(_checked_url)]


class TargetInput(Strict):
    """One sample as the target takes it: like `SampleSpec`, but what follows from the rest may be left out.

    ``categories`` names the values of a column that holds codes: code 0 is sent as the first name. ``sent``
    are the columns that the target takes, where samples have others: see `leakrange.targets.columns`.
    """

    encoding: str
    shape: tuple[int, ...] | None = None
    columns: tuple[str, ...] | None = None
    sent: tuple[str, ...] | None = None
    dtype: Literal["uint8", "float32"] | None = None
    rate: float | None = None
    categories: dict[str, tuple[str, ...]] = {}

    @property
    def spec(self) -> SampleSpec:
        """The specification of a sample. Raises `ValueError` where something is missing or wrong."""
        pictured = self.encoding in encodings and encodings[self.encoding].pictured
        shape = self.shape if self.shape is not None else (len(self.columns),) if self.columns else None
        if shape is None:
            raise ValueError("'input' lacks 'shape': the lengths of a sample's axes")
        return SampleSpec.model_validate(
            {
                "encoding": self.encoding,
                "shape": shape,
                "dtype": self.dtype or ("uint8" if pictured else "float32"),
                "columns": self.columns,
                "rate": self.rate,
            }
        )

    @model_validator(mode="after")
    def _of_one_piece(self) -> Self:
        _ = self.spec
        if unknown := sorted(set(self.categories) - set(self.columns or ())):
            raise ValueError(f"'categories' names {unknown[0]!r}, which is no column")
        if absent := lacking(self.sent or (), self.columns or ()):
            raise ValueError(f"'sent' names {absent[0]!r}, which no column stands for")
        return self

    def of_data(self, sample: SampleSpec) -> Self:
        """The same input for samples of a data set: of their type, unless this says which, and of their
        columns, where all that the target takes follows from them."""
        changed: dict[str, Any] = {}
        if self.dtype is None:
            changed["dtype"] = sample.dtype
        taken, columns = self.columns or (), sample.columns or ()
        if taken != columns and not lacking(taken, columns):
            coded = {name: texts for name, texts in self.categories.items() if name in columns}
            changed |= {"columns": columns, "sent": taken, "shape": None, "categories": coded}
        return self.model_copy(update=changed)


class TargetCard(Strict):
    """What the user of a target must know of it, since few protocols tell: the sample that it takes, its
    classes in order, and what it releases."""

    input: TargetInput
    classes: tuple[str, ...] = ()
    task: str = ""
    """The attribute that the classes are values of."""
    release: ReleaseKind = "softmax"
    features: Annotated[int, Field(ge=0, le=65_536)] = 0
    service: Service | None = None
    distance: Distance = "euclidean"
    threshold: Threshold | None = None
    answers: Answers = "all"
    order: tuple[str, ...] | None = None
    """The classes in the order of the answer's values, if it is another one than that of ``classes``."""
    means: dict[str, str] = {}
    """The class that a label in answers stands for, where the two are not spelled alike."""

    @field_validator("classes", mode="before")
    @classmethod
    def _as_text(cls, given: Any) -> Any:
        """Numbers as texts: YAML reads 0 as one, and true, yes and on as something else."""
        if not isinstance(given, list | tuple):
            return given
        if any(isinstance(each, bool) for each in given):
            raise ValueError("YAML reads yes, no, true and false as no texts: put the classes into quotes")
        return [str(each) if isinstance(each, int) else each for each in given]

    @model_validator(mode="after")
    def _of_one_piece(self) -> Self:
        if self.release in ("softmax", "logits") and len(self.classes) < 2:
            raise ValueError(f"a release of {self.release} wants 'classes': two names or more, in order")
        if self.order is not None and sorted(self.order) != sorted(self.classes):
            raise ValueError("'order' names the same classes as 'classes'")
        if len(set(self.classes)) != len(self.classes):
            raise ValueError("each class is named once")
        if strange := sorted(set(self.means.values()) - set(self.classes)):
            raise ValueError(f"'means' names {strange[0]!r}, which is no class")
        if self.release == "features" and self.features == 0:
            raise ValueError("a release of features wants 'features': the length of a vector")
        if self.release not in (given := released_by(self.service or "classifier")):
            kind = self.service or "classifier"
            hint = "; write 'service: verification'" if self.release == "score" else ""
            raise ValueError(f"a {kind} releases {' or '.join(given)}, not {self.release}{hint}")
        return self

    @property
    def asked_about_people(self) -> ServiceSpec | None:
        """The service before it, to which nobody uploads anything; None where there is none."""
        if self.service is None or self.service == "classifier":
            return None
        return ServiceSpec(kind=self.service, normalised=False, distance=self.distance)

    @property
    def width(self) -> int:
        """The number of values in the release of one sample."""
        return {"score": 1, "features": self.features, "sample": math.prod(self.input.spec.shape)}.get(
            self.release, len(self.classes)
        )


class TargetRead(Strict):
    """Where the values stand in the last answer, as JSONPaths.

    ``each`` finds one node a sample, in order; the other paths then begin at such a node (without it, at the
    answer). ``values`` are numbers: for all classes in order, or beside ``labels``, which name the class of
    each. ``labels`` alone are the classes that were decided on. ``of`` says that there is one value, of that
    class of two. A number x becomes ``scale``·x + ``offset``: a similarity of 0 to 100 is the distance -x/100
    + 1. A class that is not among the labels, and a sample without values, has the value ``missing``.
    """

    each: JsonPath | None = None
    values: JsonPath | None = None
    labels: JsonPath | None = None
    of: str | None = None
    scale: float = 1.0
    offset: float = 0.0
    missing: float | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.values is None and self.labels is None:
            raise ValueError("'read' names 'values', 'labels' or both")
        if self.of is not None and self.labels is not None:
            raise ValueError("'of' names the class of the one value: there are no 'labels' then")
        return self


Body = Literal["json", "csv", "form", "tensors"]
BODIES: tuple[Body, ...] = get_args(Body)


class TargetStep(Strict):
    """One request: its method and address, its headers, one body, and what its answer is for.

    ``json`` is any JSON in which placeholders stand for samples; ``csv`` sends rows under the names of their
    columns (false: without names); ``form`` is a multipart form; ``tensors`` names the input and the output
    of the Open Inference Protocol's binary extension. ``capture`` names values for later steps.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    post: Url | None = None
    put: Url | None = None
    get: Url | None = None
    headers: dict[str, str] = {}
    json_: Any = Field(None, alias="json")
    csv: bool | None = None
    form: dict[str, str] | None = None
    tensors: dict[Literal["input", "output"], str] | None = None
    capture: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], JsonPath] = {}
    read: TargetRead | None = None

    @property
    def method(self) -> str:
        """The HTTP method."""
        return "POST" if self.post else "PUT" if self.put else "GET"

    @property
    def url(self) -> str:
        """The address, with placeholders."""
        return self.post or self.put or self.get or ""

    @property
    def body(self) -> Body | None:
        """The kind of its body; None if it has none."""
        bodies = (self.json_, self.csv, self.form, self.tensors)
        return next((kind for kind, body in zip(BODIES, bodies, strict=True) if body is not None), None)

    @property
    def placeholders(self) -> frozenset[str]:
        """The names of all placeholders in its address and its body."""
        return frozenset(_NAMED.findall(f"{self.url} {orjson.dumps([self.json_, self.form]).decode()}"))

    @field_validator("headers")
    @classmethod
    def _no_secret(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if SECRET_NAME.search(name) and not re.search(r"\$\{\w+\}", value):
                raise ValueError(
                    f"the header {name} holds a secret: put it into an environment variable, and write"
                    f" {name}: ${{NAME_OF_THE_VARIABLE}} here"
                )
            if not (name + value).isprintable() or not name.isascii():
                raise ValueError(f"the header {name[:40]!r} cannot be sent")
        return headers

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if sum(url is not None for url in (self.post, self.put, self.get)) != 1:
            raise ValueError("a step has one of 'post', 'put' and 'get', with an address")
        bodies = [body for body in (self.json_, self.csv, self.form, self.tensors) if body is not None]
        if len(bodies) > 1:
            raise ValueError("a step sends one of 'json', 'csv', 'form' and 'tensors'")
        if self.tensors is not None and set(self.tensors) != {"input", "output"}:
            raise ValueError("'tensors' names the 'input' and the 'output'")
        return self


Secret = Annotated[str, Field(pattern=r"^\$\{[A-Z][A-Z0-9_]*\}$")]
"""A secret, by the name of its environment variable: ``${NAME}``."""


class OAuth2(Strict):
    """Client credentials (RFC 6749, Section 4.4): a token of ``token_url`` goes with every request."""

    token_url: Url
    client_id: Secret
    client_secret: Secret
    scope: Annotated[str, Field(max_length=500)] | None = None


class SigV4(Strict):
    """AWS Signature Version 4, with the usual variables ``AWS_ACCESS_KEY_ID`` and so on."""

    service: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,60}$")]
    region: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,60}$")]


class Certificate(Strict):
    """Mutual TLS: PEM files where the proxy runs. ``authority`` is that of the server, if it is not a public
    one."""

    certificate: str
    key: str
    password: Secret | None = None
    authority: str | None = None


class Authentication(Strict):
    """How requests prove who asks, beside their headers: one way or several."""

    oauth2: OAuth2 | None = None
    sigv4: SigV4 | None = None
    tls: Certificate | None = None


class TargetLimits(Strict):
    """How much a target may be asked. ``rate`` is in requests a second ("20/s", "600/min"), ``batch`` in
    samples a request, ``samples``, ``money`` and ``until`` end the asking. ``throttled`` are the statuses by
    which it asks for patience, each with a word of its body if the status alone is not enough. ``price`` is
    of one sample ("0.0004 EUR")."""

    rate: Annotated[str, Field(pattern=r"^\d+(\.\d+)?/(s|min|h)$")] | None = None
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    batch: Annotated[int, Field(ge=1, le=MAX_BATCH)] = 32
    samples: Annotated[int, Field(ge=1)] | None = None
    price: Annotated[str, Field(pattern=r"^\d+(\.\d+)? [A-Z]{3}$")] | None = None
    money: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """In the currency of ``price``."""
    throttled: tuple[Annotated[str, Field(pattern=r"^[1-5]\d\d( .{1,80})?$")], ...] = ("429", "503")
    timeout: Annotated[float, Field(gt=0, le=600)] = 30.0
    """Seconds for one answer."""

    @field_validator("throttled", mode="before")
    @classmethod
    def _as_text(cls, entries: Any) -> Any:
        return [str(each) for each in entries] if isinstance(entries, list | tuple) else entries

    @model_validator(mode="after")
    def _priced(self) -> Self:
        if self.money is not None and self.price is None:
            raise ValueError("a cap of 'money' wants the 'price' of a sample")
        return self

    @property
    def seconds_a_request(self) -> float:
        """The shortest mean time between two requests; 0 where there is no rate."""
        if self.rate is None:
            return 0.0
        number, _, unit = self.rate.partition("/")
        return {"s": 1.0, "min": 60.0, "h": 3600.0}[unit] / float(number)


class RemoteTarget(Strict):
    """A model that somebody else serves.

    ``authorised`` says who allowed the test ("ticket 4711, until 2027-01-31"): asked for by any address that
    is not of this machine. ``preset`` fills the steps from ``url`` and ``model``.
    """

    name: Name
    owner: Annotated[str, Field(min_length=3, max_length=200)]
    authorised: Annotated[str, Field(min_length=3, max_length=500)] | None = None
    card: TargetCard
    version: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Of the model: answers of another version are not reused."""
    probe: Annotated[tuple[float, ...], Field(max_length=10_000)] | None = None
    """The numbers of the one sample by which it is tried; zeros if there are none. Some models refuse zeros:
    nobody is born so young."""
    preset: str | None = None
    url: Url | None = None
    model: Annotated[str, Field(max_length=200, pattern=r"^[\w.:@/-]+$")] | None = None
    options: dict[str, str] = {}
    headers: dict[str, str] = {}
    """Sent with every request."""
    authentication: Authentication = Authentication()
    steps: Annotated[tuple[TargetStep, ...], Field(max_length=8)] = ()
    limits: TargetLimits = TargetLimits()

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, given: Any) -> Any:
        """With the steps of the preset, if it names one."""
        if not isinstance(given, dict) or given.get("preset") is None or given.get("steps"):
            return given
        preset = presets().get(str(given["preset"]))
        if preset is None:
            raise ValueError(f"there is no preset {given['preset']!r}; there are {', '.join(presets())}")
        options = given.get("options") or {}
        known = {
            "url": str(given.get("url") or "").rstrip("/"),
            "model": given.get("model"),
            **preset.options,
            **options,
        }
        if unknown := sorted(set(options) - set(preset.options)):
            raise ValueError(
                f"the preset {preset.name} has no option {unknown[0]!r}; it has {', '.join(preset.options)}"
            )
        missing = [name for name in preset.wants if not known.get(name)]
        if missing:
            raise ValueError(f"the preset {preset.name} wants {missing[0]!r}")
        return given | {"steps": _substituted(preset.steps, known)}

    @model_validator(mode="after")
    def _of_one_piece(self) -> Self:
        if not self.steps:
            raise ValueError(f"'steps' or a 'preset' says how it is asked: {', '.join(presets())}")
        if self.steps[-1].read is None and self.steps[-1].tensors is None:
            raise ValueError("the last step has a 'read': where the values stand")
        oauth2 = self.authentication.oauth2
        urls = [step.url for step in self.steps] + ([oauth2.token_url] if oauth2 is not None else [])
        hosts = {urlsplit(url).hostname or "" for url in urls}
        far = sorted(host for host in hosts if not _is_loopback(host))
        if far and self.authorised is None:
            raise ValueError(
                f"{far[0]} is not this machine: 'authorised' says who allowed the test, and until when"
            )
        TargetStep._no_secret(self.headers)
        numbers = math.prod(self.card.input.spec.shape)
        if self.probe is not None and (len(self.probe) != numbers or not all(map(math.isfinite, self.probe))):
            raise ValueError(f"'probe' is one sample: {numbers} numbers")
        known = PLACEHOLDERS
        for step in self.steps:
            if strange := sorted(step.placeholders - known):
                raise ValueError(
                    f"${{{strange[0]}}} stands for nothing: there are {', '.join(sorted(PLACEHOLDERS))}, and"
                    " what an earlier step captures"
                )
            known |= step.capture.keys()
        return self

    @property
    def batch(self) -> int:
        """The most samples of one request."""
        alone = any(step.placeholders & ONE_BY_ONE for step in self.steps)
        return 1 if alone else self.limits.batch

    @property
    def until(self) -> datetime.date | None:
        """The last day of the authorisation, where it names one."""
        days = re.findall(r"\d{4}-\d\d-\d\d", self.authorised or "")
        return datetime.date.fromisoformat(days[-1]) if days else None

    @property
    def variables(self) -> frozenset[str]:
        """The names of the environment variables that its requests need."""
        oauth2, tls = self.authentication.oauth2, self.authentication.tls
        texts = [*self.headers.values(), *(value for step in self.steps for value in step.headers.values())]
        texts += [oauth2.client_id, oauth2.client_secret] if oauth2 is not None else []
        texts += [tls.password] if tls is not None and tls.password is not None else []
        return frozenset(name for text in texts for name in VARIABLE.findall(text))

    def digest(self) -> str:
        """64 hexadecimal characters of all that decides its answers: neither name, owner nor limits."""
        decides = self.model_dump(mode="json", by_alias=True, include={"card", "steps", "headers"})
        return digest(decides if self.version is None else decides | {"version": self.version})

    def model_card(self, name: str) -> ModelCard:
        """The card under which the proxy serves it as ``name``."""
        card = self.card
        service = card.service or "classifier"
        return ModelCard(
            name=name,
            version=self.digest()[:12],
            sha256="",
            task=card.task or self.name,
            classes=list(card.classes),
            input=card.input.spec,
            releases=[card.release],
            default_release=card.release,
            features=card.features,
            max_batch=MAX_BATCH,
            parameters=0,
            service=service,
            distance=card.distance,
            threshold=card.threshold,
            answers=card.answers,
        )

    def of_data(self, classes: Sequence[str], sample: SampleSpec) -> RemoteTarget:
        """The same target for a data set: it releases its values in the order of ``classes``, where it has
        such, and takes ``sample``; see `TargetInput.of_data`."""
        card = self.card
        if card.release in ("softmax", "logits") and card.classes != tuple(classes):
            changed = {"classes": tuple(classes), "order": card.order or card.classes}
            card = card.model_copy(update=changed)
        written, probe = card.input, self.probe
        card = card.model_copy(update={"input": written.of_data(sample)})
        if probe is not None and card.input.sent is not None and written.sent is None:
            probe = encoded_row(probe, card.input.sent, written.categories, card.input.columns or ())
        return self.model_copy(update={"card": card, "probe": probe})

    @property
    def endpoint(self) -> str:
        """The endpoint of the native API at which it is served."""
        return endpoint_of(self.card.service or "classifier", self.card.release)


class Preset(Strict):
    """The steps of a protocol: a YAML file beside this module. ``wants`` are the members of a target that it
    needs, ``options`` what may be changed, with what it is otherwise."""

    name: str
    summary: str
    wants: tuple[str, ...] = ("url",)
    options: dict[str, str] = {}
    steps: list[Any]


def presets() -> Mapping[str, Preset]:
    """All presets by name."""
    if not _PRESETS:
        for file in sorted(
            files("leakrange.targets").joinpath("presets").iterdir(), key=lambda each: each.name
        ):
            if file.name.endswith(".yaml"):
                name = file.name.removesuffix(".yaml")
                _PRESETS[name] = Preset(name=name, **yaml.safe_load(file.read_text(encoding="utf-8")))
    return _PRESETS


_PRESETS: dict[str, Preset] = {}


def read_target(text: str) -> RemoteTarget:
    """The target in a YAML file. Raises `InvalidInput`, which names every mistake with its place."""
    try:
        given = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidInput(f"the target is no YAML: {error}") from error
    if not isinstance(given, dict):
        raise InvalidInput("a target is a mapping: name, owner, card, and steps or a preset")
    return target_of(given)


def target_of(given: dict[str, Any]) -> RemoteTarget:
    """The target of a parsed file. Raises as `read_target`."""
    try:
        return RemoteTarget.model_validate(given)
    except ValidationError as error:
        mistakes = [
            {"path": ".".join(map(str, each["loc"])), "message": each["msg"].removeprefix("Value error, ")}
            for each in error.errors()
        ]
        first = mistakes[0]
        where = f"{first['path']}: " if first["path"] else ""
        raise InvalidInput(
            f"the target cannot be used: {where}{first['message']}", mistakes=mistakes
        ) from error


def _substituted(content: Any, known: Mapping[str, str | None]) -> Any:
    """The content with ``${name}`` replaced for each known name; all others stay for later."""
    if isinstance(content, dict):
        return {key: _substituted(value, known) for key, value in content.items()}
    if isinstance(content, list):
        return [_substituted(each, known) for each in content]
    if not isinstance(content, str):
        return content
    return _NAMED.sub(lambda match: known.get(match[1]) or match[0], content)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
