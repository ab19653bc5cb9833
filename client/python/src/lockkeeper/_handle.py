# SPDX-License-Identifier: Apache-2.0
"""What a program has of a client: its settings, and the core of this process."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Unpack

from ._connections import Credentials
from ._core import Core, Settings
from ._threads import Work
from .errors import service_error
from .options import ClientOptions


class Handle:
    """Makes the core when it is first used, and never takes that of a parent process."""

    _later: Callable[[Work], bool] | None = None

    def __init__(self, *addresses: str, **options: Unpack[ClientOptions]) -> None:
        self._settings = Settings(addresses or ("127.0.0.1:7600",), options)
        # What is wrong with the files is said here, and not by the first call.
        Credentials(
            self._settings.tls, self._settings.token_file, self._settings.addresses
        )
        self._made: Core | None = None
        self._is_closed = False
        self._make_lock = threading.Lock()
        _handles.add(self)

    def _core(self) -> Core:
        core = self._made
        if core is not None and not core.closed:
            return core
        with self._make_lock:
            if self._is_closed or (self._made is not None and self._made.closed):
                raise service_error("CANCELLED", "the client is closed")
            if self._made is None:
                self._made = Core(self._settings, self._later)
                weakref.finalize(self, _close_soon, self._made).atexit = False
            return self._made

    def _close(self) -> None:
        with self._make_lock:
            self._is_closed = True
            core = self._made
        if core is not None:
            core.close()


def _close_soon(core: Core) -> None:
    # Not in this thread, which may be in the middle of anything.
    if not (core.closed or core.forked):
        threading.Thread(target=core.close, name="lockkeeper-close", daemon=True).start()


_handles: weakref.WeakSet[Handle] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for handle in list(_handles):
        handle._made = None
        handle._make_lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork_in_child)
