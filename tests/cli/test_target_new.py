"""``leakrange target new``: from what a user has at hand to a file that is checked as it is."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from leakrange.data.importing import ColumnUse, import_set
from leakrange.targets.target import read_target
from tests.data.tables import customers, write_rows
from tests.embedded import Done, leakrange
from tests.proxy.servers import serve

VALUES = [0.125, 0.25, 0.625]


class Server:
    """A model of one's own at ``/score``, which repeats the key that it was sent, and one behind the Open
    Inference Protocol."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.keys: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = (await receive()).get("body", b"")
        self.paths.append(scope["path"])
        self.keys.append(dict(scope["headers"]).get(b"authorization", b"").decode())
        answer = self.answer(scope["path"], orjson.loads(body or b"{}"))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": orjson.dumps(answer)})

    def answer(self, path: str, asked: Any) -> Any:
        if path == "/v2/models/iris":
            tensor = {"name": "x", "shape": [-1, 4], "datatype": "FP32"}
            outputs = [{"name": name, "shape": [-1, 3], "datatype": "FP32"} for name in ("probs", "raw")]
            return {"name": "iris", "inputs": [tensor], "outputs": outputs}
        if path == "/v2/models/iris/infer":
            rows = asked["inputs"][0]["shape"][0]
            return {
                "outputs": [{"name": "probs", "shape": [rows, 3], "datatype": "FP32", "data": VALUES * rows}]
            }
        if path.endswith(":predict"):
            return {"predictions": [VALUES for _ in asked["instances"]]}
        if path == "/named":
            return {"scores": [{"stay": 0.25, "leave": 0.75} for _ in asked["rows"]]}
        if path == "/broken":
            return {"status": "fine"}
        return {"predictions": [{"probs": VALUES} for _ in asked["rows"]], "you": self.keys[-1]}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, str]]:
    monkeypatch.chdir(tmp_path)
    server = Server()
    with serve(server) as url:
        yield server, url


def new(
    monkeypatch: pytest.MonkeyPatch, *words: str, typed: str = "", terminal: bool = False, **environment: str
) -> Done:
    stream = io.StringIO(typed)
    monkeypatch.setattr("sys.stdin", stream)
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    return leakrange("target", "new", *words, **environment)


def curl(url: str) -> str:
    return f"""curl -X POST {url}/score \\
        -H 'Authorization: Bearer s3cret.key' --json '{{"rows": [{{"age": 41, "hours": 8.5}}]}}'"""


def test_a_pasted_command_becomes_a_file(
    served: tuple[Server, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server, url = served
    done = new(monkeypatch, "--name", "risk", "--yes", typed=curl(url))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "risk.yaml"
    assert "three numbers that sum to 1: softmax" in done.stderr
    assert "risk.yaml:4: owner: who runs this model" in done.stderr
    assert "classes: the answer names no classes" in done.stderr
    assert "export RISK_KEY=" in done.stderr
    assert server.keys == ["Bearer s3cret.key"]
    text = (tmp_path / "risk.yaml").read_text()
    assert "s3cret" not in text + done.stdout + done.stderr
    target = read_target(text)
    assert target.card.input.columns == ("age", "hours")
    assert (target.card.release, target.card.classes) == ("softmax", ("0", "1", "2"))
    assert target.variables == {"RISK_KEY"}
    assert "owner: somebody  # CHECK: " in text
    checked = leakrange("target", "check", "risk.yaml", RISK_KEY="another")
    assert checked.returncode == 0, checked.stderr
    assert "0.625" in checked.stdout
    again = new(monkeypatch, "--name", "risk", "--yes", typed=curl(url))
    assert again.returncode == 2
    assert "risk.yaml is there already" in again.stderr
    assert (tmp_path / "risk.yaml").read_text() == text


def test_a_model_behind_open_inference_is_read_from_its_metadata(
    served: tuple[Server, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server, url = served
    done = new(
        monkeypatch,
        "--open-inference",
        url,
        "--model",
        "iris",
        "--yes",
        "--classes",
        "a,b,c",
        "--owner",
        "me there",
    )
    assert done.returncode == 0, done.stderr
    assert server.paths == ["/v2/models/iris", "/v2/models/iris/infer"]
    text = (tmp_path / "iris.yaml").read_text()
    given = yaml.safe_load(text)
    assert given["options"] == {"input": "x", "output": "probs"}
    assert given["card"]["input"] == {"encoding": "vector", "shape": [4]}
    assert given["card"]["classes"] == ["a", "b", "c"]
    assert "which output is released? There are probs, raw" in text
    assert text.count("# CHECK: ") == 2
    assert leakrange("target", "check", "iris.yaml").returncode == 0


def test_a_preset_is_filled(
    served: tuple[Server, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, url = served
    words = ["--preset", "kserve-v1", "--url", url, "--model", "m", "--yes", "--out", "sub/mine.yaml"]
    silent = new(monkeypatch, *words)
    assert silent.returncode == 2
    assert "what does a sample look like?" in silent.stderr
    done = new(monkeypatch, *words, "--shape", "2x3")
    assert done.returncode == 0, done.stderr
    given = yaml.safe_load((tmp_path / "sub" / "mine.yaml").read_text())
    assert (given["name"], given["preset"]) == ("m", "kserve-v1")
    assert given["card"]["input"] == {"encoding": "series", "shape": [2, 3]}


def test_a_data_set_says_what_a_sample_and_the_classes_are(
    served: tuple[Server, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, url = served
    data = {"LEAKRANGE_DATA": str(tmp_path / "data")}
    monkeypatch.setenv("LEAKRANGE_DATA", data["LEAKRANGE_DATA"])
    import_set(
        write_rows(tmp_path / "a.csv", customers()), "mine", ColumnUse("exited", ("gender", "country"))
    )
    import_set(write_rows(tmp_path / "a.csv", customers()), "whole", ColumnUse("exited", ("gender",)))
    row = '{"rows": [{"country": "Spain", "age": 41}]}'
    words = ["--data", "whole", "--yes", "--owner", "me there"]
    done = new(monkeypatch, *words, "--name", "named", typed=f"curl {url}/named -d '{row}'", **data)
    assert done.returncode == 0, done.stderr
    card = read_target((tmp_path / "named.yaml").read_text()).card
    assert card.input.columns == ("country", "age")
    assert card.input.categories == {"country": ("France", "Germany", "Spain")}
    assert (card.classes, card.means) == (("0", "1"), {"stay": "0", "leave": "1"})
    assert "named.yaml:9: means: is this the class" in done.stderr
    assert "categories of" not in done.stderr
    refused = new(
        monkeypatch, "--data", "mine", "--yes", "--name", "b", typed=f"curl {url}/named -d '{row}'", **data
    )
    assert refused.returncode != 0
    assert "the request has a value 'country', and the samples of 'mine' have none" in refused.stderr
    preset = ["--preset", "kserve-v1-rows", "--url", url, "--model", "m"]
    done = new(monkeypatch, *words, *preset, "--attribute", "gender", **data)
    assert done.returncode == 0, done.stderr
    given = yaml.safe_load((tmp_path / "m.yaml").read_text())["card"]
    assert given["input"]["columns"] == ["balance", "products", "country", "age"]
    assert given["classes"] == ["female", "male"]
    for flaw, message in (
        (["--data", "nothing"], "there is no data set 'nothing'"),
        (["--attribute", "gender"], "--attribute is of a data set"),
        (["--data", "mine", "--attribute", "sex"], "no attribute 'sex'; it has exited, gender, country"),
    ):
        assert message in new(monkeypatch, *flaw, "--yes", typed="curl x", **data).stderr


def test_what_was_not_understood_is_left_to_the_user(
    served: tuple[Server, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, url = served
    done = new(monkeypatch, "--yes", typed=f"curl {url}/broken -d '[[1, 2]]'")
    assert done.returncode == 0, done.stderr
    assert "the answer was not understood" in done.stderr
    text = (tmp_path / "target.yaml").read_text()
    assert "# CHECK: where do the values of one sample stand in the answer?" in text
    read_target(text)


def test_nothing_is_sent_before_somebody_agrees(
    served: tuple[Server, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server, url = served
    (tmp_path / "curl.txt").write_text(curl(url))
    words = ["--curl", "curl.txt", "--name", "risk"]
    unasked = new(monkeypatch, *words)
    assert unasked.returncode == 2
    assert "say --yes" in unasked.stderr
    declined = new(monkeypatch, *words, typed="n\n", terminal=True)
    assert declined.returncode == 1
    assert "nothing was sent" in declined.stderr
    assert server.paths == []
    halfway = new(monkeypatch, *words, typed="y\nn\n", terminal=True)
    assert halfway.returncode == 1
    assert not (tmp_path / "risk.yaml").exists()
    assert new(monkeypatch, *words, typed="y\ny\n", terminal=True).returncode == 0
    assert (tmp_path / "risk.yaml").exists()


def test_an_address_elsewhere_is_not_asked_without_an_authorisation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    done = new(monkeypatch, "--yes", typed="curl https://models.example.org/x -d '[[1, 2]]'")
    assert done.returncode == 2
    assert "models.example.org is not this machine" in done.stderr
    assert "--authorised" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--preset", "kserve", "--url", "http://127.0.0.1:1", "--shape", "4"],
            "there is no preset 'kserve'",
        ),
        (["--preset", "native"], "--preset wants --url"),
        (["--open-inference", "http://127.0.0.1:1"], "--open-inference wants --model"),
        (["--open-inference", "http://127.0.0.1:1", "--preset", "native"], "name one source"),
        (["--shape", "big"], "--shape big: write 4"),
        (["--name", "a/b"], "is no target's name"),
        ([], "this is no curl command"),
    ],
)
def test_mistakes_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = new(monkeypatch, *words, "--yes")
    assert done.returncode == 2
    assert said in done.stderr
