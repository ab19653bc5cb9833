# SPDX-License-Identifier: Apache-2.0
"""A daemon for observers only, which says what a test tells it to say."""

import queue
import threading
from concurrent import futures

import grpc
from lockkeeper import _messages as messages

LIMIT = 15  # s; for what has to happen


class Watch:
    """A stream of WatchLocks, open until a test ends it or the client leaves."""

    def __init__(self, request, context):
        self.name = request.name
        self.metadata = dict(context.invocation_metadata())
        self.gone = threading.Event()
        self.out = queue.Queue()
        context.add_callback(self._on_gone)

    def _on_gone(self):
        self.gone.set()
        self.out.put(None)

    def tell(self, *events):
        """Events as (kind, token) or (kind, token, owner)."""
        message = messages.WatchLocksResponse()
        for kind, token, *owner in events:
            event = message.events.add(kind=f"LOCK_EVENT_KIND_{kind}", fencing_token=token)
            event.owner = owner[0] if owner else "somebody"
        self.out.put(message)

    def start(self):
        self.tell(("STARTED", 0))

    def end(self, code=grpc.StatusCode.OK):
        self.out.put(code)


class Look:
    """A call of GetLock that waits for its answer."""

    def __init__(self, request, context):
        self.name = request.name
        self.gone = threading.Event()
        self._answer = queue.Queue()
        context.add_callback(lambda: (self.gone.set(), self._answer.put(None)))

    def held(self, token, owner="somebody"):
        answer = messages.GetLockResponse()
        answer.lock.state, answer.lock.fencing_token, answer.lock.owner = 1, token, owner
        self._answer.put(answer)

    def nobody(self):
        self._answer.put(messages.GetLockResponse())

    def fail(self, code):
        self._answer.put(code)

    def wait(self):
        return self._answer.get()


class FakeAdmin:
    def __init__(self):
        self.watches, self.looks = queue.Queue(), queue.Queue()
        self._server = grpc.server(futures.ThreadPoolExecutor(16))
        self._server.add_generic_rpc_handlers([
            grpc.method_handlers_generic_handler("lockkeeper.admin.v1.AdminService", {
                "WatchLocks": grpc.unary_stream_rpc_method_handler(
                    self._watch,
                    messages.WatchLocksRequest.FromString,
                    messages.WatchLocksResponse.SerializeToString,
                ),
                "GetLock": grpc.unary_unary_rpc_method_handler(
                    self._look,
                    messages.GetLockRequest.FromString,
                    messages.GetLockResponse.SerializeToString,
                ),
            })
        ])  # fmt: skip
        self.address = "127.0.0.1:%d" % self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def watch(self):
        """The next one that is opened here."""
        return self.watches.get(timeout=LIMIT)

    def look(self):
        return self.looks.get(timeout=LIMIT)

    def stop(self):
        self._server.stop(0)

    def _watch(self, request, context):
        watch = Watch(request, context)
        self.watches.put(watch)
        while (said := watch.out.get()) is not None:
            if said is grpc.StatusCode.OK:
                return
            if isinstance(said, grpc.StatusCode):
                context.abort(said, "as the test says")
            yield said

    def _look(self, request, context):
        look = Look(request, context)
        self.looks.put(look)
        answer = look.wait()
        if answer is None or isinstance(answer, grpc.StatusCode):
            context.abort(answer or grpc.StatusCode.CANCELLED, "as the test says")
        return answer
