"""Reading classifiers and decoders from files that may come from anywhere, see `leakrange.nets.module_file`.
All failures are `InvalidArtifact`."""

from __future__ import annotations

from pathlib import Path

import torch
from pydantic import ValidationError

from leakrange.nets import nets
from leakrange.nets.classifier import Classifier
from leakrange.nets.last_layers import with_cosines, with_one_logit
from leakrange.nets.mixture import ensemble, mixture
from leakrange.nets.module_file import ModuleFile, Uninitialised, first_mistake
from leakrange.providers.decoder import Decoder, DecoderConfig
from leakrange.providers.decoders import decoders
from leakrange.providers.model_config import ClassifierConfig
from leakrange.registry import UnknownName
from leakrange.wire.errors import InvalidArtifact

__all__ = ["load_classifier", "load_decoder"]


def load_classifier(source: bytes | Path) -> tuple[Classifier, ClassifierConfig]:
    """A classifier on the CPU, in eval mode, without gradients, and its config."""
    file = ModuleFile.read(source)
    try:
        config = ClassifierConfig.model_validate_json(file.config)
        with torch.device("meta"), Uninitialised():
            plan = _built(config)
    except ValidationError as e:
        raise InvalidArtifact(f"the config of the model file is not valid: {first_mistake(e)}") from e
    except (UnknownName, ValueError) as e:
        raise InvalidArtifact(f"the config of the model file cannot be built: {e}") from e
    if plan.feature_count != config.features:
        raise InvalidArtifact(f"the config says {config.features} features, its net has {plan.feature_count}")
    weights = file.weights(plan)
    with Uninitialised():
        classifier = _built(config)
    classifier.load_state_dict(weights)
    return classifier.eval().requires_grad_(False), config


def load_decoder(source: bytes | Path) -> Decoder:
    """A decoder of any registered kind; its net, if it has one, is in eval mode, without gradients."""
    file = ModuleFile.read(source)
    try:
        kind = DecoderConfig.model_validate_json(file.config, extra="ignore").kind
        entry = decoders[kind]
        config = entry.Config.model_validate_json(file.config)
    except ValidationError as e:
        raise InvalidArtifact(f"the config of the decoder file is not valid: {first_mistake(e)}") from e
    except UnknownName as e:
        raise InvalidArtifact(f"the config of the decoder file is not valid: kind: {e}") from e
    try:
        with torch.device("meta"), Uninitialised():
            plan = entry.build(config).module()
    except (UnknownName, ValueError) as e:
        raise InvalidArtifact(f"the config of the decoder file cannot be built: {e}") from e
    if plan is None:
        if file.entries:
            raise InvalidArtifact(f"a decoder of kind {kind!r} has no tensors, this file has some")
        return entry.build(config)
    weights = file.weights(plan)
    with Uninitialised():
        decoder = entry.build(config)
    net = decoder.module()
    assert net is not None
    net.load_state_dict(weights)
    net.eval().requires_grad_(False)
    return decoder


def _built(config: ClassifierConfig) -> Classifier:
    """The net of a config; raises `UnknownName` or `ValueError` where there is no such net."""
    build = nets[config.net].build
    if config.sigmoid:
        return with_one_logit(build(config.input, len(config.classes) // 2, config.width))
    if config.voters is not None:
        return ensemble(
            [build(config.input, len(config.classes), config.width) for _ in range(config.voters)]
        )
    net = build(config.input, len(config.classes), config.width)
    if config.cosine is not None:
        return with_cosines(net, config.cosine)
    net.heads = config.heads or net.heads
    if (mixed := config.mixture) is None:
        return net
    second = build(config.input, mixed.classes, config.width)
    return mixture(net, second, beta_s=mixed.beta_s, hard=mixed.hard)
