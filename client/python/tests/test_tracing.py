# SPDX-License-Identifier: Apache-2.0
"""What clients send of the trace context of their callers, to a daemon that writes it down."""

import asyncio
import contextlib
import queue
import subprocess
import sys
import threading
import unittest
from concurrent import futures
from unittest import mock

import grpc
from lockkeeper import Client, aio
from lockkeeper import _messages as messages
from lockkeeper import _tracing

HAS_PACKAGE = _tracing.propagate is not None
if HAS_PACKAGE:
    from opentelemetry import context, trace

LIMIT = 15  # s; for what has to happen
MESSAGE_BYTES_MAX = 64 * 1024  # The daemon's.
PARENT_A = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
PARENT_B = "00-11111111111111111111111111111111-2222222222222222-00"
A = {"traceparent": PARENT_A, "tracestate": "rojo=1"}
B = {"traceparent": PARENT_B}

needs_the_package = unittest.skipUnless(HAS_PACKAGE, "opentelemetry-api is not installed")


@contextlib.contextmanager
def active(headers):
    """The block runs with this context."""
    _, trace_id, span_id, flags = headers["traceparent"].split("-")
    state = [pair.split("=") for pair in headers.get("tracestate", "").split(",") if pair]
    span = trace.SpanContext(
        int(trace_id, 16),
        int(span_id, 16),
        is_remote=False,
        trace_flags=trace.TraceFlags(int(flags, 16)),
        trace_state=trace.TraceState(state),
    )
    token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(span)))
    try:
        yield
    finally:
        context.detach(token)


class FakeDaemon:
    """Grants everything. `operations` has (kind, name, trace context) of each operation."""

    def __init__(self):
        self.has_sessions = True
        self.ttl = 60
        self.failures = 0  # So many releases are answered with UNAVAILABLE.
        self.operations = queue.Queue()
        self.longest = 0  # Bytes of a message of a session.
        self._server = grpc.server(futures.ThreadPoolExecutor(8))
        calls = {
            name: grpc.unary_unary_rpc_method_handler(
                self._unary(kind),
                getattr(messages, f"{name}Request").FromString,
                getattr(messages, f"{name}Response").SerializeToString,
            )
            for kind, name in (("acquire", "Acquire"), ("fence", "Fence"), ("release", "Release"))
        }
        calls["Session"] = grpc.stream_stream_rpc_method_handler(
            self._session, self._request, messages.SessionResponse.SerializeToString
        )
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("lockkeeper.v1.LockService", calls)]
        )
        self.address = "127.0.0.1:%d" % self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def stop(self):
        self._server.stop(0)

    def next(self):
        return self.operations.get(timeout=LIMIT)

    def by_name(self, count):
        """The trace contexts of the next operations."""
        taken = (self.next() for _ in range(count))
        return {name: context for _, name, context in taken}

    def _request(self, received):
        self.longest = max(self.longest, len(received))
        return messages.SessionRequest.FromString(received)

    def _session(self, requests, call):
        if not self.has_sessions:
            call.abort(grpc.StatusCode.UNIMPLEMENTED, "as the test says")
        for request in requests:
            answer = messages.SessionResponse()
            if request.HasField("open"):
                answer.opened.session_id = "s"
            for operation in request.batch.operations:
                kind = operation.WhichOneof("operation")
                sent = {f: getattr(operation, f) for f in A if getattr(operation, f)}
                result = answer.results.results.add(operation_id=operation.id)
                if kind == "release" and self.failures > 0:
                    self.failures -= 1
                    result.error.code = grpc.StatusCode.UNAVAILABLE.value[0]
                else:
                    self._answer(kind, getattr(operation, kind), getattr(result, kind))
                self.operations.put((kind, getattr(operation, kind).name, sent))
            yield answer

    def _unary(self, kind):
        def answer(request, call):
            sent = {k: v for k, v in call.invocation_metadata() if k in A}
            response = getattr(messages, f"{kind.capitalize()}Response")()
            self._answer(kind, request, response)
            self.operations.put((kind, request.name, sent))
            return response

        return answer

    def _answer(self, kind, request, response):
        if kind in ("acquire", "extend"):
            lease = response.lease
            lease.name, lease.lease_id, lease.fencing_token = request.name, request.lease_id, 7
            ttl = request.ttl.seconds or self.ttl
            lease.ttl.seconds = lease.remaining_ttl.seconds = ttl
        elif kind == "release":
            response.released = True
        else:
            response.verdict = 1


class TracingTest(unittest.TestCase):
    def setUp(self):
        self.daemon = FakeDaemon()
        self.addCleanup(self.daemon.stop)

    def client(self, **options):
        client = Client(self.daemon.address, **options)
        self.addCleanup(client.close)
        return client

    def fences(self, client):
        """What two threads with contexts of their own and one without send at the same time."""
        start = threading.Barrier(3)

        def run(name, headers):
            with active(headers) if headers else contextlib.nullcontext():
                start.wait()
                client.fence(name, 1)

        callers = [("a", A), ("b", B), ("none", {})]
        threads = [threading.Thread(target=run, args=caller) for caller in callers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.daemon.by_name(3)

    @needs_the_package
    def test_operation_of_a_session_carries_the_context_of_its_caller(self):
        self.assertEqual(self.fences(self.client()), {"a": A, "b": B, "none": {}})

    @needs_the_package
    def test_unary_call_carries_the_context_of_its_caller(self):
        client = self.client(use_sessions=False)
        self.assertEqual(self.fences(client), {"a": A, "b": B, "none": {}})

    @needs_the_package
    def test_operation_that_goes_by_a_unary_call_instead_keeps_its_context(self):
        self.daemon.has_sessions = False
        self.assertEqual(self.fences(self.client()), {"a": A, "b": B, "none": {}})

    @needs_the_package
    def test_each_call_of_a_lease_carries_the_context_of_its_caller_and_a_renewal_none(self):
        self.daemon.ttl = 2
        client = self.client()
        with active(A):
            lease = client.acquire("job")
            self.assertEqual(self.daemon.next(), ("acquire", "job", A))
            self.assertEqual(self.daemon.next(), ("extend", "job", {}))  # A renewal.
        with active(B):
            lease.extend(60)
        extends = iter(self.daemon.next, ("extend", "job", {}))  # After other renewals.
        self.assertEqual(next(extends), ("extend", "job", B))
        with active(A):
            lease.release()
        self.assertEqual(next(extends), ("release", "job", A))

    @needs_the_package
    def test_release_that_is_repeated_keeps_its_context(self):
        client = self.client()
        lease = client.acquire("job")
        self.daemon.failures = 2
        with active(A):
            self.assertTrue(lease.release())
        self.daemon.next()
        self.assertEqual([self.daemon.next() for _ in range(3)], [("release", "job", A)] * 3)

    @needs_the_package
    def test_asyncio_sends_the_context_of_each_task(self):
        async def fence(client, name, headers):
            with active(headers) if headers else contextlib.nullcontext():
                await client.fence(name, 1)

        async def run(**options):
            callers = [("a", A), ("b", B), ("none", {})]
            async with aio.Client(self.daemon.address, **options) as client:
                await asyncio.gather(*(fence(client, *caller) for caller in callers))

        for options in {}, {"use_sessions": False}:
            asyncio.run(run(**options))
            self.assertEqual(self.daemon.by_name(3), {"a": A, "b": B, "none": {}})

    @needs_the_package
    def test_contexts_count_for_the_size_of_a_message(self):
        state = ",".join(f"k{i}={'v' * 150}" for i in range(3))

        async def run():
            with active(B | {"tracestate": state}):
                async with aio.Client(self.daemon.address) as client:
                    await asyncio.gather(*(client.fence(f"{i}", 1) for i in range(500)))

        asyncio.run(run())
        sent = self.daemon.by_name(500)
        self.assertTrue(all(each == B | {"tracestate": state} for each in sent.values()))
        self.assertGreater(self.daemon.longest, MESSAGE_BYTES_MAX // 2)
        self.assertLessEqual(self.daemon.longest, MESSAGE_BYTES_MAX)

    def test_context_that_means_nothing_is_left_out(self):
        longest = {"traceparent": "p" * 64, "tracestate": "s" * 512}
        for given, sent in (
            (longest, longest),
            (longest | {"traceparent": "p" * 65}, {}),
            (A | {"tracestate": "s" * 513}, {"traceparent": PARENT_A}),
            (A | {"tracestate": "é"}, {"traceparent": PARENT_A}),
            (A | {"tracestate": "a\n"}, {"traceparent": PARENT_A}),
            ({"tracestate": "a=1"}, {}),
            (A | {"baggage": "a=1"}, A),
        ):
            with mock.patch.object(_tracing, "propagate") as propagate:
                propagate.inject.side_effect = lambda carrier, given=given: carrier.update(given)
                self.assertEqual(dict(_tracing.active_trace_context()), sent)

    @mock.patch.object(_tracing, "propagate", None)
    def test_nothing_is_sent_without_the_package(self):
        for options in {}, {"use_sessions": False}:
            with active(A) if HAS_PACKAGE else contextlib.nullcontext():
                self.client(**options).fence("job", 1)
            self.assertEqual(self.daemon.next(), ("fence", "job", {}))

    def test_package_that_cannot_be_imported_harms_nothing(self):
        for text in (
            "import sys; sys.modules['opentelemetry'] = None",
            "import os; os.environ['OTEL_PROPAGATORS'] = 'nonsense'",
        ):
            text += "; from lockkeeper import _tracing; print(_tracing.active_trace_context())"
            said = subprocess.run(
                [sys.executable, "-c", text], capture_output=True, text=True, timeout=60
            )
            self.assertEqual(said.stdout, "()\n", said.stderr)


if __name__ == "__main__":
    unittest.main()
