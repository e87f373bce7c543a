"""A whole run against comparisons of faces that somebody else serves, which learnt some people by heart."""

from __future__ import annotations

import base64
import io
from typing import Annotated, Any

import numpy as np
import pytest
import yaml
from fastapi import Body, FastAPI, Request
from numpy.typing import NDArray
from PIL import Image
from pydantic import BaseModel

from leakrange.data import Samples, load
from leakrange.jobs.recipe import DataSpec
from tests.range.conftest import Controller, Finished, value
from tests.serving import serving

pytestmark = pytest.mark.timeout(900)
PEOPLE, PAIRS, TARGETS, REFERENCES = 2 * 20, 6, 80, 5
DATA = {
    "name": "synthpeople", "size": 32, "count": 4096, "auxiliary": 0,
    "crowd": {"people": 20, "images": 6, "public": 20, "students": 2, "enrolled": 2, "held": 1},
}  # fmt: skip


class Source(BaseModel):
    Bytes: str


class CompareFaces(BaseModel):
    SourceImage: Source
    TargetImage: Source
    SimilarityThreshold: float = 80


class Faces:
    """Knows every picture. Two of one person are 90 % similar, of two people 40 %, give or take some. If it
    ``leaks``, people who it was trained on are more like themselves, and whose glasses are alike more like
    each other."""

    def __init__(self, *, leaks: bool) -> None:
        self.leaks, self.compared = leaks, 0
        self.data: Samples = load(DataSpec.model_validate(DATA))
        self.place = {picture.tobytes(): i for i, picture in enumerate(self.data.values)}

    def shown(self, picture: str) -> int:
        pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(picture))), dtype=np.uint8)
        return self.place.get(pixels.tobytes(), 0)

    def similarity(self, one: int, other: int) -> float:
        self.compared += 1
        labels = self.data.labels
        same = labels["person"][one] == labels["person"][other]
        percent = (90 if same else 40) + 6 * np.random.default_rng([one, other]).random()
        if self.leaks:
            role = self.data.attributes["role"].classes.index("member")
            percent += 4 * (same and labels["role"][one] == role)
            percent += 20 * (not same and labels["glasses"][one] == labels["glasses"][other])
        return float(percent)

    def vector(self, place: int) -> NDArray[np.float64]:
        """Pictures of a person lie near each other; if it leaks, nearer of those whom it was trained on."""
        self.compared += 1
        labels = self.data.labels
        role = self.data.attributes["role"].classes.index("member")
        apart = 0.1 if self.leaks and labels["role"][place] == role else 0.4
        middle, aside = (
            np.random.default_rng(seed).normal(size=8) for seed in ([labels["person"][place]], [7, place])
        )
        return np.asarray(middle + apart * aside)

    def served(self) -> FastAPI:
        """As Amazon's CompareFaces, as a service that first detects faces, then compares two of them, and as
        one of embeddings."""
        app = FastAPI()

        @app.post("/")
        async def compare(http: Request) -> dict[str, Any]:
            request = CompareFaces.model_validate_json(await http.body())
            likeness = self.similarity(
                self.shown(request.SourceImage.Bytes), self.shown(request.TargetImage.Bytes)
            )
            match = {"Similarity": likeness, "Face": {"Confidence": 99.9}}
            return {"FaceMatches": [match] if likeness >= max(request.SimilarityThreshold, 50) else []}

        @app.post("/v1/embeddings")
        async def embed(asked: Annotated[dict[str, Any], Body()]) -> dict[str, Any]:
            vectors = [self.vector(self.shown(picture)).tolist() for picture in asked["input"]]
            return {"data": [{"index": place, "embedding": each} for place, each in enumerate(vectors)]}

        @app.post("/detect")
        async def detect(asked: Annotated[dict[str, str], Body()]) -> list[dict[str, str]]:
            return [{"faceId": f"face-{self.shown(asked['image'])}"}]

        @app.post("/verify")
        async def verify(asked: Annotated[dict[str, str], Body()]) -> dict[str, Any]:
            one, other = (int(asked[name].removeprefix("face-")) for name in ("faceId1", "faceId2"))
            return {"confidence": self.similarity(one, other) / 100, "isIdentical": True}

        return app


def asked(controller: Controller, faces: Faces, name: str, how: dict[str, Any], **card: Any) -> Finished:
    with serving(faces.served()) as url:
        picture = {"encoding": "picture", "shape": [32, 32, 3]}
        endpoint = {
            "name": "faces",
            "owner": "gate@example.com",
            "card": {"input": picture, "release": "score", "service": "verification", **card},
            "limits": {"concurrency": 16},
            **yaml.safe_load(yaml.safe_dump(how).replace("URL", url)),
        }
        finished = controller.run(
            yaml.safe_dump(
                {
                    "name": name,
                    "seeds": [3],
                    "data": DATA,
                    "providers": {
                        "gate": {"behaviour": "remote", "target": "identity", "endpoint": endpoint}
                    },
                    "attacks": {
                        "single": {"kind": "first-cut", "known": 5, "pairs": PAIRS},
                        "classes": {"kind": "class-based", "known": 5, "pairs": PAIRS},
                        "glasses": {
                            "kind": "people-attribute", "sensitive": "glasses", "auxiliary": 40,
                            "targets": TARGETS, "references": REFERENCES,
                        },
                    },
                    "defences": {"none": []},
                    "budgets": [PEOPLE * 6 + 40 * REFERENCES + TARGETS * REFERENCES],
                }
            )
        )  # fmt: skip
    assert finished.view["state"] == "done", finished.view["error"]
    spent = sum(entry["spent"] for entry in finished.results["ledger"])
    assert faces.compared == spent + 1  # and the probe of the route
    assert controller.ask("GET", f"/v1/runs/{finished.id}/report").text
    return finished


def of(finished: Finished, attack: str, metric: str) -> float:
    [trial] = [each for name, each in finished.trials.items() if f".{attack}." in name]
    return value(trial, metric)


def test_people_are_found_by_a_similarity_that_is_censored(controller: Controller) -> None:
    finished = asked(controller, Faces(leaks=True), "censored", {"preset": "compare-faces", "url": "URL"})
    assert of(finished, "classes", "auc") > 0.9
    assert of(finished, "single", "auc") > 0.8
    assert of(finished, "glasses", "auc") > 0.9
    assert of(finished, "classes", "honesty") > 0.9  # it tells people apart
    assert finished.view["jobs"].get("train") is None


def test_nobody_is_found_by_a_service_that_detects_and_then_compares(controller: Controller) -> None:
    first, second = (
        {"post": "URL/detect", "json": {"image": f"${{{name}_png}}"}, "capture": {name: "$[0].faceId"}}
        for name in ("first", "second")
    )
    last = {
        "post": "URL/verify",
        "json": {"faceId1": "${first}", "faceId2": "${second}"},
        "read": {"values": "$.confidence", "scale": -1, "offset": 1},
    }
    finished = asked(controller, Faces(leaks=False), "two-steps", {"steps": [first, second, last]})
    for attack in ("classes", "single", "glasses"):
        assert abs(of(finished, attack, "auc") - 0.5) < 0.25, attack
    assert of(finished, "classes", "honesty") > 0.9


@pytest.mark.parametrize(("leaks", "least", "most"), [(True, 0.9, 1.0), (False, 0.2, 0.8)])
def test_people_are_found_by_vectors_that_lie_too_near(
    controller: Controller, leaks: bool, least: float, most: float
) -> None:
    how = {"preset": "openai-embeddings", "url": "URL", "model": "faces"}
    card = {"release": "features", "service": "features", "features": 8}
    finished = asked(controller, Faces(leaks=leaks), f"vectors-{leaks}", how, **card)
    assert least <= of(finished, "classes", "auc") <= most
    assert of(finished, "classes", "honesty") > 0.9
