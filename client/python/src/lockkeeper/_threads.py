# SPDX-License-Identifier: Apache-2.0
"""The two threads of a client: one runs timers, one runs the callbacks of its user."""

from __future__ import annotations

import heapq
import itertools
import logging
import queue
import threading
from collections.abc import Callable

from ._rules import boot_clock

Work = Callable[[], object]
_log = logging.getLogger("lockkeeper")

# A thread's wait does not count the time for which the machine sleeps; the boot clock does.
_LONGEST_WAIT = 0.5


class Timer:
    """Work to be done at a time. `cancel` may come at any moment, also afterwards."""

    __slots__ = ("work",)

    def __init__(self, work: Work) -> None:
        self.work: Work | None = work

    def cancel(self) -> None:
        self.work = None


def _run(work: Work) -> None:
    try:
        work()
    except Exception:
        _log.exception("a callback failed")


class TimerThread:
    """Runs work at its time. The work must not block."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._wakes_at = 0.0  # The thread looks at the heap again then, or when it is posted to.
        self._posted: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._main, name="lockkeeper-timers", daemon=True)
        self._thread.start()

    def at(self, time: float, work: Work) -> Timer:
        timer = Timer(work)
        with self._lock:
            heapq.heappush(self._heap, (time, next(self._numbers), timer))
            wake = time < self._wakes_at
            if wake:
                self._wakes_at = time
        if wake:
            self._posted.put(_nothing)
        return timer

    def post(self, work: Work) -> None:
        """Runs it soon. May be called from a destructor, at any point of any thread."""
        self._posted.put(work)

    def stop(self) -> None:
        self._posted.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _main(self) -> None:
        while True:
            try:
                work = self._posted.get(timeout=self._run_due())
            except queue.Empty:
                continue
            if work is None:
                return
            _run(work)

    def _run_due(self) -> float | None:
        """Returns how long there is nothing to do; None: for ever."""
        while True:
            now = boot_clock()
            due = []
            with self._lock:
                heap = self._heap
                while heap and (heap[0][0] <= now or heap[0][2].work is None):
                    timer = heapq.heappop(heap)[2]
                    if timer.work is not None:
                        due.append(timer)
                if not due:
                    self._wakes_at = heap[0][0] if heap else float("inf")
                    return min(heap[0][0] - now, _LONGEST_WAIT) if heap else None
            for timer in due:
                work, timer.work = timer.work, None
                if work is not None:  # Not cancelled meanwhile.
                    _run(work)


def _nothing() -> None:
    pass


class CallbackThread:
    """Runs callbacks one after the other. Starts with the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def post(self, work: Work) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._main, name="lockkeeper-callbacks", daemon=True
                )
                self._thread.start()
        self._queue.put(work)

    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        self._queue.put(None)

    def _main(self) -> None:
        while (work := self._queue.get()) is not None:
            _run(work)
