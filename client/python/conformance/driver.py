# SPDX-License-Identifier: Apache-2.0
"""driver.py [--aio]: the driver of the conformance suite (tests/conformance/README.md), with the
blocking client or the one for asyncio."""

import asyncio
import ctypes
import inspect
import json
import os
import sys
import threading

import lockkeeper
import lockkeeper.aio

FEATURES = (
    "renewal events details sessions cancel extend detach adopt stop_margin hold_at_least tls "
    "exit_release observe block fork clock"
).split()
DURATIONS = {
    "ttl": "ttl",
    "wait": "wait",
    "lockDelay": "lock_delay",
    "maxHold": "max_hold",
    "holdAtLeast": "hold_at_least",
    "stopMargin": "stop_margin",
    "callTimeout": "call_timeout",
    "releaseTimeout": "release_timeout",
}
OTHERS = {
    "owner": "owner",
    "labels": "labels",
    "leaseId": "lease_id",
    "tokenFile": "token_file",
    "useSessions": "use_sessions",
}
TLS = {
    "caFile": "ca_file",
    "certificateFile": "certificate_file",
    "keyFile": "key_file",
    "serverName": "server_name",
}


def options_of(request):
    options = {DURATIONS[key]: value / 1000 for key, value in request.items() if key in DURATIONS}
    options |= {OTHERS[key]: value for key, value in request.items() if key in OTHERS}
    if tls := {TLS[key]: value for key, value in request.items() if key in TLS}:
        options["tls"] = lockkeeper.Tls(**tls)
    return options


def ms(seconds):
    return int(seconds * 1000)


async def value(answer):
    """That of a call of either client."""
    return await answer if inspect.isawaitable(answer) else answer


class Driver:
    def __init__(self, client_type):
        self._client_type = client_type
        self._clients = {}
        self._leases = {}
        self._cancellations = {}
        self._output = threading.Lock()

    def say(self, message):
        with self._output:
            print(json.dumps(message), flush=True)

    def receive(self, request):
        """Before the request is carried out, and before the next one is read."""
        if request["do"] == "acquire":
            self._cancellations[request["id"]] = lockkeeper.Cancellation()

    def is_of_the_program(self, request):
        """Whether it is the program's own thread that does this."""
        return request["do"] in ("block", "check", "fork")

    async def carry_out(self, request):
        try:
            answer = {"ok": await getattr(self, request["do"])(request)}
        except Exception as error:
            answer = {"error": self._told(error)}
        self.say({"id": request["id"]} | answer)

    def _told(self, error):
        if isinstance(error, lockkeeper.ServiceError):
            return {"code": error.code, "reason": error.reason_name, "message": str(error)}
        if isinstance(error, lockkeeper.LeaseLost):
            code, reason = "FAILED_PRECONDITION", "LEASE_LOST"
        else:
            code, reason = "INTERNAL", ""
        return {"code": code, "reason": reason, "message": repr(error)}

    def _client(self, request):
        return self._clients[request.get("client", "client")]

    def _lease(self, request):
        return self._leases[request["lease"]]

    async def features(self, request):
        return {"features": FEATURES}

    async def create(self, request):
        client = self._client_type(*request["servers"], **options_of(request))
        self._clients[request.get("as", "client")] = client
        return {}

    async def acquire(self, request):
        options = options_of(request) | {"cancel": self._cancellations[request["id"]]}
        try:
            lease = await value(self._client(request).require(request["name"], **options))
        except lockkeeper.NotAcquired as held:
            contention = held.contention
            return {
                "granted": False,
                "reason": contention.reason,
                "holderOwner": contention.holder_owner,
                "remaining": ms(contention.remaining),
            }
        return self._keep(lease, request)

    def _keep(self, lease, request):
        label = request["as"]
        self._leases[label] = lease

        def lost():
            self.say({"event": "lost", "lease": label, "cause": lease.loss} | self._end(lease))

        lease.on_lost(lost)
        return self._end(lease) | {
            "granted": True,
            "token": lease.fencing_token,
            "leaseId": lease.lease_id,
            "waited": ms(lease.waited),
            "previousLeaseExpired": lease.previous_lease_expired,
        }

    def _end(self, lease):
        return {"remaining": ms(lease.remaining())}

    async def cancel(self, request):
        self._cancellations[request["request"]].cancel()
        return {}

    async def state(self, request):
        lease = self._lease(request)
        state = {"held": lease.held, "lost": lease.lost.is_set(), "cause": lease.loss or ""}
        return self._end(lease) | state

    async def check(self, request):
        try:
            self._lease(request).check()
        except lockkeeper.LockkeeperError:
            return {"held": False}
        return {"held": True}

    async def extend(self, request):
        ttl = request["ttl"] / 1000 if "ttl" in request else None
        return {"remaining": ms(await value(self._lease(request).extend(ttl)))}

    async def release(self, request):
        return self._released(await value(self._lease(request).release()))

    async def releaseById(self, request):
        client = self._client(request)
        return self._released(await value(client.release(request["name"], request["leaseId"])))

    def _released(self, result):
        return {"released": bool(result), "reason": "" if result else result}

    async def fence(self, request):
        live = request.get("requireLive", False)
        call = self._client(request).fence(
            request["name"], request["token"], require_live_lease=live
        )
        result = await value(call)
        return {"verdict": result.verdict, "newest": result.newest_fencing_token}

    async def detach(self, request):
        lease = self._lease(request)
        return {
            "leaseId": lease.detach(),
            "name": lease.name,
            "token": lease.fencing_token,
            "reassertion": lease.reassertion,
        }

    async def adopt(self, request):
        options = options_of({key: request[key] for key in DURATIONS if key in request})
        for name, key in (("fencing_token", "token"), ("reassertion", "reassertion")):
            if key in request:
                options[name] = request[key]
        client = self._client(request)
        return self._keep(
            await value(client.adopt(request["name"], request["leaseId"], **options)), request
        )

    async def observe(self, request):
        def changed(leader):
            token, owner = (leader.fencing_token, leader.owner) if leader else (0, None)
            told = {"event": "leader", "observer": request["as"], "token": token, "owner": owner}
            self.say(told)

        self._client(request).observe(request["name"], changed)
        return {}

    async def block(self, request):
        # A call into C that keeps the interpreter: no thread of Python runs meanwhile.
        ctypes.PyDLL(None).usleep(request["for"] * 1000)
        return {}

    async def fork(self, request):
        lease = self._lease(request)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, json.dumps(self._seen_by_child(lease)).encode())
            os._exit(0)
        os.close(writing)
        with open(reading) as told:
            answer = json.loads(told.read())
        os.waitpid(child, 0)
        return answer

    def _seen_by_child(self, lease):
        errors = []
        for act in (lease.check, lease.release, lease.extend):
            try:
                result = act()
                if inspect.iscoroutine(result):
                    result.send(None)
            except BaseException as error:
                errors.append(repr(error))
        return {"childHeld": lease.held, "childError": "; ".join(errors)}

    async def close(self, request):
        await value(self._client(request).close())
        return {}


def requests():
    while line := sys.stdin.readline():
        yield json.loads(line)


def run_in_threads(driver):
    def carry_out(request):
        try:
            driver.carry_out(request).send(None)
        except StopIteration:
            pass

    for request in requests():
        driver.receive(request)
        if driver.is_of_the_program(request):
            carry_out(request)
        else:
            threading.Thread(target=carry_out, args=(request,), daemon=True).start()


async def run_in_loop(driver):
    loop = asyncio.get_running_loop()
    tasks = set()
    reader = requests()
    # Lines are read by a thread, but only while the loop is free: as a program's own input would.
    while request := await loop.run_in_executor(None, next, reader, None):
        driver.receive(request)
        if driver.is_of_the_program(request):
            await driver.carry_out(request)
        else:
            task = asyncio.create_task(driver.carry_out(request))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


if "--aio" in sys.argv:
    asyncio.run(run_in_loop(Driver(lockkeeper.aio.Client)))
else:
    run_in_threads(Driver(lockkeeper.Client))
