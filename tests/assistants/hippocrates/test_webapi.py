"""Sending: to a real `duckcdm serve`, and to servers that fail."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from structlog.testing import capture_logs

from assistants.hippocrates import cdm
from assistants.hippocrates.study import Json
from assistants.hippocrates.webapi import WebApi, WebApiError
from tests.assistants.hippocrates.examples import CELECOXIB, GI_BLEED, built

COHORTS = {"gi bleed": (built(GI_BLEED), 479), "celecoxib": (built(CELECOXIB), 1800)}


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.mark.parametrize("name", COHORTS)
async def test_a_cohort_goes_there_and_back(
    atlas: str, session: aiohttp.ClientSession, eunomia: Path, name: str
) -> None:
    """What WebAPI holds is what was sent, and it generates the same persons as the local CDM."""
    cohort = COHORTS[name][0]
    api = WebApi(atlas)
    sent = await api.send(name, cohort)
    async with session.get(f"{atlas}/cohortdefinition/{sent.cohort_id}") as response:
        stored = await response.json()
    assert json.loads(stored["expression"]) == cohort
    assert stored["expressionType"] == "SIMPLE_EXPRESSION"
    for set_id, one in zip(sent.concept_set_ids, cohort["ConceptSets"], strict=True):
        async with session.get(f"{atlas}/conceptset/{set_id}/items") as response:
            items = await response.json()
        assert [item["conceptId"] for item in items] == [
            item["concept"]["CONCEPT_ID"] for item in one["expression"]["items"]
        ]
        assert all(item["includeDescendants"] for item in items)
    assert await generated(session, atlas, sent.cohort_id) == (COHORTS[name][1], COHORTS[name][1])
    assert cdm.count_cohort(eunomia, cohort).persons == COHORTS[name][1]


async def test_a_name_that_is_taken_gets_a_number(atlas: str, session: aiohttp.ClientSession) -> None:
    """WebAPI takes each name but once."""
    cohort, api = COHORTS["gi bleed"][0], WebApi(atlas)
    first, second = await api.send("gi bleed", cohort), await api.send("gi bleed", cohort)
    names = []
    for one in (first, second):
        async with session.get(f"{atlas}/cohortdefinition/{one.cohort_id}") as response:
            names.append((await response.json())["name"])
    assert len({*names}) == 2
    assert all(name.startswith("gi bleed") for name in names)


async def generated(session: aiohttp.ClientSession, atlas: str, cohort_id: int) -> tuple[int, int]:
    """Have WebAPI generate a cohort; return its persons and records."""
    async with session.get(f"{atlas}/cohortdefinition/{cohort_id}/generate/EUNOMIA") as response:
        assert response.status == 200
    async with asyncio.timeout(30):
        while True:
            async with session.get(f"{atlas}/cohortdefinition/{cohort_id}/info") as response:
                info = (await response.json())[-1]
            assert info["status"] not in ("FAILED", "ERROR", "STOPPED")
            if info["status"] == "COMPLETE":
                return info["personCount"], info["recordCount"]
            await asyncio.sleep(0.1)


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def serve(handler: Handler) -> TestServer:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    server = TestServer(app)
    await server.start_server()
    return server


async def slow(request: web.Request) -> web.Response:
    await asyncio.sleep(0.5)
    return web.json_response({})


async def gone(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def answering(status: int, text: str) -> Handler:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status, text=text)

    return answer


FAULTS = [
    (answering(401, "token abc123 expired"), r"rejected the token \(HTTP 401\)"),
    (answering(403, ""), "403"),
    (answering(500, "SELECT person 42"), "500"),
    (answering(400, "no"), "400"),
    (answering(302, ""), "302"),
    (slow, "within 0.2 s"),
    (answering(200, "<html>Welcome</html>"), "GET /conceptset/0/exists with an unexpected response"),
    (answering(200, "[1, 2]"), "unexpected"),
    (answering(200, "0"), "POST /conceptset/ with an unexpected response"),
    (answering(200, ""), "unexpected"),
]


@pytest.mark.parametrize(("handler", "text"), FAULTS)
async def test_a_server_that_fails_is_told_apart(handler: Handler, text: str) -> None:
    """The message says what to do and that nothing is lost, and holds neither the token nor the server's text."""
    server = await serve(handler)
    try:
        api = WebApi(str(server.make_url("/WebAPI")), token="s3cret", timeout_s=0.2)
        with pytest.raises(WebApiError, match=text) as caught, capture_logs() as logged:
            await api.send("gi bleed", COHORTS["gi bleed"][0])
    finally:
        await server.close()
    said = str(caught.value)
    assert "unchanged. You can send it again" in said
    assert not [word for word in ("s3cret", "abc123", "person 42", "Welcome", "127.0.0.1") if word in said]
    assert [one["url"] for one in logged] == [api.url]


async def test_no_server_at_all_is_told() -> None:
    """The message advises to check that WebAPI is running."""
    with pytest.raises(WebApiError, match="check that WebAPI is running"):
        await WebApi("http://127.0.0.1:9/WebAPI").send("gi bleed", COHORTS["gi bleed"][0])


async def test_what_was_created_before_a_failure_is_said() -> None:
    """So that it can be found there, and is not created again unseen."""

    async def half(request: web.Request) -> web.Response:
        if request.method == "POST" and request.path.endswith("/conceptset/"):
            return web.json_response({"id": 7})
        if request.path.endswith("/exists"):
            return web.json_response(0)
        return web.Response(status=503)

    server = await serve(half)
    try:
        with pytest.raises(WebApiError) as caught:
            await WebApi(str(server.make_url(""))).send("gi bleed", COHORTS["gi bleed"][0])
    finally:
        await server.close()
    assert "Already created in WebAPI: concept set 7. The cohort" in str(caught.value)
    assert "may have been created" not in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "unsure"),
    [
        (slow, True),
        (gone, True),
        (answering(504, ""), True),
        (answering(200, "<html>"), True),
        (answering(409, ""), False),
    ],
)
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/conceptset/", "The concept set may have been created: look for “gi bleed: "),
        ("/cohortdefinition/", "The cohort definition may have been created: look for “gi bleed” among"),
    ],
)
async def test_what_may_have_been_created_is_said(fault: Handler, unsure: bool, path: str, told: str) -> None:
    """When nobody knows what came of a POST: with where to look for it. A refusal leaves nothing."""
    sent: list[Any] = []

    async def server_with_fault(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/exists"):
            return web.json_response(0)
        if request.method == "POST" and request.path.endswith(path):
            return await fault(request)
        if request.method == "PUT":
            sent.extend(await request.json())
        return web.json_response(sent if request.method == "GET" else {"id": 7, "expression": {}})

    server = await serve(server_with_fault)
    try:
        with pytest.raises(WebApiError) as caught:
            await WebApi(str(server.make_url("")), timeout_s=0.2).send("gi bleed", COHORTS["gi bleed"][0])
    finally:
        await server.close()
    assert (told in str(caught.value)) is unsure
    assert ("concept set 7" in str(caught.value)) == (path == "/cohortdefinition/")


def written_by_circe(value: Any) -> Any:
    """Return an expression as OHDSI's WebAPI stores it: read by Circe (1.10.1) and written again, with fields of its own."""
    if isinstance(value, list):
        return [written_by_circe(one) for one in value]
    if not isinstance(value, dict):
        return value
    written = {name: written_by_circe(part) for name, part in reversed(value.items())}
    if "Occurrence" in value:
        written["Occurrence"]["IsDistinct"] = False
        written |= {"RestrictVisit": False, "IgnoreObservationPeriod": False}
    if "CodesetId" in value:
        written["ConditionTypeExclude"] = False
    if "CONCEPT_ID" in value:
        captions = {"STANDARD_CONCEPT_CAPTION": "Standard", "INVALID_REASON_CAPTION": "Unknown"}
        written |= {"CONCEPT_CLASS_ID": None, "INVALID_REASON": None, **captions}
    return written


def storing(store: Callable[[Any], Any]) -> Handler:
    """Return a WebAPI that keeps of an expression what `store` makes of it."""
    sent: dict[str, Any] = {}

    async def answer(request: web.Request) -> web.Response:
        if request.path.endswith("/exists"):
            return web.json_response(0)
        if request.method in ("POST", "PUT"):
            sent[request.path] = await request.json()
            return web.json_response({"id": 7})
        if request.path.endswith("/items"):
            return web.json_response(sent[request.path])
        stored = store(json.loads(sent["/cohortdefinition/"]["expression"]))
        return web.json_response({"id": 7, "expression": json.dumps(stored)})

    return answer


@pytest.mark.parametrize("cohort", [cohort for cohort, _ in COHORTS.values()], ids=COHORTS)
async def test_an_expression_may_be_stored_with_fields_that_say_nothing(cohort: Json) -> None:
    """OHDSI's WebAPI stores what Circe writes of it."""
    server = await serve(storing(written_by_circe))
    try:
        assert (await WebApi(str(server.make_url(""))).send("gi bleed", cohort)).cohort_id == 7
    finally:
        await server.close()


OTHERS: dict[str, Callable[[Json], Any]] = {
    "nothing": lambda stored: None,
    "less": lambda stored: {name: part for name, part in stored.items() if name != "ExpressionLimit"},
    "a criterion more": lambda stored: {**stored, "AdditionalCriteria": {"Type": "ALL"}},
    "a flag set": lambda stored: {**stored, "IsDistinct": True},
    "a number more": lambda stored: {**stored, "PriorDays": 0},
    "another number": lambda stored: {**stored, "CollapseSettings": {"CollapseType": "ERA", "EraPad": 1}},
    "a number for a flag": lambda stored: json.loads(json.dumps(stored).replace("true", "1")),
    "rules in another order": lambda stored: {**stored, "InclusionRules": stored["InclusionRules"][::-1]},
    "a rule less": lambda stored: {**stored, "InclusionRules": stored["InclusionRules"][:1]},
}


@pytest.mark.parametrize("store", OTHERS.values(), ids=OTHERS)
async def test_an_expression_that_means_something_else_is_an_error(store: Callable[[Json], Any]) -> None:
    """Whatever Circe adds to it besides."""
    server = await serve(storing(lambda sent: store(written_by_circe(sent))))
    try:
        with pytest.raises(WebApiError, match=r"different expression in cohort definition 7|an unexpected response"):
            await WebApi(str(server.make_url(""))).send("gi bleed", COHORTS["celecoxib"][0])
    finally:
        await server.close()


@pytest.mark.parametrize(
    ("path", "told"),
    [("/items", "different concepts in concept set 7"), ("", "different expression in cohort definition 7")],
)
async def test_an_answer_that_is_not_what_was_sent_is_an_error(path: str, told: str) -> None:
    """Somebody else's concepts or cohort are not taken for ours."""
    cohort = COHORTS["gi bleed"][0]
    sent: dict[str, Any] = {}

    async def other(request: web.Request) -> web.Response:
        if request.path.endswith("/exists"):
            return web.json_response(0)
        if request.method in ("POST", "PUT"):
            sent[request.path] = await request.json()
            return web.json_response({"id": 7})
        if request.path.endswith("/items"):
            changed = {"conceptId": 5} if path == "/items" else {}
            return web.json_response([one | changed for one in sent[request.path]])
        return web.json_response({"id": 7, "expression": json.dumps({**cohort, "CensoringCriteria": [1]})})

    server = await serve(other)
    try:
        with pytest.raises(WebApiError, match=told):
            await WebApi(str(server.make_url(""))).send("gi bleed", cohort)
    finally:
        await server.close()
