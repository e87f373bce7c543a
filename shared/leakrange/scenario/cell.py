"""One cell of the matrix as its kind of attack sees it, and what the trials of a plan need, each thing
once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from leakrange.attacks.kinds.cell import Cell
from leakrange.defences.chain import DefenceChain
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span, Split
from leakrange.jobs.steps.craft import CraftJob
from leakrange.scenario.bounds import Requests
from leakrange.scenario.document import ClientSpec
from leakrange.scenario.plan import PlannedModel, PlannedObfuscator, PlannedProbe, PlannedStream
from leakrange.scenario.provider import SoundProvider
from leakrange.scenario.sizes import Sizes, known_sizes

__all__ = ["UNKNOWN_SAMPLES", "Needed", "PlannedCell"]

UNKNOWN_SAMPLES = 512
"""Users' samples where the scenario says nothing and the size of the data is not known here."""


@dataclass(frozen=True)
class _Question:
    """One question to a model under one defence in one draw, without its number of samples."""

    id: str
    model: str
    defence: str
    draw: int
    split: Split
    by: Literal["attacker", "users"]
    on_device: bool
    """Whether the attacker does what users' devices do."""
    data: DataSpec | None
    """None: the provider's."""
    references: int
    variant: int
    crafted: str
    replays: _Question | None = None
    """The question whose stored answers stand for its own, so that nobody is asked."""


@dataclass
class Needed:
    """Everything that the trials need so far, by id."""

    client: ClientSpec
    requests: Requests
    undefended: str
    """The name of the empty defence."""
    asked: Mapping[str, str]
    """By defence, the one under which an attacker who knows it asks."""
    chains: Mapping[str, DefenceChain]
    sizes: Sizes
    replay: bool = False
    """Whether answers of remote models behind a defence are made from undefended ones."""
    models: dict[str, PlannedModel] = field(default_factory=dict)
    shadows: dict[str, PlannedModel] = field(default_factory=dict)
    obfuscators: dict[str, PlannedObfuscator] = field(default_factory=dict)
    """By the digest of the recipe."""
    streams: dict[str, PlannedStream] = field(default_factory=dict)
    crafts: dict[str, CraftJob] = field(default_factory=dict)
    """By identity."""
    questions: dict[_Question, int] = field(default_factory=dict)
    """The number of samples of each: the most that any trial needs."""

    def probes(self) -> list[PlannedProbe]:
        """Return all questions, split into requests. Raises `InvalidScenario` if there are too many."""
        probes = []
        for question, wanted in self.questions.items():
            count = wanted if question.replays is None else self.questions[question.replays]
            data = question.data or self.models[question.model].recipe.data.of_everyone()
            spans = self.requests.spans(data, question.split, count, question.variant)
            probes.append(
                PlannedProbe(
                    id=question.id,
                    model=question.model,
                    defence=question.defence,
                    draw=question.draw,
                    local=self._local(question),
                    spans=[span.model_copy(update={"crafted": question.crafted}) for span in spans],
                    by=question.by,
                    references=question.references,
                    replays="" if question.replays is None else question.replays.id,
                )
            )
        return probes

    def planned(self, chain: DefenceChain, model: PlannedModel) -> DefenceChain:
        """The chain as the devices of a model's users have it: with what is trained for it, on the data and
        under the seed of the model."""
        planned, recipes = chain.planned(model.recipe.data.of_everyone(), model.seed)
        for recipe in recipes:
            self.obfuscators.setdefault(recipe.digest(), PlannedObfuscator.of(recipe))
        return planned

    def _local(self, question: _Question) -> DefenceChain:
        if not question.on_device:
            return DefenceChain()
        chain = self.planned(self.chains[question.defence], self.models[question.model])
        # the proxy sees nothing of a model that the attacker runs himself: he does the proxy's part as well
        return chain if chain.changes_model else DefenceChain(inputs=chain.inputs)


@dataclass(kw_only=True)
class PlannedCell(Cell):
    """A cell; its kind of attack adds to ``needed`` what it needs.

    ``draws`` are those in which the attacker asks, ``sizes`` of the provider's splits, as far as known.
    """

    needed: Needed
    provider: SoundProvider
    defence: str
    chain: DefenceChain
    local: DefenceChain
    seed: int
    draws: range
    sizes: Mapping[str, int] | None
    samples: dict[str, int] = field(default_factory=dict)
    """By probe, how many it asks for."""

    @property
    def model(self) -> PlannedModel:
        """The attacked model."""
        name, known = f"{self.provider.name}-s{self.seed}", self.needed.models
        if not self.chain.representation:
            if name not in known:
                known[name] = self.provider.model(name, self.seed)
            return known[name]
        plain = self.provider.model(name, self.seed)
        extractor = self.needed.planned(self.chain, plain).extractor
        assert extractor is not None
        name = f"{self.provider.name}-{extractor[:8]}-s{self.seed}"
        if name not in known:
            known[name] = self.provider.represented(name, self.seed, self.needed.obfuscators[extractor])
        return known[name]

    @property
    def data(self) -> DataSpec:
        """The data as loaded by somebody who must not know what the model was trained on."""
        return self.model.recipe.data.of_everyone()

    def available(self, split: Split = "auxiliary", data: DataSpec | None = None) -> int | None:
        """Samples of a split; None where that is not known."""
        sizes = self.sizes if data is None else self.needed.sizes(data)
        return sizes[split] if sizes else None

    def uploads(self, draws: int = 1, *, undefended: bool = False) -> list[str]:
        """One stream for each draw; a single one where all would be equal."""
        chain = DefenceChain() if undefended else self.chain
        defence = self.needed.undefended if undefended else self.defence
        same = chain.deterministic and self.local.deterministic
        names = []
        for draw in range(1 if same else draws):
            name = f"{self.model.id}.{defence}.u{draw}"
            names.append(name)
            replays = ""
            if self._replays(chain):
                [replays] = self.uploads(undefended=True)
            if name not in self.needed.streams:
                self.needed.streams[name] = self._stream(name, draw, defence, chain, replays)
        return names

    def _replays(self, chain: DefenceChain) -> bool:
        """Whether stored answers can stand for those behind that chain: it is the proxy's alone."""
        outputs_alone = bool(chain.outputs.stages) and not chain.on_device and not chain.representation
        return self.needed.replay and outputs_alone and self.model.remote is not None

    def _stream(self, name: str, draw: int, defence: str, chain: DefenceChain, replays: str) -> PlannedStream:
        client = self.needed.client
        local = self.needed.planned(self.local.then(chain.on_device), self.model)
        samples = client.samples or (self.sizes["test"] if self.sizes else UNKNOWN_SAMPLES)
        if self.sizes:
            samples = min(samples, self.sizes["test"])
        return PlannedStream(
            id=name,
            model=self.model.id,
            defence=defence,
            draw=draw,
            clients=client.count,
            local=local,
            spans=self.needed.requests.spans(self.provider.data, "test", samples),
            audit=AuditPlan(data=self.provider.data) if client.intake == "audited" else None,
            replays=replays,
        )

    def ask(
        self,
        split: Split,
        count: int,
        *,
        data: DataSpec | None = None,
        undefended: bool = False,
        by: Literal["attacker", "device", "users"] = "attacker",
        references: int = 0,
        variant: int = 0,
        crafted: str = "",
        repeated: bool = True,
    ) -> list[str]:
        """One probe for each time that the attacker asks; a single one if users ask or the question is not
        repeated."""
        defence = self.needed.undefended if undefended else self.needed.asked[self.defence]
        on_device = by == "device" and not undefended and bool(self.chain.on_device)
        if on_device:
            defence = self.defence
        asker: Literal["attacker", "users"] = "users" if by == "users" else "attacker"
        where = "device" if on_device else "q"
        kind = where if split == "auxiliary" else f"{split}-{where}" if on_device else split
        kind = f"{data.name}-{kind}" if data is not None else kind
        names = []
        for draw in self.draws if repeated and by != "users" else range(1):

            def question(defence: str, draw: int, of: _Question | None = None) -> _Question:
                mark = "users" if by == "users" else f"{kind}{draw}"
                name = f"{self.model.id}.{defence}.{mark}" + (f".r{references}" if references else "")
                name += f".v{variant}" if variant else ""
                name += f".c{crafted[:8]}" if crafted else ""
                return _Question(
                    name,
                    self.model.id,
                    defence,
                    draw,
                    split,
                    asker,
                    on_device,
                    data,
                    references,
                    variant,
                    crafted,
                    of,
                )

            replayed = None
            if not undefended and self._replays(self.chain) and defence != self.needed.undefended:
                replayed = question(self.needed.undefended, 0)
                self._note(replayed, count)
            asked = question(defence, draw, replayed)
            self._note(asked, count)
            self.samples[asked.id] = max(count, self.samples.get(asked.id, 0))
            names.append(asked.id)
        return names

    def _note(self, question: _Question, count: int) -> None:
        questions = self.needed.questions
        questions[question] = max(count, questions.get(question, 0))

    def shadow(self, number: int) -> str:
        """The id of a shadow that all seeds and all attacks on a provider share."""
        name = f"{self.provider.name}-shadow{number}"
        if name not in self.needed.shadows:
            recipe = self.provider.shadow(number)
            self.needed.shadows[name] = self.provider.own_model(name, number, recipe)
        return name

    def composed(self, number: int, share: float, *, stand_in: bool) -> str:
        """The id of a model that all attacks of one seed on a provider share. Raises `InvalidScenario` where
        the data has too few samples of either side."""
        what, percent = "stand-in" if stand_in else "shadow", f"{share * 100:g}".replace(".", "_")
        name = f"{self.provider.name}-s{self.seed}-{what}{number}-of-{percent}"
        if name not in self.needed.shadows:
            recipe = self.provider.composed(self.seed, number, share, stand_in=stand_in)
            assert recipe.data.composition is not None  # else it has no target
            undrawn = recipe.data.composition.model_copy(update={"seed": 0})
            data = recipe.data.model_copy(update={"composition": undrawn})
            known_sizes(self.provider.label, data, self.needed.sizes)  # whether it has enough of either side
            self.needed.shadows[name] = self.provider.own_model(name, number, recipe)
        return name

    def crafted(self, span: Span, shadows: list[str]) -> Span:
        """The span with samples in its place that are crafted against those shadows, once for all seeds."""
        assert isinstance(self.provider.target, str)  # a kind with crafted questions has one target
        recipes = [self.needed.shadows[name].recipe for name in shadows]
        job = CraftJob(recipes=recipes, span=span, target=self.provider.target)
        self.needed.crafts.setdefault(job.identity(), job)
        return span.model_copy(update={"crafted": job.identity()})

    def recogniser(self) -> str:
        """The id of a recogniser that all attacks on a provider share, one for each seed."""
        name = f"{self.provider.name}-recogniser-s{self.seed}"
        if name not in self.needed.shadows:
            self.needed.shadows[name] = self.provider.recogniser(name, self.seed)
        return name

    def copy(self) -> str:
        """The id of a copy of the model; it is trained once, with the model that is served."""
        name = f"{self.model.id}-copy"
        if name not in self.needed.shadows:
            copied = {"id": name, "release": "features", "service": None}
            self.needed.shadows[name] = self.model.model_copy(update=copied)
        return name
