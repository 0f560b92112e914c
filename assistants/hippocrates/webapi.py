"""Send a confirmed cohort to OHDSI WebAPI.

Nothing here runs while a reply is drafted: what is sent is the expression of an action that the researcher confirmed.

    WebApiError           what happened, and what was created before: created
    +-- WebApiDown        no connection, or a 5xx
    +-- WebApiDenied      401 or 403
    +-- WebApiSlow        no answer in time
    +-- WebApiGarbled     an answer that is none of WebAPI, or not what was sent
    +-- WebApiRefused     another 4xx

No message holds text that the server wrote, which may quote tokens or patient-level values, or its address: users read them.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import structlog

from assistants.hippocrates.cohort import Json

log = structlog.get_logger()
_MOST_NAMES = 20
_UNCHANGED = "The cohort definition here is unchanged, and can be sent again."


class WebApiError(Exception):
    """WebAPI could not be used."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.created: tuple[str, ...] = ()
        """What WebAPI holds although not everything was sent."""
        self.unsure = ""
        """What it may hold as well, and how to see."""

    def __str__(self) -> str:
        left = f"Already created there: {', '.join(self.created)}." if self.created else ""
        return " ".join(filter(None, (self.args[0], left, self.unsure, _UNCHANGED)))


class WebApiDown(WebApiError):
    """No connection, or a failure of the server."""


class WebApiDenied(WebApiError):
    """WebAPI wants another token, or the token may not do this."""


class WebApiSlow(WebApiError):
    """No answer in time."""


class WebApiGarbled(WebApiError):
    """An answer that is none of WebAPI."""


class WebApiRefused(WebApiError):
    """WebAPI refuses the request."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What WebAPI calls what it was sent."""

    cohort_id: int
    concept_set_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WebApi:
    """Where WebAPI is, and how long it may take."""

    url: str
    """Its root, such as http://127.0.0.1:8080/WebAPI."""
    token: str = field(default="", repr=False)
    """Sent as `Authorization: Bearer`."""
    timeout_s: float = 30.0
    """For each request."""

    async def send(self, name: str, expression: Json) -> Sent:
        """Create the concept sets and the cohort definition, and read back that WebAPI holds what was sent.

        Raises:
            WebApiError: not everything was sent; `created` says what was.
        """
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), headers=headers) as session:
            sending = _Sending(self, session)
            try:
                return await sending.send(name, expression)
            except WebApiError as error:
                error.created = (*sending.created,)
                log.warning("webapi_failed", url=self.url, error=type(error).__name__)  # users are not told the address
                raise


@dataclass(frozen=True, slots=True)
class _Sending:
    """One cohort on its way to WebAPI."""

    api: WebApi
    session: aiohttp.ClientSession
    created: list[str] = field(default_factory=list)

    async def send(self, name: str, expression: Json) -> Sent:
        set_ids = []
        for concept_set in expression["ConceptSets"]:
            set_name = await self._free_name("conceptset", f"{name}: {concept_set['name']}")
            set_ids.append(set_id := await self._create("/conceptset/", "concept sets", {"name": set_name}))
            self.created.append(f"concept set {set_id}")
            items = [_stored_item(item) for item in concept_set["expression"]["items"]]
            await self._ask("PUT", f"/conceptset/{set_id}/items", items)
            stored = await self._ask("GET", f"/conceptset/{set_id}/items")
            _expect_same(_item_keys(items), _item_keys(stored), f"concept set {set_id}")
        body = {
            "name": await self._free_name("cohortdefinition", name),
            "description": "",
            "expressionType": "SIMPLE_EXPRESSION",
            "expression": json.dumps(expression),
        }
        cohort_id = await self._create("/cohortdefinition/", "cohort definitions", body)
        self.created.append(f"cohort definition {cohort_id}")
        stored = await self._ask("GET", f"/cohortdefinition/{cohort_id}")
        _expect_same(expression, _stored_expression(stored), f"cohort definition {cohort_id}")
        return Sent(cohort_id, (*set_ids,))

    async def _create(self, path: str, shelf: str, body: Json) -> int:
        """Create something of a name, and return its id. Args: shelf: where ATLAS lists it."""
        try:
            return _id_of(await self._ask("POST", path, body))
        except (WebApiSlow, WebApiDown, WebApiGarbled) as error:  # nobody knows what the server did
            error.unsure = f"It may be there all the same: look among the {shelf} of ATLAS for “{body['name']}”."
            raise

    async def _free_name(self, kind: str, name: str) -> str:
        """Return a name that nothing at WebAPI has: its database takes each but once."""
        name = name[:240]
        for n in range(1, _MOST_NAMES + 1):
            candidate = name if n == 1 else f"{name} ({n})"
            try:
                holders = await self._ask("GET", f"/{kind}/0/exists", query={"name": candidate})
            except WebApiRefused:  # an older WebAPI, which does not tell
                return candidate
            if not isinstance(holders, int):
                raise WebApiGarbled("WebAPI did not say whether a name is taken.")
            if holders == 0:
                return candidate
        raise WebApiRefused(f"WebAPI has {_MOST_NAMES} of the name {name!r} already; please choose another.")

    async def _ask(self, method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None) -> Any:
        url = f"{self.api.url.rstrip('/')}{path}"
        try:
            async with (
                asyncio.timeout(self.api.timeout_s),
                self.session.request(method, url, json=body, params=query, allow_redirects=False) as response,
            ):
                if response.status in (401, 403):
                    raise WebApiDenied(
                        f"WebAPI wants a valid token for this ({response.status}); check the one in the configuration."
                    )
                if response.status >= 500:
                    raise WebApiDown(f"WebAPI failed ({response.status}) at {method} {path}; its log says why.")
                if response.status >= 300:
                    raise WebApiRefused(f"WebAPI refused {method} {path} ({response.status}).")
                content = await response.read()
        except TimeoutError:
            raise WebApiSlow(f"WebAPI did not answer {method} {path} within {self.api.timeout_s:g} s.") from None
        except aiohttp.ClientError as error:
            raise WebApiDown(
                f"WebAPI cannot be reached ({type(error).__name__}); is it running, and is its address right in the configuration?"
            ) from None
        try:
            return json.loads(content) if content else None
        except ValueError:
            raise WebApiGarbled(
                f"WebAPI answered {method} {path} with something that is no JSON; is the configured address a WebAPI?"
            ) from None


def _id_of(answer: Any) -> int:
    number = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(number, int) or isinstance(number, bool):
        raise WebApiGarbled("WebAPI did not say the id of what it created.")
    return number


def _stored_expression(stored: Any) -> Any:
    """Return the expression of a cohort definition as WebAPI holds it; None: it holds none."""
    try:
        expression = stored["expression"]
        return json.loads(expression) if isinstance(expression, str) else expression
    except (KeyError, TypeError, ValueError):
        return None


def _stored_item(item: Json) -> Json:
    return {
        "conceptId": item["concept"]["CONCEPT_ID"],
        "isExcluded": int(item["isExcluded"]),
        "includeDescendants": int(item["includeDescendants"]),
        "includeMapped": int(item["includeMapped"]),
    }


def _item_keys(items: Any) -> list[tuple[int, ...]] | None:
    """Return items without what WebAPI adds to them."""
    names = ("conceptId", "isExcluded", "includeDescendants", "includeMapped")
    try:
        return sorted(tuple(int(item[name]) for name in names) for item in items)
    except (KeyError, TypeError, ValueError):
        return None


def _expect_same(sent: object, stored: object, kind: str) -> None:
    if sent != stored:
        raise WebApiGarbled(f"WebAPI holds something else as {kind} than what was sent.")
