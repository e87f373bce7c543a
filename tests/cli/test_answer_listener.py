"""The server that KServe's request logger sends to: who may record, what, and how much."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import orjson
import pytest

from leakrange.clients.cli.answer_file import AnswerFile
from leakrange.clients.cli.answer_listener import listener as application
from leakrange.clients.cli.answer_listener import listener_key
from leakrange.clients.cli.answer_log import AnswerLog
from leakrange.wire.inference_logs import REQUEST, RESPONSE
from tests.embedded import leakrange
from tests.listening import OPERATOR, listening
from tests.serving import free_port

KEY = listener_key(OPERATOR, "risk")
EVENTS = "/v1/models/risk/events"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[AnswerLog]:
    file = AnswerFile(tmp_path / "answers.csv")
    yield AnswerLog(file)
    file.close()


@pytest.fixture
async def logger(log: AnswerLog) -> AsyncIterator[httpx.AsyncClient]:
    app = application(log, KEY, "risk", 4096)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://answers") as client:
        client.headers["Authorization"] = f"Bearer {KEY}"
        yield client


def headers(kind: str, id: str = "a") -> dict[str, str]:
    return {"Content-Type": "application/json", "ce-specversion": "1.0", "ce-id": id, "ce-type": kind}


ASKED, ANSWERED = b'{"instances": [[1, 2]]}', b'{"predictions": [[0.25, 0.75]]}'


async def test_both_modes_are_joined_and_counted(logger: httpx.AsyncClient, tmp_path: Path) -> None:
    first = await logger.post(EVENTS, content=ASKED, headers=headers(REQUEST))
    structured = {"specversion": "1.0", "id": "a", "type": RESPONSE, "data": orjson.loads(ANSWERED)}
    second = await logger.post(
        EVENTS,
        content=orjson.dumps(structured),
        headers={"Content-Type": "application/cloudevents+json"},
        auth=("logger", KEY),
    )
    assert (first.status_code, second.status_code) == (202, 202)
    assert (tmp_path / "answers.csv").read_text().splitlines()[1] == "a,0,1,2,0.25,0.75"
    again = await logger.post(EVENTS, content=ASKED, headers=headers(REQUEST))
    broken = await logger.post(EVENTS, content=b"{", headers=headers(REQUEST))
    assert (again.status_code, broken.status_code) == (202, 400)
    counts = {"recorded": 1, "duplicates": 1, "dropped": 0, "refused": 1, "waiting": 0}
    assert (await logger.get(EVENTS)).json() == counts


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        ("", 401),
        ("Basic ?", 401),
        ("Basic /w==", 401),
        ("Bearer lr_wrong", 403),
        (f"Bearer {OPERATOR}", 403),
        (f"Bearer {listener_key(OPERATOR, 'other')}", 403),
        ("Basic bG9nZ2VyOg==", 403),
        ("Bearer \xff", 403),
    ],
)
async def test_nobody_else_may_record_or_read_counts(
    log: AnswerLog, logger: httpx.AsyncClient, authorization: str, status: int
) -> None:
    sent = {**headers(REQUEST), "Authorization": authorization.encode("latin-1")}
    for refused in (
        await logger.post(EVENTS, content=ASKED, headers=sent),  # type: ignore[arg-type]
        await logger.get(EVENTS, headers=sent),  # type: ignore[arg-type]
    ):
        assert refused.status_code == status
        assert refused.headers["content-type"] == "application/problem+json"
    assert log.counts.waiting == 0


async def test_other_models_and_large_bodies_are_refused(log: AnswerLog, logger: httpx.AsyncClient) -> None:
    other = await logger.post("/v1/models/other/events", content=ASKED, headers=headers(REQUEST))
    assert (other.status_code, other.json()["hint"]) == (404, "send those of 'risk'")
    large = await logger.post(EVENTS, content=b" " * 5000 + ASKED, headers=headers(REQUEST))
    assert large.status_code == 413
    assert log.counts.waiting == 0


def test_the_command_records_until_it_is_stopped(tmp_path: Path) -> None:
    port = str(free_port())
    arguments = ["answers", "listen", "--model", "risk", "--out", "answers.csv", "--port", port]
    with listening(tmp_path, arguments) as listener:
        assert listener.address == f"http://logger:{KEY}@127.0.0.1:{port}{EVENTS}"
        for kind, content in ((REQUEST, ASKED), (RESPONSE, ANSWERED)):
            assert httpx.post(listener.address, content=content, headers=headers(kind)).status_code == 202
    assert '"recorded": 1' in listener.told
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "environment", "sentence"),
    [
        (["--model", "a b"], {"LEAKRANGE_OPERATOR_KEY": OPERATOR}, "--model 'a b' is no name"),
        (["--model", "risk"], {}, "there is no range whose key a logger could show"),
        (["--model", "risk"], {"LEAKRANGE_OPERATOR_KEY": "short"}, "must be a random secret"),
    ],
)
def test_mistakes_end_with_a_sentence(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], sentence: str
) -> None:
    out, state = tmp_path / "answers.csv", str(tmp_path / "state")
    done = leakrange("answers", "listen", *arguments, "--out", str(out), "--state", state, **environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert not out.exists()
