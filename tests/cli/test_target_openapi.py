"""``leakrange target new --openapi``: from FastAPI's own document of a service to a file that is checked."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import orjson
import pytest
from fastapi import Depends, FastAPI, HTTPException, UploadFile
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from PIL import Image
from pydantic import BaseModel, Field

from leakrange.targets.target import read_target
from tests.embedded import Done, leakrange
from tests.serving import serving

Key = Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]


class Applicant(BaseModel):
    age: Annotated[int, Field(ge=18, le=100)]
    hours: float
    job: Literal["clerk", "nurse"]
    note: str | None = None


class Applicants(BaseModel):
    instances: list[Applicant]


class Risk(BaseModel):
    label: Literal["high", "low"]


class Vector(BaseModel):
    signal: Annotated[list[float], Field(min_length=5, max_length=5)]
    threshold: float = 0.5


class Photograph(BaseModel):
    image: Annotated[str, Field(description="a PNG in base64")]


def services() -> FastAPI:
    """Rows of a table whose label alone is told, behind a key; vectors; pictures in base64 and as files."""
    app = FastAPI()

    @app.get("/health")
    async def health() -> str:
        return "well"

    @app.post("/train")
    async def train(wanted: dict[str, str]) -> str:
        raise HTTPException(500, f"nobody trains: {wanted}")

    @app.post("/v1/{version}/risk:predict", operation_id="risk")
    async def risk(version: str, asked: Applicants, key: Key) -> list[Risk]:
        assert (version, key.credentials) == ("beta", "4af9c0")
        return [Risk(label="high" if each.age > 40 else "low") for each in asked.instances]

    @app.post("/score")
    async def score(asked: Vector) -> dict[str, list[float]]:
        first = min(max(asked.signal[0], 0.0), 0.75)
        return {"probabilities": [first, 1.0 - first]}

    @app.post("/photo/classify")
    async def classify(asked: Photograph) -> dict[str, Any]:
        return shares(base64.b64decode(asked.image))

    @app.post("/photo/upload")
    async def upload(file: UploadFile) -> dict[str, Any]:
        return shares(await file.read())

    return app


def shares(file: bytes) -> dict[str, Any]:
    light = float(np.asarray(Image.open(io.BytesIO(file))).mean() / 255)
    return {"classes": ["dark", "light"], "scores": [1.0 - light, light]}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(services()) as address:
        yield address


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def new(*words: str, **environment: str) -> Done:
    return leakrange("target", "new", "--yes", "--owner", "team@example.com", *words, **environment)


def test_rows_behind_a_key_become_a_file_with_the_labels_of_the_document(url: str) -> None:
    words = ["--openapi", f"{url}/openapi.json", "--operation", "risk", "--name", "risk"]
    open_part = new(*words)
    assert (open_part.returncode, "--option version=VALUE" in open_part.stderr) == (2, True), open_part.stderr
    words += ["--option", "version=beta"]
    without_key = new(*words)
    assert "RISK_KEY is not set" in without_key.stderr
    done = new(*words, RISK_KEY="4af9c0")
    assert done.returncode == 0, done.stderr
    target = read_target(Path("risk.yaml").read_text())
    assert target.steps[0].url == f"{url}/v1/beta/risk:predict"
    assert target.steps[0].json_ == {"instances": "${rows}"}
    assert target.steps[0].headers == {"Authorization": "Bearer ${RISK_KEY}"}
    assert target.card.input.columns == ("age", "hours", "job")  # what may be left out is not sent
    assert target.card.input.categories == {"job": ("clerk",)}
    assert (target.card.classes, target.card.answers) == (("high", "low"), "labels")
    assert target.probe == (59.0, 1.0, 0.0)  # it refuses an age of 0
    checked = leakrange("target", "check", "risk.yaml", RISK_KEY="4af9c0")
    assert checked.returncode == 0, checked.stderr


def test_vectors_are_as_long_as_the_document_says_and_other_members_keep_their_defaults(url: str) -> None:
    done = new("--openapi", f"{url}/openapi.json", "--operation", "POST /score", "--name", "signal")
    assert done.returncode == 0, done.stderr
    target = read_target(Path("signal.yaml").read_text())
    assert target.card.input.shape == (5,)
    assert target.steps[0].json_ == {"signal": "${sample}"}
    assert "two numbers that sum to 1: softmax" in done.stderr


@pytest.mark.parametrize("path", ["/photo/classify", "/photo/upload"])
def test_pictures_in_base64_and_as_files(url: str, path: str) -> None:
    words = ["--operation", path, "--name", "photo", "--shape", "20x30x3"]
    done = new("--openapi", f"{url}/openapi.json", *words)
    assert done.returncode == 0, done.stderr
    target = read_target(Path("photo.yaml").read_text())
    assert (target.card.input.encoding, target.card.input.shape) == ("picture", (20, 30, 3))
    assert target.card.classes == ("dark", "light")
    assert leakrange("target", "check", "photo.yaml").returncode == 0


def test_a_document_in_a_file_wants_the_address_and_the_operation(url: str) -> None:
    Path("api.json").write_bytes(orjson.dumps(services().openapi()))
    unclear = new("--openapi", "api.json", "--url", url)
    assert unclear.returncode == 2
    assert "which operation is asked?" in unclear.stderr
    assert "POST /score" in unclear.stderr
    nowhere = new("--openapi", "api.json", "--operation", "/score")
    assert "--url" in nowhere.stderr
    done = new("--openapi", "api.json", "--operation", "/score", "--url", url, "--name", "signal")
    assert done.returncode == 0, done.stderr
    assert not Path("target.yaml").exists()
    remote = new("--openapi", "https://models.example.com/openapi.json")
    assert "--authorised" in remote.stderr
