# SPDX-License-Identifier: Apache-2.0
"""A file that fencing tokens guard, on a local file system. Needs nothing but Python.

FILE.mark keeps the mark, and FILE.lock the lock of the operating system that makes check and write one step. Delete neither
while the file is in use. fenced_file.sh uses the same files.
"""
import contextlib
import fcntl
import os

MAX_TOKEN = 2**53 - 1


class StaleToken(Exception):
    """A newer holder has used the file: nothing was changed. Stop, and do not retry."""


class FencedFile:
    def __init__(self, path: str):
        self._path = os.path.realpath(path)  # a rename would replace a link instead of the file

    def read(self, token: int) -> bytes | None:
        """The content, or None if there is no file. Begin each turn with the lock by a read: it raises the mark."""
        with self._admitted(token):
            return _content(self._path)

    def write(self, token: int, data: bytes) -> None:
        """Replaces the content. A reader without a token sees the old or the new content, never a part."""
        with self._admitted(token):
            _replace(self._path, data)

    @contextlib.contextmanager
    def _admitted(self, token):
        if not isinstance(token, int) or not 1 <= token <= MAX_TOKEN:
            raise ValueError(f"token must be an integer from 1 to {MAX_TOKEN}, and is {token!r}")
        with open(self._path + ".lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed, also by the end of the process
            mark = int(_content(self._path + ".mark") or 0)
            if token < mark:
                raise StaleToken(f"token {token} is below the mark {mark} of {self._path}")
            if token > mark:
                _replace(self._path + ".mark", b"%d\n" % token)  # before the data: a crash between them harms nothing
            yield


def _content(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _replace(path, data):
    with open(path + ".new", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".new", path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)  # without it a power failure can undo the rename
    finally:
        os.close(folder)
