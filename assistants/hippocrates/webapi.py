"""Sends a confirmed cohort to OHDSI WebAPI.

It never runs while a reply is drafted: it sends the expression of an action that the researcher confirmed. Users read its
messages, so these contain neither the server's address nor its texts, which may quote tokens or patient-level values.
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
    """Sending failed. The message gives the reason, and the parts that WebAPI has stored."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The ids that WebAPI gave to a cohort and its concept sets."""

    cohort_id: int
    concept_set_ids: tuple[int, ...]


class _Stored(pydantic.BaseModel):
    """A concept set or a cohort definition."""

    id: int
    expression: pydantic.Json[Any] | dict[str, Any] = {}


class _Item(pydantic.BaseModel, frozen=True):
    """An item of a concept set, without the fields that WebAPI adds."""

    conceptId: int
    isExcluded: int
    includeDescendants: int
    includeMapped: int


@dataclass(frozen=True, slots=True)
class WebApi:
    """A WebAPI server."""

    url: str
    """Root address, such as http://127.0.0.1:8080/WebAPI."""
    token: str = field(default="", repr=False)
    """Token for `Authorization: Bearer`; "": no header."""
    timeout_s: float = 30.0
    """Limit for each request, in seconds."""

    async def send(self, name: str, expression: Json) -> Sent:
        """Create the concept sets and the cohort definition, then read them back and compare them.

        Raises:
            WebApiError: a request failed, or WebAPI stored something else.
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
                created = f" Already created there: {', '.join(sending.created)}." if sending.created else ""
                again = "The cohort definition here is unchanged, and can be sent again."
                raise WebApiError(f"{error}{created} {again}") from None


@dataclass(frozen=True, slots=True)
class _Sending:
    """The sending of one cohort."""

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
                raise WebApiError(f"WebAPI holds other concepts in the concept set {set_id} than were sent.")
        body = {"description": "", "expressionType": "SIMPLE_EXPRESSION", "expression": json.dumps(expression)}
        cohort_id = await self._create("cohort definition", name, **body)
        stored = await self._ask("GET", f"cohortdefinition/{cohort_id}", _Stored)
        if not _holds(stored.expression, expression):
            raise WebApiError(f"WebAPI holds another expression as cohort definition {cohort_id} than was sent.")
        return Sent(cohort_id, (*set_ids,))

    async def _create(self, noun: str, name: str, **body: str) -> int:
        """Create a concept set or cohort definition, and return its id. If the name is taken, append a number."""
        kind = noun.replace(" ", "")
        for n in range(1, _MOST_NAMES + 1):
            candidate = name[:240] + (f" ({n})" if n > 1 else "")
            if await self._ask("GET", f"{kind}/0/exists", int, params={"name": candidate}) == 0:
                break
        else:
            raise WebApiError(f"WebAPI has {_MOST_NAMES} {noun}s of the name “{name}” already; choose another name.")
        unsure = f" It may be there all the same: look among the {noun}s of ATLAS for “{candidate}”."
        created = await self._ask("POST", f"{kind}/", _Stored, unsure, json={"name": candidate, **body})
        self.created.append(f"{noun} {created.id}")
        return created.id

    async def _ask(self, method: str, path: str, answer: type[T], unsure: str = "", **request: Any) -> T:
        """Send a request, and return its answer as this type. If the effect is unknown, add `unsure` to the error."""
        step = f"{method} /{path}"
        try:
            async with self.session.request(method, path, allow_redirects=False, **request) as response:
                status, content = response.status, await response.read()
        except TimeoutError:
            limit = f"within {self.session.timeout.total:g} s"
            raise WebApiError(f"WebAPI did not answer {step} {limit}.{unsure}") from None
        except aiohttp.ClientError as error:
            remedy = "is it running, and is its address right in the configuration?"
            raise WebApiError(f"WebAPI cannot be reached ({type(error).__name__}); {remedy}{unsure}") from None
        if status in (401, 403):
            raise WebApiError(f"WebAPI wants a valid token for this ({status}); check the one in the configuration.")
        if 300 <= status < 500:
            raise WebApiError(f"WebAPI refused {step} ({status}).")
        if status >= 500:
            raise WebApiError(f"WebAPI failed ({status}) at {step}; its log says why.{unsure}")
        try:
            return pydantic.TypeAdapter(answer).validate_json(content or b"null")
        except pydantic.ValidationError:
            remedy = "is the configured address a WebAPI?"
            raise WebApiError(f"WebAPI answered {step} with something unexpected; {remedy}{unsure}") from None


def _holds(stored: Any, sent: Any) -> bool:
    """Return whether the stored expression equals the sent one, apart from fields without effect.

    WebAPI stores the expression as Circe serialises it: with fields that are false, null or empty, and captions of coded values.
    """
    if isinstance(stored, dict) and isinstance(sent, dict):
        added = [stored[name] for name in stored.keys() - sent.keys() if not name.endswith("_CAPTION")]
        has_effect = any(value is not None and value is not False and value not in ("", [], {}) for value in added)
        return not has_effect and all(name in stored and _holds(stored[name], sent[name]) for name in sent)
    if isinstance(stored, list) and isinstance(sent, list):
        return len(stored) == len(sent) and all(map(_holds, stored, sent))
    return bool(stored == sent and isinstance(stored, bool) == isinstance(sent, bool))
