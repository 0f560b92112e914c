"""Bulkhead limits the concurrent and the queued calls of an alias (`max_concurrent`, `queue`) and owns its circuit breaker."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from models.breaker import Breaker
from models.engine import Body, Forwarded
from models.errors import ModelError, Overloaded, error_for_status
from models.settings import ModelSettings


class Bulkhead:
    """Limits the calls of one alias with a fixed number of slots, a bounded queue and a circuit breaker.

    Metrics read its counters.
    """

    def __init__(self, alias: str, settings: ModelSettings) -> None:
        self._settings = settings
        self._places = None if settings.max_concurrent is None else asyncio.Semaphore(settings.max_concurrent)
        self.breaker = None if settings.breaker is None else Breaker(alias, settings.breaker)
        self.running = 0
        """Number of calls in progress."""
        self.waiting = 0
        """Number of calls in the queue."""
        self.refused_calls = 0
        """Number of calls refused since the start of the process because no slot was free."""

    @property
    def full(self) -> bool:
        """Whether all slots are in use, so that the next call must wait."""
        return self._places is not None and self._places.locked()

    async def run(self, ask: Callable[[], Awaitable[Body]], until: float) -> Body:
        """Wait for a slot, run one call in it, and report the result to the circuit breaker.

        Args:
            ask: Sends the call.
            until: Deadline of the wait, in the event loop's time.

        Raises:
            Overloaded: The queue is full, or no slot became free before the deadline.
            CircuitOpen: Calls to the upstream are paused.
        """
        probe = await self.enter(until)
        try:
            answer = await ask()
        except BaseException as error:
            self.record_end(probe, error)
            raise
        else:
            self.record_end(probe, None)
            return answer
        finally:
            self.leave()

    async def enter(self, until: float) -> bool:
        """Wait for a slot. Return whether the call is the probe of the circuit breaker.

        Raises:
            Overloaded, CircuitOpen: as for `run`.
        """
        if self.breaker is not None:
            self.breaker.check()  # before the queue, so that calls do not wait for an upstream that is down
        if self._places is not None:
            await self._acquire(self._places, until)
        try:
            # A second check: the breaker may have opened while this call waited.
            probe = self.breaker is not None and self.breaker.admit()
        except BaseException:
            self._release()
            raise
        self.running += 1
        return probe

    def record_end(self, probe: bool, error: BaseException | None) -> None:
        """Report the result of a call to the circuit breaker."""
        if self.breaker is not None:
            self.breaker.record_end(probe, error)

    def leave(self) -> None:
        """Release the slot of a finished call."""
        self.running -= 1
        self._release()

    def relay(self, answer: Forwarded, probe: bool) -> None:
        """Report the status of a forwarded call, and keep its slot until the response has been relayed.

        Args:
            probe: The result of `enter`.
        """
        refusal = error_for_status(answer.status) if answer.status >= 400 else None
        # Record the end now: the upstream has answered, and a probe must not last as long as a stream.
        self.record_end(probe, refusal)
        if answer.chunks is None:
            self.leave()
            return
        answer.chunks = self._relay_chunks(answer.chunks)
        answer.when_closed(self.leave)

    async def _acquire(self, places: asyncio.Semaphore, until: float) -> None:
        if places.locked():
            if self.waiting >= self._settings.queue:
                self.refused_calls += 1
                raise Overloaded(f"has reached its limit of {self.running} running and {self.waiting} waiting calls")
            self.waiting += 1
            try:
                async with asyncio.timeout_at(until):
                    await places.acquire()
            except TimeoutError:
                self.refused_calls += 1
                raise Overloaded("had no free slot for the call before its deadline") from None
            finally:
                self.waiting -= 1
        else:
            await places.acquire()

    def _release(self) -> None:
        if self._places is not None:
            self._places.release()

    async def _relay_chunks(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        try:
            async for chunk in chunks:
                yield chunk
        except ModelError as error:
            self.record_end(False, error)
            raise
