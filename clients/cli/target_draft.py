"""From what a user pastes or names to a target's file: asks one sample, and guesses from the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.target_data import AskedData
from leakrange.clients.cli.target_requests import Exchange, converse
from leakrange.targets.answer_guess import UNNAMED, AnswerGuess, guess_answer, guess_values
from leakrange.targets.curl import read_curl
from leakrange.targets.dialogue import TargetCall, TargetReply, dialogue, probe_of
from leakrange.targets.openapi_document import chosen_operation, read_openapi
from leakrange.targets.openapi_example import example_request
from leakrange.targets.pasted_secrets import variable_of
from leakrange.targets.request_guess import guess_request
from leakrange.targets.target import RemoteTarget, presets, target_of
from leakrange.wire.errors import InvalidInput
from leakrange.wire.open_inference import HEAD_LENGTH, tensor_answer

__all__ = ["TargetDraft", "of_curl", "of_open_inference", "of_openapi", "of_preset"]

MOST_WRITTEN = 100
"""Numbers of a sample that is written into a file."""


@dataclass
class TargetDraft:
    """A target's file that is being made. ``given`` is its content without what only an answer tells;
    ``sample`` the one to ask, a sample of zeros where None."""

    given: dict[str, Any]
    input: dict[str, Any]
    sample: NDArray[Any] | None = None
    many: bool = True
    secrets: dict[str, str] = field(default_factory=dict)
    labels: tuple[str, ...] | None = None
    """The classes that a document names, if it does."""
    doubts: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)

    def question(self) -> RemoteTarget:
        """The target by which the sample is asked: whatever it answers can be looked at."""
        given = dict(self.given)
        if "steps" in given:
            given["steps"] = [*given["steps"][:-1], given["steps"][-1] | {"read": {"values": "$"}}]
        card = {"input": self.input, "release": "features", "features": 1}
        return target_of(given | {"card": card})

    def ask(self, heard: Callable[[Exchange], None], environment: Mapping[str, str]) -> TargetReply:
        """The answer to the sample. Raises `CliError` where there is none."""
        target = self.question()
        sample = probe_of(target) if self.sample is None else self.sample

        def first(call: TargetCall) -> Any:
            return (yield call)

        talk = dialogue(target, sample)
        reply: TargetReply = converse(target, first(next(talk)), heard, {**environment, **self.secrets})
        return reply

    def guess(self, reply: TargetReply) -> AnswerGuess:
        """What the answer says. Raises `InvalidInput` for one that says nothing."""
        step = self.question().steps[-1]
        if step.tensors is not None:
            length = reply.headers.get(HEAD_LENGTH.lower())
            values = tensor_answer(reply.body, length, step.tensors["output"])
            return guess_values([float(value) for value in np.ravel(values)])
        try:
            answer = orjson.loads(reply.body)
        except orjson.JSONDecodeError as error:
            raise InvalidInput("the answer is no JSON") from error
        return guess_answer(answer, many=self.many)

    def complete(self, guess: AnswerGuess, classes: list[str] | None, *, ordered: bool = True) -> None:
        """Write what was guessed into the content; ``classes`` are those that the user or a data set named,
        if any, ``ordered`` if they are known to be in the order of the answer's values."""
        if classes is None and self.labels and set(guess.classes or ()) <= {*self.labels, UNNAMED}:
            classes = list(self.labels) if len(self.labels) >= guess.count else None
        names = list(classes or guess.classes or map(str, range(guess.count)))
        means = _meanings(guess, names)
        card: dict[str, Any] = {"input": self.input}
        if guess.release == "features":
            card |= {"release": "features", "features": guess.count}
        else:
            card |= {"classes": names, "release": guess.release}
            if means:
                card["means"] = means
                self.doubts["means"] = "is this the class that each label of the answer stands for?"
        if guess.answers != "all":
            card["answers"] = guess.answers
        read = dict(guess.read)
        if classes and "of" in read:
            read["of"] = classes[-1]
        self.given["card"] = card
        self.doubts |= {("read" if name == "of" else name): doubt for name, doubt in guess.doubts.items()}
        if classes and not ordered and guess.classes is None:
            self.doubts["classes"] = "are these the classes of the answer's values, in this order?"
        elif classes:
            self.doubts.pop("classes", None)
        self.remarks["release"] = guess.reason
        if "steps" in self.given:
            last = self.given["steps"][-1]
            self.given["steps"] = [*self.given["steps"][:-1], last | {"read": read}]

    def answered(self, reply: TargetReply) -> tuple[RemoteTarget, list[float]]:
        """The target of the content, and what it reads in the answer. Raises `InvalidInput`."""
        target = target_of(self.given)
        talk = dialogue(target, probe_of(target) if self.sample is None else self.sample)
        next(talk)
        try:
            talk.send(reply)
        except StopIteration as end:
            values: list[float] = end.value[0].tolist()
            return target, values
        raise InvalidInput("the target asks for more than one request: write its file by hand")


def _meanings(guess: AnswerGuess, names: list[str]) -> dict[str, str]:
    """The class that each label of the answer may stand for, in order; none where they are the ``names``."""
    labels = [] if "of" in guess.read else [each for each in guess.classes or () if each != UNNAMED]
    return dict(zip(labels, names, strict=False)) if set(labels) - set(names) else {}


def of_curl(
    command: str,
    base: dict[str, Any],
    looks: dict[str, Any] | AskedData | None,
    read_file: Callable[[Path], bytes],
) -> TargetDraft:
    """The draft of a pasted curl command. ``base`` names and authorises the target; ``looks`` says what a
    sample is, where the user or a data set does."""
    guess = guess_request(read_curl(command, read_file), str(base["name"]), read_file)
    if isinstance(looks, AskedData):
        described, doubt = looks.completed(guess.input)
        doubts = {} if doubt is None else {"input": doubt}
    else:
        described, doubts = looks or guess.input, {} if looks else guess.doubts
    given = base | {"steps": [guess.step], "limits": _limits(many=guess.many)}
    return TargetDraft(given, described, guess.sample, guess.many, guess.secrets, doubts=doubts)


def of_openapi(
    source: str,
    operation: str | None,
    url: str | None,
    base: dict[str, Any],
    looks: dict[str, Any] | None,
    filled: Mapping[str, str],
    read_file: Callable[[Path], bytes],
    heard: Callable[[Exchange], None],
) -> TargetDraft:
    """The draft of an operation in the OpenAPI document of that ``source``, a file or an address. ``filled``
    are values for what stands in the operation's address. Raises `InvalidInput` for what of it cannot be
    used, and `CliError` where nothing can be fetched."""
    name = str(base["name"])
    content = _fetched(source, base, heard) if "://" in source else read_file(Path(source))
    document = read_openapi(content, source)
    chosen = chosen_operation(document, operation)
    variable = variable_of(name)
    example = example_request(document, chosen, url=url, variable=variable, looks=looks, filled=filled)
    guess = guess_request(example.request, name, example.read_file)
    doubts = guess.doubts if looks is None else {}
    given = base | {"steps": [guess.step], "limits": _limits(many=guess.many)}
    if guess.sample.size <= MOST_WRITTEN:
        given["probe"] = guess.sample.ravel().tolist()
    return TargetDraft(
        given, looks or guess.input, guess.sample, guess.many, labels=example.labels, doubts=doubts
    )


def _fetched(address: str, base: dict[str, Any], heard: Callable[[Exchange], None]) -> bytes:
    """What stands at an address, asked under the authorisation of the target that is being made."""
    stand_in = of_preset("kserve-v1", address, "-", base, {"encoding": "vector", "shape": [1]})

    def first() -> Any:
        return (yield TargetCall("GET", address, {}, None))

    reply: TargetReply = converse(stand_in.question(), first(), heard, {})
    return reply.body


def of_preset(
    preset: str,
    url: str,
    model: str | None,
    base: dict[str, Any],
    looks: dict[str, Any] | None,
    **options: str,
) -> TargetDraft:
    """The draft of a preset. Raises `CliError` where nobody says what a sample is."""
    if preset not in presets():
        raise CliError(f"there is no preset {preset!r}; there are {', '.join(presets())}", code=Exit.USAGE)
    if looks is None:
        raise CliError(
            "what does a sample look like?",
            code=Exit.USAGE,
            hint="--data NAME, or --columns age,hours for a table, --shape 28x28x1 for pictures,"
            " --shape 4 for vectors",
        )
    given = base | {"preset": preset, "url": url.rstrip("/")}
    given |= {} if model is None else {"model": model}
    given |= {"options": options} if options else {}
    return TargetDraft(given | {"limits": _limits(many=True)}, looks)


def of_open_inference(
    url: str,
    model: str,
    base: dict[str, Any],
    looks: dict[str, Any] | None,
    heard: Callable[[Exchange], None],
    environment: Mapping[str, str],
) -> TargetDraft:
    """The draft of a model behind the Open Inference Protocol, by the metadata at ``/v2/models/MODEL``."""
    address = f"{url.rstrip('/')}/v2/models/{model}"
    stand_in = of_preset("open-inference", url, model, base, looks or {"encoding": "vector", "shape": [1]})

    def first() -> Any:
        return (yield TargetCall("GET", address, {}, None))

    reply: TargetReply = converse(stand_in.question(), first(), heard, environment)
    try:
        metadata = orjson.loads(reply.body)
        [taken], outputs = metadata["inputs"], metadata["outputs"]
        sides = [int(side) for side in taken["shape"]][1:]
        names, datatype = [str(each["name"]) for each in outputs], str(taken["datatype"])
        given, out = str(taken["name"]), names[0]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise CliError(
            f"{address} describes no model with one input",
            code=Exit.FAILED,
            hint="models of several inputs are asked by a file of your own",
        ) from error
    described = looks or _described(sides, datatype)
    draft = of_preset("open-inference", url, model, base, described, input=given, output=out)
    if looks is None:
        draft.doubts["input"] = "the protocol tells the shape alone: is this the encoding, and its range?"
    if len(names) > 1:
        draft.doubts["options"] = f"which output is released? There are {', '.join(names)}"
    return draft


def _described(sides: list[int], datatype: str) -> dict[str, Any]:
    """The input by the lengths of its axes. Raises `CliError` where they do not tell."""
    encoding = {1: "vector", 2: "series", 3: "picture"}.get(len(sides))
    if encoding is None or min(sides) < 1 or (encoding == "picture" and sides[-1] > 3):
        axes = "x".join(map(str, sides)) or "none"
        raise CliError(
            f"the axes of the model's input, {axes}, do not tell what a sample is",
            code=Exit.USAGE,
            hint="say it: --columns age,hours, or --shape 28x28x1",
        )
    described: dict[str, Any] = {"encoding": encoding, "shape": sides}
    return described | (
        {"dtype": "uint8" if datatype == "UINT8" else "float32"} if encoding == "picture" else {}
    )


def _limits(*, many: bool) -> dict[str, Any]:
    return {"concurrency": 4, **({"batch": 32} if many else {})}
