# SPDX-License-Identifier: Apache-2.0
"""Leader election over acquire and lease: who holds the lock leads, and its fencing token is the
term. By a thread for the blocking client, by a task for asyncio."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from . import _flows
from ._lease_view import LeaseView
from ._rules import BACKOFF_MAX, backoff
from .errors import (
    Cancelled,
    LeaseLost,
    LeaseReleased,
    LockkeeperError,
    LossCause,
    ServiceError,
    invalid,
)
from .options import AcquireOptions, Cancellation

if TYPE_CHECKING:
    from . import aio
    from .client import Client, Lease

# How long one acquire of a campaign stands in line. Its errors are told when it ends, so it must.
CAMPAIGN_WAIT = 30.0

_log = logging.getLogger("lockkeeper")

OnLost = Callable[[LeaseLost], object]
OnError = Callable[[Exception], object]


def report(subject: str, on_error: OnError | None, error: Exception) -> None:
    """Tells on_error, or else the log."""
    if on_error is None:
        _log.error("%s: %s", subject, error, exc_info=error)
        return
    try:
        on_error(error)
    except Exception:
        _log.exception("on_error of the %s failed", subject)


class _Candidate:
    """What the candidates of both clients have in common."""

    def __init__(
        self,
        client: Client | aio.Client,
        name: str,
        options: AcquireOptions,
        on_lost: OnLost | None,
        on_error: OnError | None,
    ) -> None:
        for field in ("wait", "cancel", "lease_id"):
            if field in options:
                raise invalid(field, "is no option of lead")
        self.name = name
        self._options: AcquireOptions = {**options, "wait": CAMPAIGN_WAIT}
        _flows.Acquire(client._core(), name, self._options)  # It checks them.
        self._on_lost = on_lost
        self._on_error = on_error
        self._failures = 0
        self._led: LeaseView | None = None  # The lease of the term.

    @property
    def is_leader(self) -> bool:
        """Whether this candidate leads now. Looks at the clock."""
        return self.term is not None

    @property
    def term(self) -> int | None:
        """The fencing token of this candidate's term; None while it does not lead."""
        lease = self._led
        return lease.fencing_token if lease is not None and lease.held else None

    def _delay_after(self, error: LockkeeperError) -> float:
        """Reports an error of the campaign, and returns the delay before the next acquire."""
        self._report(error)
        self._failures += 1
        delay = backoff(self._failures, BACKOFF_MAX, random.random())
        return max(delay, error.retry_delay or 0.0) if isinstance(error, ServiceError) else delay

    def _has_failed(self, error: Exception, lease: LeaseView) -> bool:
        """Reports the error of on_elected, unless the end of the term has caused it."""
        if not (isinstance(error, LeaseLost | LeaseReleased) and not lease.held):
            self._report(error)
        return lease.held

    def _tell_lost(self, lease: LeaseView) -> None:
        if self._on_lost is not None:
            cause = lease.loss or LossCause.LEASE_LOST
            try:
                self._on_lost(LeaseLost(self.name, cause, lease.loss_error))
            except Exception as error:
                self._report(error)

    def _report(self, error: Exception) -> None:
        report(f"leadership of {self.name!r}", self._on_error, error)


def _release_what_is_left(lease: LeaseView) -> None:
    """Also of a lost lease: an extend without an answer may have prolonged it."""
    if not lease._kept.is_dropped:
        _flows.begin_release(lease._kept)


class Leadership(_Candidate):
    """A candidate: it stands in line for the lock, leads while it holds the lease, and campaigns
    again when the term is over and on_elected has returned, until it is closed."""

    def __init__(
        self,
        client: Client,
        name: str,
        on_elected: Callable[[Lease], object],
        on_lost: OnLost | None,
        on_error: OnError | None,
        options: AcquireOptions,
    ) -> None:
        super().__init__(client, name, options, on_lost, on_error)
        self._client = client
        self._on_elected = on_elected
        self._cancel = Cancellation()
        self._options["cancel"] = self._cancel
        self._acquiring = threading.Lock()  # Held by the campaign.
        self._lock = threading.Lock()
        self._term: tuple[Lease, threading.Event] | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"lockkeeper-lead-{name}", daemon=True
        )
        self._thread.start()

    def resign(self) -> None:
        """Ends the term and releases the lock, so that the next candidate in line takes over. This
        one campaigns again, behind those who wait. Stop the work first: the next leader begins at
        once. May raise what Lease.release raises; the release then goes on in the background."""
        with self._lock:
            term, self._term = self._term, None
        if term is None:
            return
        lease, over = term
        try:
            lease.release()
        finally:
            over.set()

    def close(self) -> None:
        """Resigns, or ends the campaign. Does not wait for on_elected."""
        with self._lock:
            self._closed.set()
        self._cancel.cancel()
        self._client._leaderships.discard(self)
        with self._acquiring:
            pass  # What the campaign has won is released here.
        self.resign()

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                with self._acquiring:
                    lease = self._client.acquire(self.name, **self._options)
                    if lease is not None:
                        self._led = lease
                        with self._lock:
                            self._term = lease, threading.Event()
            except Cancelled:
                return  # Closed, or the client is.
            except LockkeeperError as error:
                self._closed.wait(self._delay_after(error))
                continue
            self._failures = 0
            if lease is not None and self._lead(lease):
                self._closed.wait(lease.ttl)

    def _lead(self, lease: Lease) -> bool:
        """Returns when the term is over and on_elected has returned: whether it failed."""
        with self._lock:
            term = self._term
        if term is None or self._closed.is_set():
            return False  # The close releases it.
        over = term[1]

        def lost() -> None:
            self._tell_lost(lease)
            over.set()

        lease.on_lost(lost)
        failed = False
        try:
            self._on_elected(lease)
        except Exception as error:
            failed = self._has_failed(error, lease)
        try:
            if failed:
                self.resign()
            over.wait()
        except LockkeeperError as error:
            self._report(error)
        finally:
            with self._lock:
                self._term = None
            self._led = None
            _release_what_is_left(lease)
        return failed


class AioLeadership(_Candidate):
    """The same for asyncio. on_elected is a coroutine function, cancelled when its term ends."""

    def __init__(
        self,
        client: aio.Client,
        name: str,
        on_elected: Callable[[aio.Lease], Awaitable[object]],
        on_lost: OnLost | None,
        on_error: OnError | None,
        options: AcquireOptions,
    ) -> None:
        super().__init__(client, name, options, on_lost, on_error)
        self._client = client
        self._on_elected = on_elected
        self._term: tuple[aio.Lease, asyncio.Event] | None = None
        self._is_closed = False
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"lead {name}")

    async def resign(self) -> None:
        """As that of the blocking client."""
        term, self._term = self._term, None
        if term is None:
            return
        lease, over = term
        try:
            await lease.release()
        finally:
            over.set()

    async def close(self) -> None:
        """As that of the blocking client."""
        self._is_closed = True
        self._client._leaderships.discard(self)
        if self._led is None:  # A campaign, or a delay.
            self._task.cancel()
            await asyncio.wait([self._task])
        await self.resign()

    async def _run(self) -> None:
        while not self._is_closed:
            try:
                lease = await self._client.acquire(self.name, **self._options)
            except Cancelled:
                return  # The client is closed.
            except LockkeeperError as error:
                await asyncio.sleep(self._delay_after(error))
                continue
            self._failures = 0
            if lease is None:
                continue
            failed = await self._lead(lease)
            if failed and not self._is_closed:
                await asyncio.sleep(lease.ttl)

    async def _lead(self, lease: aio.Lease) -> bool:
        over = asyncio.Event()
        self._led = lease
        self._term = lease, over
        work = asyncio.ensure_future(self._work(lease))
        watch = asyncio.ensure_future(self._watch(lease, over))
        try:
            await over.wait()
        finally:
            self._term = None
            self._led = None
            watch.cancel()
            work.cancel()
            _release_what_is_left(lease)
        await asyncio.wait([work])
        return not work.cancelled() and work.result()

    async def _watch(self, lease: aio.Lease, over: asyncio.Event) -> None:
        await lease.lost.wait()
        over.set()
        self._tell_lost(lease)

    async def _work(self, lease: aio.Lease) -> bool:
        try:
            await self._on_elected(lease)
        except Exception as error:
            failed = self._has_failed(error, lease)
            if failed:
                try:
                    await self.resign()
                except LockkeeperError as problem:
                    self._report(problem)
            return failed
        return False
