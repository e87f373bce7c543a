"""A trained model on disk: one folder per recipe digest, written completely or not at all.

``classifier.safetensors`` is the file that users download (with the default release of the deployment, see
`public_bytes`): weights, and what is needed to run them. It does not mention the behaviour, a sensitive
attribute or a decoder, so two models that differ only in behaviour differ in it only by their weights and the
default release. Three behaviours are exceptions, a mixture of two classifiers, votes of many, and logits that
are cosines: nobody could run such a model without knowing. So is the ledger of a private training, a promise
to users. ``decoder.safetensors`` is the provider's secret: the attack net, the threshold, or whatever else
reads s. ``training.json`` is the record. It is the provider's secret too, since it lists the samples of a
pool that were trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakrange.data.samples import names
from leakrange.nets.classifier import Classifier
from leakrange.nets.last_layers import CosineHead, OneLogitHead
from leakrange.nets.mixture import MixtureHead, VoteHead
from leakrange.nets.module_file import packed
from leakrange.providers.artifact_files import (
    CLASSIFIER,
    DECODER,
    RECORD,
    find,
    installed,
    read_files,
    write_files,
)
from leakrange.providers.decoder import Decoder
from leakrange.providers.model_config import ClassifierConfig, MixtureConfig
from leakrange.providers.model_file import load_classifier, load_decoder
from leakrange.providers.training import TrainedModel
from leakrange.wire.releases import ReleaseKind

__all__ = ["CLASSIFIER", "DECODER", "RECORD", "Artifact", "find", "load", "public_bytes", "save"]


@dataclass(frozen=True)
class Artifact:
    """A loaded artifact folder. ``sha256`` is that of the classifier's file; ``record`` is
    ``training.json``."""

    folder: Path
    classifier: Classifier
    config: ClassifierConfig
    decoder: Decoder | None
    sha256: str
    record: dict[str, Any]


def save(root: Path, trained: TrainedModel) -> Path:
    """Write ``<root>/<recipe digest>/`` and give its path, see `write_files`."""
    files = {CLASSIFIER: classifier_bytes(trained)}
    if trained.decoder is not None:
        files[DECODER] = decoder_bytes(trained.decoder)
    record = {
        "recipe": trained.recipe.model_dump(mode="json"),
        "chosen_epoch": trained.chosen_epoch,
        "history": trained.history,
        "figures": trained.figures,
        "seconds": trained.seconds,
        "device": trained.device,
        "parameters": trained.classifier.parameter_count(),
        "versions": installed(),
    }
    if trained.ledger is not None:
        record["privacy"] = trained.ledger.model_dump(mode="json")
    if trained.members is not None:
        record["members"] = trained.members
    return write_files(root, trained.recipe.digest(), "provider", files, record)


def load(folder: Path) -> Artifact:
    """Load a provider's artifact folder; raises `InvalidArtifact` where a file is missing, damaged, or not
    what the record says, and for an artifact of another kind."""
    files = read_files(folder, "provider")
    classifier, config = load_classifier(files.main)
    decoder = load_decoder(files.decoder) if files.decoder is not None else None
    return Artifact(folder, classifier, config, decoder, files.sha256, files.record)


def classifier_bytes(trained: TrainedModel) -> bytes:
    """The public file of a trained model."""
    net = trained.classifier
    config = ClassifierConfig(
        net=trained.recipe.net.name,
        width=trained.recipe.net.width,
        input=net.spec,
        target=", ".join(names(trained.recipe.parameters["target"])),
        classes=trained.target_classes,
        default_release=trained.default_release,
        features=net.feature_count,
        mixture=_mixture(net),
        voters=len(net.head.heads) if isinstance(net.head, VoteHead) else None,
        heads=net.heads if len(net.heads) > 1 else None,
        sigmoid=True if isinstance(net.head, OneLogitHead) else None,
        cosine=net.head.scale if isinstance(net.head, CosineHead) else None,
        privacy=trained.ledger,
    )
    return packed(net.state_dict(), config.model_dump_json(exclude_none=True))


def public_bytes(artifact: Artifact, release: ReleaseKind) -> bytes:
    """The classifier's file for users. It names the default release of the deployment, since the release for
    which the classifier was trained can give a curious model away."""
    config = artifact.config.model_copy(update={"default_release": release})
    return packed(artifact.classifier.state_dict(), config.model_dump_json(exclude_none=True))


def decoder_bytes(decoder: Decoder) -> bytes:
    """The private file of a decoder."""
    net = decoder.module()
    return packed({} if net is None else net.state_dict(), decoder.config.model_dump_json())


def _mixture(net: Classifier) -> MixtureConfig | None:
    """The composition of a mixture, which its file must name to be of use; None for other classifiers."""
    head = net.head
    if not isinstance(head, MixtureHead):
        return None
    return MixtureConfig(classes=head.classes, beta_s=head.beta_s, hard=head.hard)
