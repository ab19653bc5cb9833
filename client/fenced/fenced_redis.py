# SPDX-License-Identifier: Apache-2.0
"""A key of Redis that fencing tokens guard. Needs redis-py and fenced.lua beside this file."""
import pathlib

import redis

SCRIPT = pathlib.Path(__file__).with_name("fenced.lua").read_text()


class StaleToken(Exception):
    """A newer holder has used the key: nothing was changed. Stop, and do not retry."""


class FencedKey:
    """The mark has a key of its own, in the same slot. It must never expire or be evicted."""

    def __init__(self, client: redis.Redis, key: str):
        mark = f"{key}:mark" if "{" in key else f"{{{key}}}:mark"
        self._keys = [mark, key]
        self._script = client.register_script(SCRIPT)  # EVALSHA; EVAL where the script is not known

    def call(self, token: int, command: str, *arguments):
        """Runs a command on the key, as in call(token, "SET", "new"). Begin each turn by a call, such as a GET."""
        try:
            return self._script(keys=self._keys, args=[token, command, *arguments])
        except redis.ResponseError as error:
            if str(error).startswith("STALE "):
                raise StaleToken(str(error)) from error
            raise
