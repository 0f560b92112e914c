"""Alias sends requests to one configured model, with hedging, retries and deadlines.

ask, _ask_with_hedge    sends a second request if the first is slow (`hedge_after_s`)
   └── _ask_once        adds one call to the ledger
         └── _try_repeatedly    retries (`max_attempts`), behind the bulkhead
               └── _try         sends the request, within the deadlines of the try, the step and the turn
"""

import asyncio
import math
import random
import time
from contextlib import suppress
from itertools import count

from models.answer import as_completion
from models.bulkhead import Bulkhead
from models.engine import Body, Engine
from models.errors import ModelError, OutOfTime, UpstreamTimeout
from models.request import choice_count, fill
from models.settings import ModelSettings
from models.streaming import AnswerStream, stream_answer
from models.thoughts import cut_thoughts
from models.usage import Call, Ledger, Usage

LONGEST_PAUSE_S = 20.0
"""Maximum seconds between two tries. An upstream may ask for minutes, but a person is waiting for the reply."""
_NO_USAGE = Usage()


class Alias:
    """A configured model: its settings, its engine, and the bulkhead that limits the calls of the engine."""

    __slots__ = ("_opens_thoughts", "bulkhead", "engine", "first_pause_s", "name", "settings")

    def __init__(self, name: str, settings: ModelSettings, engine: Engine, first_pause_s: float) -> None:
        self.name = name
        self.settings = settings
        self.engine = engine
        limited = settings.breaker is not None or settings.max_concurrent is not None
        self.bulkhead = Bulkhead(name, settings) if limited else None
        self.first_pause_s = first_pause_s
        self._opens_thoughts = False
        """Whether the model begins its answers with thoughts without an opening tag. If so, a stream is buffered until the closing
        tag. Each streamed answer updates the value, so a user who provokes such an answer delays only one more reply."""

    async def ask(
        self, body: Body, step: str, ledger: Ledger, until: float = math.inf, stream: AnswerStream | None = None
    ) -> Body:
        """Answer a chat completion request. The ledger records each call, even if the call fails or is cancelled.

        Args:
            step: Name of the caller's step, for the ledger and errors.
            until: Deadline of the step, in the event loop's time.
            stream: Receives the answer while the model writes it. With a stream, no second request is sent.

        Raises:
            ModelError: The call failed; see errors.py.
        """
        after_s = self.settings.hedge_after_s
        if after_s is None or stream is not None:
            return await self._ask_once(body, step, ledger, until, stream)
        return await self._ask_with_hedge(body, step, ledger, until, after_s)

    async def _ask_with_hedge(self, body: Body, step: str, ledger: Ledger, until: float, after_s: float) -> Body:
        """Send a second request if the first has no answer after `after_s` seconds. Use the first good answer and cancel the other
        call.

        Raises:
            ModelError: Both calls failed; this is the error of the first call.
        """
        calls = [asyncio.create_task(self._ask_once(body, step, ledger, until))]
        try:
            done, _ = await asyncio.wait(calls, timeout=after_s)
            # A hedge does not queue, because it would delay another user's first request.
            if not done and (self.bulkhead is None or not self.bulkhead.full):
                calls.append(asyncio.create_task(self._ask_once(body, step, ledger, until)))
            for call in asyncio.as_completed(calls):
                with suppress(Exception):
                    return await call
            return calls[0].result()
        finally:
            for task in calls:
                task.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

    async def _ask_once(
        self, body: Body, step: str, ledger: Ledger, until: float, stream: AnswerStream | None = None
    ) -> Body:
        settings = self.settings
        request = fill(body, self.name, settings)
        call = Call(step, self.name, ms=0.0, usage=_NO_USAGE, cost=None, error=None, attempts=0)
        watch = ledger.watch
        finish = None if watch is None else watch.call(call, request, settings)
        if stream is not None:
            stream.start(cut_thoughts=settings.thoughts == "cut", holds_until_thoughts_end=self._opens_thoughts)
        started = time.perf_counter()
        if ledger.began is not None:
            call.at_ms = round((started - ledger.began) * 1000, 2)
        try:
            answer = await self._try_repeatedly(request, call, until, ledger.until, stream)
            call.usage = Usage.from_body(answer, request)
            if settings.thoughts == "cut":
                call.thoughts = self._cut_thoughts(answer, streamed=stream is not None)
            return answer
        except ModelError as error:
            call.error, call.cause = error.at(self.name, step).kind, error.cause
            raise
        except BaseException as error:
            call.error = "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__name__
            raise
        finally:
            call.ms = (time.perf_counter() - started) * 1000
            if stream is not None and call.error is not None and (text := stream.received):
                call.usage = Usage.from_body({"choices": text}, request)
            if call.error is None or call.usage.estimated:
                call.cost = call.usage.cost(settings.price)
            ledger.add(call)
            if finish is not None:
                finish()

    def _cut_thoughts(self, answer: Body, streamed: bool) -> str:
        """Remove the thoughts from the messages of an answer, and return the thoughts."""
        all_thoughts = []
        for message in [choice["message"] for choice in answer["choices"]]:
            if message.get("content"):
                message["content"], thoughts, is_opened = cut_thoughts(message["content"])
                all_thoughts.append(thoughts)
                # Unstreamed answers, such as a judge's JSON, may set the flag but never clear it.
                self._opens_thoughts = not is_opened or (self._opens_thoughts and not streamed)
        return "\n".join(filter(None, all_thoughts))

    async def _try_repeatedly(
        self, request: Body, call: Call, until: float, turn_until: float, stream: AnswerStream | None
    ) -> Body:
        # The library stamina would add 20 µs to every call that succeeds at once; this loop adds 0.3 µs. A whole
        # passthrough request takes 140 µs, and a guarded turn makes several calls.
        for attempt in count(1):
            call.attempts = attempt
            try:
                if self.bulkhead is None:
                    return await self._try(request, call, until, turn_until, stream)
                waits_until = asyncio.get_running_loop().time() + self.settings.timeout_s
                return await self.bulkhead.run(
                    lambda: self._try(request, call, until, turn_until, stream), min(waits_until, until, turn_until)
                )
            except ModelError as error:
                if not error.retryable or attempt >= self.settings.max_attempts:
                    raise
                pause = self._pause(attempt, error.retry_after)
                if asyncio.get_running_loop().time() + pause >= min(until, turn_until):
                    raise  # no time would be left for the next try
                if stream is not None and not stream.reset_for_retry():
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("unreachable: the loop over the tries returns or raises")

    def _pause(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait before the next try: Retry-After, or else exponential backoff with jitter.

        Args:
            attempt: Number of tries so far.
            retry_after: Seconds from the upstream's Retry-After header, or None.
        """
        if retry_after is not None:
            return min(retry_after, LONGEST_PAUSE_S)
        return min(self.first_pause_s * 2.0 ** (attempt - 1), LONGEST_PAUSE_S) * random.uniform(0.5, 1)

    async def _try(
        self, request: Body, call: Call, until: float, turn_until: float, stream: AnswerStream | None
    ) -> Body:
        now = asyncio.get_running_loop().time()
        ends, ends_with_turn = now + self.settings.timeout_s, False
        if until < ends:
            ends = until
        if turn_until < ends:
            ends, ends_with_turn = turn_until, True
        if ends <= now:
            raise OutOfTime()  # before anything is sent, because a sent request costs money
        try:
            async with asyncio.timeout_at(ends):
                # Keep one choice more than requested, so that `structured` can reject an answer with several choices.
                max_choices = choice_count(request) + 1
                if stream is not None:
                    return as_completion(await stream_answer(self.engine, request, stream), max_choices)
                return as_completion(await self.engine.complete(request), max_choices)
        except (asyncio.CancelledError, UpstreamTimeout):
            call.usage = _estimate_usage(request)
            raise
        except TimeoutError:
            call.usage = _estimate_usage(request)
            if ends_with_turn:
                raise OutOfTime() from None
            raise UpstreamTimeout(f"did not answer within {ends - now:.3g} s") from None


def _estimate_usage(request: Body) -> Usage:
    """Estimate the usage of a cancelled or timed-out request. Otherwise clients could avoid their limits by disconnecting early."""
    return Usage.from_body({}, request)
