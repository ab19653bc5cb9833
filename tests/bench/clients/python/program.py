# SPDX-License-Identifier: Apache-2.0
"""program.py SIDE WAY SERVER REDIS_PORT: cycles of locks by lockkeeper (`ours`) or by the Lock of redis-py, with threads (`sync`) or asyncio.

README.md beside run.py says what it is asked."""

import asyncio
import importlib.metadata
import json
import platform
import sys
import threading
import time

TTL = 30
NAMES_EACH = 4
CONNECTIONS_MAX = 1000  # of redis-py, whose default is less than the cycles under way
WARM_UP = 0.3


def versions(*packages):
    return {"versions": [f"Python {platform.python_version()}", *(f"{name} {importlib.metadata.version(name)}" for name in packages)]}


class Window:
    """Counts the cycles that end between the warm-up and the end."""

    def __init__(self, seconds):
        self._begin = time.monotonic() + WARM_UP
        self._end = self._begin + seconds

    def goes_on(self, counts, number):
        now = time.monotonic()
        counts[number] += self._begin <= now <= self._end
        return now <= self._end


def lock_name(number, turn):
    return f"bench/{number}/{turn % NAMES_EACH}"


class Ours:
    packages = ("grpcio", "protobuf")

    def __init__(self, module, server, redis_port):
        self._client = module.Client(server)

    def acquire(self, name):
        return self._client.require(name, ttl=TTL)

    def release(self, lease):
        return lease.release()


class Theirs:
    packages = ("redis",)

    def __init__(self, module, server, redis_port):
        self._redis = module.Redis(port=redis_port, max_connections=CONNECTIONS_MAX)

    def acquire(self, name):
        lock = self._redis.lock(name, timeout=TTL, blocking=False)
        if not lock.acquire():
            raise RuntimeError(f"{name} is not free")
        return lock

    def release(self, lock):
        lock.release()


class TheirsOfTasks(Theirs):
    async def acquire(self, name):
        lock = self._redis.lock(name, timeout=TTL, blocking=False)
        if not await lock.acquire():
            raise RuntimeError(f"{name} is not free")
        return lock

    async def release(self, lock):
        await lock.release()


def work_with_threads(locks):
    """Each cycle under way has a thread of its own."""
    held_leases = []

    def cycles(depth, seconds):
        counts, errors, window = [0] * depth, [], None

        def open_window():
            nonlocal window
            window = Window(seconds)

        def loop(number):
            try:
                acquire, release, turn = locks.acquire, locks.release, 0
                all_ready.wait()
                while window.goes_on(counts, number):
                    release(acquire(lock_name(number, turn)))
                    turn += 1
            except Exception as error:
                errors.append(error)

        all_ready = threading.Barrier(depth, open_window)
        threads = [threading.Thread(target=loop, args=(number,)) for number in range(depth)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return {"perSecond": sum(counts) / seconds}

    def hold(leases):
        held_leases.extend(locks.acquire(f"held/{number}") for number in range(leases))
        return {}

    requests = {
        "versions": lambda: versions(*locks.packages),
        "cycles": cycles,
        "hold": hold,
        "held": lambda: {"held": sum(lease.held for lease in held_leases)},
    }
    for line in sys.stdin:
        request = json.loads(line)
        number, what = request.pop("id"), request.pop("do")
        print(json.dumps({"id": number, "ok": requests[what](**request)}), flush=True)


async def work_with_tasks(make_locks):
    """Each cycle under way has a task of its own."""
    locks = make_locks()  # asyncio's clients belong to the running loop
    held_leases = []

    async def cycles(depth, seconds):
        counts, window = [0] * depth, Window(seconds)

        async def loop(number):
            acquire, release, turn = locks.acquire, locks.release, 0
            while window.goes_on(counts, number):
                await release(await acquire(lock_name(number, turn)))
                turn += 1

        await asyncio.gather(*map(loop, range(depth)))
        return {"perSecond": sum(counts) / seconds}

    async def hold(leases):
        while len(held_leases) < leases:
            numbers = range(len(held_leases), min(len(held_leases) + 500, leases))
            held_leases.extend(await asyncio.gather(*(locks.acquire(f"held/{number}") for number in numbers)))
        return {}

    async def held():
        return {"held": sum(lease.held for lease in held_leases)}

    async def tell_versions():
        return versions(*locks.packages)

    requests = {"versions": tell_versions, "cycles": cycles, "hold": hold, "held": held}
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        request = json.loads(line)
        number, what = request.pop("id"), request.pop("do")
        print(json.dumps({"id": number, "ok": await requests[what](**request)}), flush=True)


def main():
    side, way, server, redis_port = sys.argv[1:]
    with_tasks = way == "asyncio"
    if side == "ours":
        module = importlib.import_module("lockkeeper.aio" if with_tasks else "lockkeeper")
        kind = Ours
    else:
        module = importlib.import_module("redis.asyncio" if with_tasks else "redis")
        kind = TheirsOfTasks if with_tasks else Theirs
    if with_tasks:
        asyncio.run(work_with_tasks(lambda: kind(module, server, int(redis_port))))
    else:
        work_with_threads(kind(module, server, int(redis_port)))


if __name__ == "__main__":
    main()
