#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What 1,000 hostile connections do to a client that behaves: ./dev bench hostile.

Three daemons' worth of time in turn, in each round: without an attack, with an attack on another daemon of this machine (what the attack
itself costs two cores), and with the attack on the client's own daemon. Prints the 99th percentile of the client's acquires over TLS, the
errors that it met, and the daemon's memory and descriptors before, at most, and after.

Exits with 1, and says why, if an error reached the client, if the attack on its own daemon more than doubled that percentile (compared
with the attack on the other daemon, the median of the rounds), or if memory or descriptors did not come back within a minute.
"""

import argparse
import asyncio
import os
import ssl
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/conformance")

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, HEADERS, DATA = 4, 1, 0
END_HEADERS = 4


# --- the attacker, a process of its own -------------------------------------------------------------------------------------------------

def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(text):
    return bytes([len(text)]) + text.encode()


def call_headers(stream, path):
    """The headers of a gRPC call, each as a literal that no table keeps."""
    fields = [(":method", "POST"), (":scheme", "https"), (":path", path), (":authority", "localhost"), ("te", "trailers"),
              ("content-type", "application/grpc")]
    return frame(HEADERS, END_HEADERS, stream, b"".join(b"\0" + literal(name) + literal(value) for name, value in fields))


def message(payload):
    return b"\0" + struct.pack(">I", len(payload)) + payload


async def handshakes(connect):
    """Connects, and closes at once."""
    _, writer = await connect()
    writer.close()


async def malformed(connect):
    """Sends frames that are none, until the daemon closes."""
    reader, writer = await connect()
    writer.write(PREFACE + frame(SETTINGS, 0, 0, b"") + os.urandom(4_000))
    await writer.drain()
    while await reader.read(65_536):
        pass
    writer.close()


async def oversized(connect):
    """Sends a message that says it is 4 GiB long, until the daemon ends the call."""
    reader, writer = await connect()
    writer.write(PREFACE + frame(SETTINGS, 0, 0, b"") + call_headers(1, "/lockkeeper.v1.LockService/Acquire"))
    writer.write(frame(DATA, 0, 1, b"\0" + struct.pack(">I", 0xffffffff) + bytes(16_000)))
    for _ in range(20):
        writer.write(frame(DATA, 0, 1, bytes(16_000)))
        await writer.drain()
        await asyncio.sleep(0.05)
    writer.close()


async def trickling(connect):
    """Sends a request, a byte at a time."""
    _, writer = await connect()
    for byte in PREFACE + frame(SETTINGS, 0, 0, b"") + call_headers(1, "/lockkeeper.v1.LockService/Acquire"):
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(1)
    writer.close()


async def unread_sessions(connect):
    """Opens sessions, asks for a lock again and again, and never reads."""
    from lockkeeper.v1 import lock_service_pb2 as protos
    _, writer = await connect()
    writer.transport.pause_reading()
    writer.write(PREFACE + frame(SETTINGS, 0, 0, b""))
    for stream in (1, 3, 5, 7):
        writer.write(call_headers(stream, "/lockkeeper.v1.LockService/Session"))
        writer.write(frame(DATA, 0, stream, message(protos.SessionRequest(open=protos.SessionOpen()).SerializeToString())))
    operation = protos.SessionOperation(id=1, fence=protos.FenceRequest(name="hostile", fencing_token=1))
    batch = message(protos.SessionRequest(batch=protos.SessionBatch(operations=[operation])).SerializeToString())
    while True:
        for stream in (1, 3, 5, 7):
            writer.write(frame(DATA, 0, stream, batch))
        await writer.drain()
        await asyncio.sleep(0.2)


ATTACKS = (handshakes, malformed, oversized, trickling, unread_sessions)


async def attack(port, ca, connections):
    """Lets each connection attack again whenever it is closed, until the process is ended."""
    import stubs
    folder = tempfile.mkdtemp()
    stubs.generate(ROOT, folder)
    sys.path.insert(0, folder)
    context = ssl.create_default_context(cafile=ca)
    context.set_alpn_protocols(["h2"])
    counts = dict.fromkeys((each.__name__ for each in ATTACKS), 0)

    async def connect():
        return await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost", ssl_handshake_timeout=60)

    async def one(act):
        while True:
            counts[act.__name__] += 1
            try:
                await act(connect)
            except (OSError, asyncio.IncompleteReadError):  # refused, or closed by the daemon
                await asyncio.sleep(0.05)

    tasks = [asyncio.create_task(one(ATTACKS[i % len(ATTACKS)])) for i in range(connections)]
    print("attacking", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for task in tasks:
        task.cancel()
    print(" ".join(f"{name} {count}" for name, count in counts.items()), flush=True)
    subprocess.run(["rm", "-rf", folder], check=True)
    os._exit(0)  # without a farewell to 1,000 connections


class Attacker:
    """The attacker on a daemon, while the block runs."""

    def __init__(self, port, options, place):
        self._command = [sys.executable, __file__, "--daemon", "-", "--attack", str(port), "--connections", str(options.connections)]
        self._place = place

    def __enter__(self):
        self._process = subprocess.Popen(self._command + ["--ca", f"{self._place}/ca.pem"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)
        if self._process.stdout.readline() != "attacking\n":
            raise RuntimeError("the attacker does not attack")
        return self

    def __exit__(self, *_):
        said, _ = self._process.communicate("")
        self.said = said.strip()


# --- the daemons, and the client that behaves -------------------------------------------------------------------------------------------

def make_certificates(place):
    """A CA, and a certificate for localhost."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=place)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=hostile CA", "-days", "1",
            "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost", "-keyout", "key.pem", "-out",
            "request.pem")
    with open(f"{place}/extensions", "w", encoding="utf-8") as file:
        file.write("subjectAltName=DNS:localhost\n")
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "1", "-extfile", "extensions", "-out",
            "certificate.pem")


class Daemon:
    def __init__(self, program, place, name):
        command = [program, "--embedded", "--data-dir", f"{place}/{name}", "--listen", "tls://127.0.0.1:0", "--http-listen", "127.0.0.1:0",
                   "--tls-cert", f"{place}/certificate.pem", "--tls-key", f"{place}/key.pem"]
        self._log = open(f"{place}/{name}.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, text=True)
        ready = self.process.stdout.readline()
        if "grpc=" not in ready:
            raise RuntimeError(f"the daemon does not start: {open(self._log.name, encoding='utf-8').read()}")
        self.port = int(ready.split("grpc=")[1].split()[0].rsplit(":", 1)[1])

    def megabytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self._log.close()


class Client:
    """Acquires and releases, one call after the other."""

    def __init__(self, port, place):
        import grpc
        from lockkeeper.v1 import lock_service_pb2, lock_service_pb2_grpc
        self._protos = lock_service_pb2
        with open(f"{place}/ca.pem", "rb") as file:
            credentials = grpc.ssl_channel_credentials(file.read())
        self._stub = lock_service_pb2_grpc.LockServiceStub(grpc.secure_channel(f"localhost:{port}", credentials))
        self._error = grpc.RpcError
        self.errors = []

    def p99(self, seconds):
        """Of the acquires of so many seconds, in milliseconds."""
        took = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            lease_id = os.urandom(16).hex()
            start = time.monotonic()
            try:
                self._stub.Acquire(self._protos.AcquireRequest(name="work", lease_id=lease_id), timeout=30)
                took.append(time.monotonic() - start)
                self._stub.Release(self._protos.ReleaseRequest(name="work", lease_id=lease_id), timeout=30)
            except self._error as error:
                self.errors.append(error)
        return statistics.quantiles(took, n=100)[98] * 1e3


RATIO_MAX = 2
SETTLE_SECONDS = 60


def memory_allowed(before):
    """Megabytes that a daemon may have after an attack. The allocator keeps pages of which a part is in use, and its caches grow with the
    first attack: 10 MB, and a fifth of what there was. What stays for each connection or call of an attack is far more after 1,000."""
    return before * 1.2 + 10


def settle(daemon, before):
    """Waits until the daemon has no more descriptors and hardly more memory than before. The daemon looks every 10 s whether it can give
    memory back to the system. What has not come back after a minute, in words."""
    megabytes, descriptors = before
    end = time.monotonic() + SETTLE_SECONDS
    while True:
        problems = []
        if daemon.descriptors() > descriptors:
            problems.append(f"{daemon.descriptors()} descriptors {SETTLE_SECONDS} s after the attack, {descriptors} before")
        if daemon.megabytes() > memory_allowed(megabytes):
            problems.append(f"{daemon.megabytes():.0f} MB {SETTLE_SECONDS} s after the attack, {megabytes:.0f} MB before, "
                            f"{memory_allowed(megabytes):.0f} MB allowed")
        if not problems or time.monotonic() >= end:
            return problems
        time.sleep(0.2)


class Peak:
    """The most memory and descriptors that the daemon has while the block runs."""

    def __init__(self, daemon):
        self._daemon = daemon
        self._over = threading.Event()
        self.megabytes, self.descriptors = 0, 0

    def __enter__(self):
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _look(self):
        while True:
            self.megabytes = max(self.megabytes, self._daemon.megabytes())
            self.descriptors = max(self.descriptors, self._daemon.descriptors())
            if self._over.wait(0.1):
                return


def measure(options):
    import stubs
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(f"{place}/stubs")
        stubs.generate(ROOT, f"{place}/stubs")
        sys.path.insert(0, f"{place}/stubs")
        make_certificates(place)
        own, other = Daemon(options.daemon, place, "own"), Daemon(options.daemon, place, "other")
        try:
            client = Client(own.port, place)
            client.p99(2)  # until everything is warm
            rounds = []
            problems = []
            before = own.megabytes(), own.descriptors()  # of all rounds: what each of them leaves would add up
            for _ in range(options.rounds):
                alone = client.p99(options.seconds)
                with Attacker(other.port, options, place):
                    elsewhere = client.p99(options.seconds)
                with Attacker(own.port, options, place) as attacker, Peak(own) as peak:
                    attacked = client.p99(options.seconds)
                problems += settle(own, before)
                after = own.megabytes(), own.descriptors()
                rounds.append((attacked / alone, attacked / elsewhere))
                print(f"p99 of an acquire: alone {alone:.2f} ms, another daemon attacked {elsewhere:.2f} ms, attacked {attacked:.2f} ms; "
                      f"errors {len(client.errors)}; memory {before[0]:.0f}, {peak.megabytes:.0f}, {after[0]:.0f} MB; "
                      f"descriptors {before[1]}, {peak.descriptors}, {after[1]}; attempts: {attacker.said}", flush=True)
            ratio = statistics.median(each[1] for each in rounds)
            print(f"median ratio: {statistics.median(each[0] for each in rounds):.2f} of alone, {ratio:.2f} of another daemon attacked")
        finally:
            own.stop()
            other.stop()
        if client.errors:
            problems.append(f"{len(client.errors)} errors reached the client")
        problems += [f"error: {error.code()} {error.details()}" for error in client.errors[:5]]
        if ratio > RATIO_MAX:
            problems.append(f"the attack made the client's p99 {ratio:.2f} times as long, {RATIO_MAX} allowed")
        for problem in problems:
            print(f"FAILED: {problem}")
        return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--daemon", required=True, help="the program lockkeeperd")
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="of each part of a round")
    parser.add_argument("--attack", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--ca", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.attack:
        asyncio.run(attack(options.attack, options.ca, options.connections))
    sys.exit(measure(options))


if __name__ == "__main__":
    main()
