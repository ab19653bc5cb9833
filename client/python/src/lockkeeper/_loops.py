# SPDX-License-Identifier: Apache-2.0
"""Wakes tasks of event loops from other threads, many at once with one signal to their loop."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque

from ._threads import Work


class Waker:
    """Of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._futures: deque[asyncio.Future[None]] = deque()
        self._is_signalled = False
        self._works: list[Work] = []

    def run_later(self, work: Work) -> None:
        """Runs it when the tasks that are ready now have run. In the thread of the loop."""
        if not self._works:
            loop = self._loop()
            assert loop is not None
            loop.call_soon(self._run_works)
        if work not in self._works:
            self._works.append(work)

    def _run_works(self) -> None:
        works, self._works = self._works, []
        for work in works:
            work()

    def wake(self, future: asyncio.Future[None]) -> None:
        self._futures.append(future)
        # Both threads are sure to see the future: the loop resets this before it looks.
        if not self._is_signalled:
            self._is_signalled = True
            loop = self._loop()
            if loop is not None:
                try:
                    loop.call_soon_threadsafe(self._run)
                except RuntimeError:
                    pass  # The loop is closed, and nobody waits in it.

    def _run(self) -> None:
        self._is_signalled = False
        while self._futures:
            future = self._futures.popleft()
            if not future.done():
                future.set_result(None)


_wakers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Waker] = weakref.WeakKeyDictionary()


def waker_of(loop: asyncio.AbstractEventLoop) -> Waker:
    waker = _wakers.get(loop)
    if waker is None:
        waker = _wakers[loop] = Waker(loop)
    return waker


def run_later(work: Work) -> bool:
    """Runs it soon in the loop of this thread. False if there is none."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return False
    waker_of(loop).run_later(work)
    return True
