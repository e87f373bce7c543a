"""What a file is that was given as a model of Leakrange's own, and what to give in its place."""

from __future__ import annotations

from pathlib import Path

import orjson

from leakrange.clients.cli.exits import CliError, Exit

__all__ = ["check_model"]

CLASSIFIER = "classifier.safetensors"
CARD = "describe it in a card and add --card CARD.yaml: the guide 'Model files' shows one"
_BY_ENDING = {
    (".csv", ".parquet", ".npz", ".npy", ".tsv", ".xlsx"): (
        "a table or an array of numbers, and no model",
        "'leakrange data import' makes a data set of it, for --data; recorded answers of a model are for"
        " 'leakrange answers audit'",
    ),
    (".yaml", ".yml", ".toml", ".json"): (
        "a text of settings, and no model",
        "give the model's own file; 'leakrange audit endpoint FILE' takes a target, --card a card, and"
        " 'leakrange run FILE' a scenario",
    ),
    (".html", ".pdf", ".txt", ".md"): ("a document, and no model", "give the model's own file"),
}


def check_model(path: Path, content: bytes) -> None:
    """Raise `CliError` for a file that holds no classifier of Leakrange's own: it says what the file is."""
    what, hint = _explained(path, content) or (None, None)
    if what is not None:
        raise CliError(f"{path} is {what}", code=Exit.USAGE, hint=hint)


def _explained(path: Path, content: bytes) -> tuple[str, str | None] | None:
    """What the file is and what to do; None for a file that may be a classifier, and for a damaged one."""
    from leakrange.providers.foreign.formats import format_of
    from leakrange.wire.errors import InvalidArtifact

    named = next((said for endings, said in _BY_ENDING.items() if path.suffix.lower() in endings), None)
    if named is not None:
        return named
    length = int.from_bytes(content[:8], "little")
    if content[8:9] == b"{" and length < len(content):
        return _weights(content[8 : 8 + length])
    try:
        entry = format_of(content)
    except InvalidArtifact as error:
        what = error.detail.removeprefix("the file is ")
        return (
            None if what.startswith("in no format") else (what, error.hint)
        )  # its reader says what is wrong
    return f"a model that others made ({entry.title})", CARD


def _weights(header: bytes) -> tuple[str, str | None] | None:
    """As `_explained`, of a file of weights with that header."""
    try:
        config = orjson.loads(orjson.loads(header)["__metadata__"]["leakrange"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return (
            "a file of weights (safetensors), which does not say to which net they belong",
            f"export the net with its weights by torch.onnx.export; then {CARD}",
        )
    kind = config.get("kind") if isinstance(config, dict) else None
    if kind == "classifier" or not isinstance(kind, str):
        return None
    if kind == "defence":
        return "a trained defence, and no classifier", f"give a {CLASSIFIER}, as a range keeps it in 'models'"
    return (
        f"a decoder ({kind}): with it a curious provider reads the answers of its model. It takes no samples,"
        " so it cannot be audited alone",
        f"give the model that it belongs to, {CLASSIFIER} in the same folder",
    )
