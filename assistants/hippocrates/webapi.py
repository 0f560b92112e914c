"""Sends a cohort to OHDSI WebAPI, after the researcher has confirmed the action.

Nothing is sent while a reply is drafted. Users see the error messages, so these contain neither the server's address nor its
responses, which may quote tokens or data of patients.
"""

import json
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
import pydantic
import structlog

from assistants.hippocrates.study import Json

log = structlog.get_logger()
T = TypeVar("T")
_MOST_NAMES = 20


class WebApiError(Exception):
    """Sending a cohort failed. The message tells the user the reason, and which parts WebAPI has stored."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The ids that WebAPI assigned to a cohort definition and its concept sets."""

    cohort_id: int
    concept_set_ids: tuple[int, ...]


class _Stored(pydantic.BaseModel):
    """A concept set or cohort definition in a response of WebAPI."""

    id: int
    expression: pydantic.Json[Any] | dict[str, Any] = {}


class _Item(pydantic.BaseModel, frozen=True):
    """An item of a concept set. Fields that WebAPI adds are ignored."""

    conceptId: int
    isExcluded: int
    includeDescendants: int
    includeMapped: int


@dataclass(frozen=True, slots=True)
class WebApi:
    """A client for an OHDSI WebAPI server."""

    url: str
    """Base URL of the server, such as http://127.0.0.1:8080/WebAPI."""
    token: str = field(default="", repr=False)
    """Token for the header `Authorization: Bearer`; "" to send no header."""
    timeout_s: float = 30.0
    """Time limit for each request, in seconds."""

    async def send(self, name: str, expression: Json) -> Sent:
        """Create the concept sets and the cohort definition, then read them back and compare them with what was sent.

        Raises:
            WebApiError: A request failed, or WebAPI stored different data than were sent.
        """
        async with aiohttp.ClientSession(
            f"{self.url.rstrip('/')}/",
            headers={"Authorization": f"Bearer {self.token}"} if self.token else {},
            timeout=aiohttp.ClientTimeout(total=self.timeout_s),
            cookie_jar=aiohttp.DummyCookieJar(),
        ) as session:
            sending = _Sending(session)
            try:
                return await sending.send(name, expression)
            except WebApiError as error:
                log.warning("webapi_failed", url=self.url, error=str(error))
                created = f" Already created in WebAPI: {', '.join(sending.created)}." if sending.created else ""
                again = "The cohort in this conversation is unchanged. You can send it again."
                raise WebApiError(f"{error}{created} {again}") from None


@dataclass(frozen=True, slots=True)
class _Sending:
    """Sends one cohort, and records the parts that WebAPI has created."""

    session: aiohttp.ClientSession
    created: list[str] = field(default_factory=list)

    async def send(self, name: str, expression: Json) -> Sent:
        set_ids = []
        for one in expression["ConceptSets"]:
            items = [
                _Item.model_validate({**item, "conceptId": item["concept"]["CONCEPT_ID"]})
                for item in one["expression"]["items"]
            ]
            set_ids.append(set_id := await self._create("concept set", f"{name}: {one['name']}"))
            path = f"conceptset/{set_id}/items"
            await self._ask("PUT", path, object, json=[item.model_dump() for item in items])
            if {*await self._ask("GET", path, list[_Item])} != {*items}:
                raise WebApiError(f"WebAPI stored different concepts in concept set {set_id} than were sent.")
        body = {"description": "", "expressionType": "SIMPLE_EXPRESSION", "expression": json.dumps(expression)}
        cohort_id = await self._create("cohort definition", name, **body)
        stored = await self._ask("GET", f"cohortdefinition/{cohort_id}", _Stored)
        if not _holds(stored.expression, expression):
            raise WebApiError(f"WebAPI stored a different expression in cohort definition {cohort_id} than was sent.")
        return Sent(cohort_id, (*set_ids,))

    async def _create(self, noun: str, name: str, **body: str) -> int:
        """Create a concept set or cohort definition, and return its id. If the name exists already, append a number to it."""
        kind = noun.replace(" ", "")
        for n in range(1, _MOST_NAMES + 1):
            candidate = name[:240] + (f" ({n})" if n > 1 else "")
            if await self._ask("GET", f"{kind}/0/exists", int, params={"name": candidate}) == 0:
                break
        else:
            raise WebApiError(f"WebAPI already has {_MOST_NAMES} {noun}s with the name “{name}”: choose another name.")
        unsure = f" The {noun} may have been created: look for “{candidate}” among the {noun}s in ATLAS."
        created = await self._ask("POST", f"{kind}/", _Stored, unsure, json={"name": candidate, **body})
        self.created.append(f"{noun} {created.id}")
        return created.id

    async def _ask(self, method: str, path: str, answer: type[T], unsure: str = "", **request: Any) -> T:
        """Send a request, and parse the response as the type `answer`. After an error with unknown effect, append `unsure`."""
        step = f"{method} /{path}"
        try:
            async with self.session.request(method, path, allow_redirects=False, **request) as response:
                status, content = response.status, await response.read()
        except TimeoutError:
            limit = f"within {self.session.timeout.total:g} s"
            raise WebApiError(f"WebAPI did not answer {step} {limit} (timeout).{unsure}") from None
        except aiohttp.ClientError as error:
            remedy = "check that WebAPI is running, and that the option `webapi` has its address."
            raise WebApiError(f"Cannot connect to WebAPI ({type(error).__name__}): {remedy}{unsure}") from None
        if status in (401, 403):
            raise WebApiError(f"WebAPI rejected the token (HTTP {status}): check the option `webapi_token_env`.")
        if 300 <= status < 500:
            raise WebApiError(f"WebAPI refused {step} (HTTP {status}): see the log of WebAPI.")
        if status >= 500:
            raise WebApiError(f"WebAPI failed at {step} (HTTP {status}): see the log of WebAPI.{unsure}")
        try:
            return pydantic.TypeAdapter(answer).validate_json(content or b"null")
        except pydantic.ValidationError:
            remedy = "the option `webapi` may not be the URL of OHDSI WebAPI."
            raise WebApiError(f"WebAPI answered {step} with an unexpected response: {remedy}{unsure}") from None


def _holds(stored: Any, sent: Any) -> bool:
    """Return whether the expression that WebAPI stored equals the sent one, apart from fields without effect.

    WebAPI adds fields that are false, null or empty, and captions of coded values.
    """
    if isinstance(stored, dict) and isinstance(sent, dict):
        added = [stored[name] for name in stored.keys() - sent.keys() if not name.endswith("_CAPTION")]
        has_effect = any(value is not None and value is not False and value not in ("", [], {}) for value in added)
        return not has_effect and all(name in stored and _holds(stored[name], sent[name]) for name in sent)
    if isinstance(stored, list) and isinstance(sent, list):
        return len(stored) == len(sent) and all(map(_holds, stored, sent))
    return bool(stored == sent and isinstance(stored, bool) == isinstance(sent, bool))
