# SPDX-License-Identifier: Apache-2.0
"""The scripted daemon: keeps leases like the real one, unless a rule of the case says what to answer, and records what it was sent."""

import queue
import threading
import time
import traceback
from concurrent import futures
from dataclasses import dataclass

import grpc
from google.protobuf.json_format import MessageToDict, ParseDict
from google.rpc import error_details_pb2, status_pb2
from lockkeeper.admin.v1 import admin_service_pb2 as admin_pb, admin_service_pb2_grpc
from lockkeeper.v1 import error_reason_pb2, lock_pb2, lock_service_pb2 as pb, lock_service_pb2_grpc

from outsider import duration, millis

OFFER_MILLIS = 1000
DEFAULT_TTL = 30_000
REPLIES = {"acquire": pb.AcquireResponse, "extend": pb.ExtendResponse, "release": pb.ReleaseResponse, "fence": pb.FenceResponse}
# What a heartbeat extends. A real daemon takes two thirds; this one grants late on a busy machine, and the client is not to pay for that.
EXTENDED_BELOW = 0.75
UNKNOWN_REASON = 99  # what a newer daemon would send for a reason that the protos do not know


@dataclass
class Held:
    lease_id: str
    owner: str
    token: int
    ttl: int
    end: float
    offered: bool = False
    session: object = None
    beat_ttl: int = 0  # by which a heartbeat extends it: that of the last extend in its session
    proof: str = ""


class Refused(Exception):
    def __init__(self, code, reason, message="", retry=None):
        super().__init__(message or reason)
        self.code, self.reason, self.retry = code, reason, retry


def replaced(message, changes):
    """`message` with the members of `changes` instead of its own; both as in JSON."""
    result = dict(message)
    for name, value in changes.items():
        result[name] = replaced(result.get(name, {}), value) if isinstance(value, dict) else value
    return result


class Session:
    def __init__(self, number, address):
        self.number = number
        self.address = address
        self.out = queue.Queue()
        self.waiting = {}  # operation id -> what ends the wait
        self.cut = False  # by this side

    def say(self, **message):
        self.out.put(pb.SessionResponse(**message))


class Watch:
    """One stream of WatchLocks."""

    def __init__(self, name):
        self.name = name
        self.out = queue.Queue()  # messages; Refused: the stream ends so; None: it ends without an error

    def tell(self, events):
        message = admin_pb.WatchLocksResponse()
        for event in events:
            kind = admin_pb.LockEventKind.Value("LOCK_EVENT_KIND_" + event["kind"])
            name = "" if event["kind"] in EVENTS_OF_NO_LOCK else self.name
            message.events.add(kind=kind, name=name, fencing_token=event.get("token", 0), owner=event.get("owner", ""))
        self.out.put(message)


class ScriptedDaemon:
    """`addresses`: at how many it listens, as the daemons of one service do."""

    def __init__(self, addresses=1):
        self._changed = threading.Condition(threading.RLock())
        self._rules = []
        self._held = {}
        self._ends = {}
        self._void = set()
        self._released = set()
        self._last_token = 1_000_000
        self._proofs = 0
        self._sessions = []
        self._watches = []
        self._stopping = threading.Event()
        self.records = []
        self.defects = []  # of this program, or of the case's rules
        self._servers, self.addresses = [], []
        for number in range(1, addresses + 1):
            self._listen(number)

    def _listen(self, number):
        # A call that is not answered keeps its thread; a case has no more of them than this.
        server = grpc.server(futures.ThreadPoolExecutor(48), options=[
            ("grpc.so_reuseport", 0), ("grpc.http2.min_recv_ping_interval_without_data_ms", 5000),
            ("grpc.http2.min_ping_interval_without_data_ms", 5000), ("grpc.keepalive_permit_without_calls", 1)])
        lock_service_pb2_grpc.add_LockServiceServicer_to_server(ScriptedLocks(self, number), server)
        admin_service_pb2_grpc.add_AdminServiceServicer_to_server(ScriptedAdmin(self, number), server)
        self.addresses.append("127.0.0.1:%d" % server.add_insecure_port("127.0.0.1:0"))
        self._servers.append(server)
        server.start()

    def close(self):
        self._stopping.set()
        for stream in self._sessions + self._watches:
            stream.out.put(None)
        with self._changed:
            self._changed.notify_all()
        for server in self._servers:
            server.stop(0)

    # --- what the case says -------------------------------------------------------------------------------------------------

    def add_rule(self, rule):
        with self._changed:
            self._rules.append(dict(rule))

    def forget_rules(self):
        with self._changed:
            self._rules.clear()

    def push(self, message):
        for session in self._sessions:
            session.out.put(ParseDict(message, pb.SessionResponse()))

    def cut_streams(self):
        for stream in self._sessions + self._watches:
            stream.out.put(Refused("UNAVAILABLE", "", "cut"))

    def tell(self, events):
        """Tells those who watch."""
        for watch in self._watches:
            watch.tell(events)

    def end_watches(self):
        for watch in self._watches:
            watch.out.put(None)

    def hold(self, name, owner="somebody", ttl=DEFAULT_TTL):
        """Gives the lock to somebody who is not the client."""
        with self._changed:
            self._held[name] = self._new_lease("0" * 32, owner, ttl)

    def free(self, name):
        with self._changed:
            self._held.pop(name, None)
            self._changed.notify_all()

    def end_of(self, name):
        """When the lease ends, by time.monotonic(), as of what the daemon has granted."""
        with self._changed:
            return self._ends[name]

    def await_records(self, enough, within):
        """Waits until `enough` accepts the records so far."""
        with self._changed:
            return self._changed.wait_for(lambda: enough(self.records), within)

    # --- records and rules ----------------------------------------------------------------------------------------------------

    def _record(self, rpc, via, session, message=None, **more):
        record = {"rpc": rpc, "via": via, "session": session.number if session else 0, "at": time.monotonic()} | more
        if message is not None:
            for name, value in MessageToDict(message, including_default_value_fields=True).items():
                if isinstance(value, str) and name in ("ttl", "waitTimeout", "lockDelay", "maxHold", "holdAtLeast"):
                    value = round(float(value.rstrip("s")) * 1000)
                elif name == "fencingToken":
                    value = int(value)
                record[name] = value
        with self._changed:
            self.records.append(record)
            self._changed.notify_all()

    def _rule_for(self, kinds, via, name):
        with self._changed:
            for rule in self._rules:
                if rule["rpc"] not in kinds or rule.get("via", via) != via or rule.get("name", name) != name:
                    continue
                if rule.get("skip", 0) > 0:
                    rule["skip"] -= 1
                    continue
                if rule.get("times", 1) != "always":
                    rule["times"] = rule.get("times", 1) - 1
                    if rule["times"] == 0:
                        self._rules.remove(rule)
                return rule
        return {}

    # --- an honest daemon -------------------------------------------------------------------------------------------------------

    def _new_lease(self, lease_id, owner, ttl):
        self._last_token += 1
        return Held(lease_id, owner, self._last_token, ttl, time.monotonic() + ttl / 1000, beat_ttl=ttl)

    def _live(self, name):
        held = self._held.get(name)
        return held if held and held.end > time.monotonic() else None

    def _lease(self, name, held, waited=0):
        self._proofs += 1
        self._ends[name] = held.end
        held.proof = "" if held.offered else f"proof {self._proofs}"
        return lock_pb2.Lease(name=name, lease_id=held.lease_id, fencing_token=held.token, ttl=duration(held.ttl),
                        remaining_ttl=duration(max(0, round((held.end - time.monotonic()) * 1000))), offered=held.offered,
                        waited=duration(waited), reassertion=held.proof)

    def _do_acquire(self, request, session, gone):
        began = time.monotonic()
        wait = millis(request.wait_timeout) / 1000
        ttl = millis(request.ttl) or DEFAULT_TTL
        in_line = False
        with self._changed:
            while True:
                if request.lease_id in self._void:
                    if in_line:
                        return pb.AcquireResponse(contention=lock_pb2.Contention(reason="CONTENTION_REASON_CANCELLED"))
                    raise Refused("FAILED_PRECONDITION", "LEASE_ENDED")
                held = self._live(request.name)
                waited = round((time.monotonic() - began) * 1000)
                if held and held.lease_id == request.lease_id:
                    return pb.AcquireResponse(lease=self._lease(request.name, held, waited))
                if not held:
                    held = self._new_lease(request.lease_id, request.owner, ttl)
                    held.session = session
                    if request.confirm and in_line:
                        held.offered, held.end = True, time.monotonic() + OFFER_MILLIS / 1000
                    self._held[request.name] = held
                    return pb.AcquireResponse(lease=self._lease(request.name, held, waited))
                left = began + wait - time.monotonic()
                if left <= 0 or gone.is_set() or self._stopping.is_set():
                    reason = "HELD" if wait == 0 else "CANCELLED" if gone.is_set() else "WAIT_TIMED_OUT"
                    return pb.AcquireResponse(contention=lock_pb2.Contention(
                        reason=f"CONTENTION_REASON_{reason}", holder_owner=held.owner,
                        remaining_ttl=duration(round((held.end - time.monotonic()) * 1000))))
                if not in_line:
                    in_line = True
                    self._record("line", "session" if session else "unary", session, request)
                self._changed.wait(min(left, max(0.001, held.end - time.monotonic()), 0.1))

    def _do_extend(self, request, session):
        with self._changed:
            held = self._live(request.name)
            if not held or held.lease_id != request.lease_id:
                raise Refused("FAILED_PRECONDITION", "LEASE_LOST")
            ttl = millis(request.ttl) or held.ttl
            held.offered = False
            if session:
                held.session, held.beat_ttl = session, ttl
            held.end = max(held.end, time.monotonic() + ttl / 1000)
            return pb.ExtendResponse(lease=self._lease(request.name, held))

    def _do_release(self, request):
        with self._changed:
            held = self._held.get(request.name)
            mine = held and held.lease_id == request.lease_id
            self._void.add(request.lease_id)
            self._changed.notify_all()
            if mine:
                del self._held[request.name]
                if held.end > time.monotonic():
                    self._released.add(request.lease_id)
                else:
                    return pb.ReleaseResponse(reason="NOT_RELEASED_REASON_EXPIRED")
            if request.lease_id in self._released:
                return pb.ReleaseResponse(released=True)
            return pb.ReleaseResponse(reason="NOT_RELEASED_REASON_NOT_HOLDER")

    def _do_fence(self, request):
        with self._changed:
            held = self._held.get(request.name)
            verdict = "UNKNOWN_TOKEN" if not held else "ADMITTED" if held.token == request.fencing_token else "STALE"
            return pb.FenceResponse(verdict=f"VERDICT_{verdict}", newest_fencing_token=held.token if held else 0)

    def _act(self, rpc, request, session, gone):
        if rpc != "fence":
            request.lease_id = request.lease_id.replace("-", "").lower()  # a real daemon knows only this spelling
        if rpc == "acquire":
            return self._do_acquire(request, session, gone)
        if rpc == "extend":
            return self._do_extend(request, session)
        return self._do_release(request) if rpc == "release" else self._do_fence(request)

    # --- one operation, whichever way it came -----------------------------------------------------------------------------------

    def _kinds(self, rpc, request):
        held = self._held.get(request.name)
        if rpc == "extend":
            return {"extend", "claim" if held and held.offered else "renewal"}
        return {rpc}

    def _serve(self, *operation):
        try:
            self._carry_out(*operation)
        except Exception:
            self.defects.append(traceback.format_exc())
            raise

    def _carry_out(self, rpc, request, via, session, gone, answer, refuse, cut):
        """Carries the operation out; then calls one of the last three, or none if the rule is to be silent."""
        with self._changed:
            kinds = self._kinds(rpc, request)
            held = self._held.get(request.name)
            self._record(rpc, via, session, request, claim="claim" in kinds,
                         newestProof=bool(held) and getattr(request, "reassertion", "") == held.proof)
            rule = self._rule_for(kinds, via, request.name)
        reply = None
        error = rule.get("error")
        if "reply" in rule:
            reply = ParseDict(rule["reply"], REPLIES[rpc]())
        elif rule.get("act", not (error or rule.get("silent") or rule.get("cut"))):
            try:
                reply = self._act(rpc, request, session, gone)
            except Refused as refused:
                if not error:
                    error = {"code": refused.code, "reason": refused.reason}
        if rule.get("delay"):
            self._stopping.wait(rule["delay"] / 1000)
        if rule.get("silent"):
            return
        if rule.get("cut"):
            cut()
        elif error:
            refuse(Refused(error["code"], error.get("reason", ""), error.get("message", ""), error.get("retry")))
        else:
            if "set" in rule:
                # Not MergeFrom: it would keep the old fraction of a second of a duration that is set to whole ones.
                reply = ParseDict(replaced(MessageToDict(reply), rule["set"]), REPLIES[rpc]())
            for _ in range(2 if rule.get("twice") else 1):
                answer(reply)

    # --- unary calls ------------------------------------------------------------------------------------------------------------

    def unary(self, rpc, request, context):
        gone = threading.Event()
        context.add_callback(gone.set)
        outcome = []
        self._serve(rpc, request, "unary", None, gone, outcome.append, outcome.append,
                    lambda: outcome.append(Refused("UNAVAILABLE", "", "cut")))
        if not outcome:
            while not gone.is_set() and not self._stopping.is_set():
                gone.wait(0.1)
            context.abort(grpc.StatusCode.CANCELLED, "")
        if isinstance(outcome[0], Refused):
            self._abort(context, outcome[0])
        return outcome[0]

    @staticmethod
    def _abort(context, refused):
        code = getattr(grpc.StatusCode, refused.code)
        status = status_pb2.Status(code=code.value[0], message=str(refused))
        if refused.reason:
            status.details.add().Pack(error_details_pb2.ErrorInfo(reason=refused.reason, domain="lockkeeper"))
        if refused.retry is not None:
            status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=duration(refused.retry)))
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(code, str(refused))

    # --- who observes a lock ------------------------------------------------------------------------------------------------------

    def watch(self, request, address, context):
        with self._changed:
            self._record("watch", "unary", None, request, address=address)
            rule = self._rule_for({"watch"}, "unary", request.name)
            watch = Watch(request.name)
            if not rule.get("silent") and "error" not in rule:
                watch.tell([{"kind": "STARTED"}])
            self._watches.append(watch)
        context.add_callback(lambda: watch.out.put(None))
        if error := rule.get("error"):
            watch.out.put(Refused(error["code"], error.get("reason", ""), error.get("message", ""), error.get("retry")))
        while (message := watch.out.get()) is not None:
            if isinstance(message, Refused):
                self._abort(context, message)
            yield message

    def look(self, request, address, context):
        """GetLock: what the lock is when the call comes, also if the rule is to answer late."""
        with self._changed:
            self._record("look", "unary", None, request, address=address)
            rule = self._rule_for({"look"}, "unary", request.name)
            reply = self._seen(request.name)
        if "reply" in rule:
            reply = ParseDict(rule["reply"], admin_pb.GetLockResponse())
        if rule.get("delay"):
            self._stopping.wait(rule["delay"] / 1000)
        if rule.get("silent"):
            gone = threading.Event()
            context.add_callback(gone.set)
            gone.wait()
        if error := rule.get("error"):
            self._abort(context, Refused(error["code"], error.get("reason", ""), error.get("message", ""), error.get("retry")))
        return reply

    def _seen(self, name):
        held = self._live(name)
        if not held:
            return admin_pb.GetLockResponse()
        state = "LOCK_STATE_OFFERED" if held.offered else "LOCK_STATE_HELD"
        return admin_pb.GetLockResponse(lock=admin_pb.Lock(name=name, state=state, fencing_token=held.token, owner=held.owner))

    # --- sessions ---------------------------------------------------------------------------------------------------------------

    def session(self, requests, address, context):
        with self._changed:
            session = Session(len(self._sessions) + 1, address)
            self._sessions.append(session)
        context.add_callback(lambda: session.out.put(None))
        threading.Thread(target=self._read_session, args=(session, requests), daemon=True).start()
        while (message := session.out.get()) is not None:
            if isinstance(message, Refused):
                session.cut = True
                self._abort(context, message)
            yield message

    def _read_session(self, session, requests):
        try:
            for message in requests:
                kind = message.WhichOneof("message")
                if kind == "open":
                    self._open(session)
                elif kind == "batch":
                    for operation in message.batch.operations:
                        self._begin(session, operation)
                elif kind == "adopt":
                    self._adopt(session, message.adopt)
                elif kind == "heartbeat":
                    self._heartbeat(session, message.heartbeat)
                elif kind == "forget":
                    self._forget(session, message.forget)
                elif kind == "cancel":
                    self._record("cancel", "session", session)
                    if gone := session.waiting.get(message.cancel.operation_id):
                        gone.set()
                elif kind == "close":
                    self._record("close", "session", session)
                    session.say(closed=pb.SessionClosed())
                    break
            else:
                if not session.cut:
                    self._record("close", "session", session)
        except grpc.RpcError:
            pass  # the stream broke
        session.out.put(None)

    def _open(self, session):
        self._record("open", "session", session, address=session.address)
        rule = self._rule_for({"open"}, "session", None)
        if error := rule.get("error"):
            session.out.put(Refused(error["code"], error.get("reason", "")))
        elif not rule.get("silent"):
            session.say(opened=pb.SessionOpened(session_id=f"session-{session.number}", max_outstanding_operations=1024))
        if "cutAfter" in rule:
            timer = threading.Timer(rule["cutAfter"] / 1000, session.out.put, [Refused("UNAVAILABLE", "", "cut")])
            timer.daemon = True
            timer.start()

    def _begin(self, session, operation):
        rpc = operation.WhichOneof("operation")
        gone = threading.Event()
        session.waiting[operation.id] = gone

        def result(**what):
            session.say(results=pb.SessionResults(results=[pb.SessionResult(operation_id=operation.id, **what)]))

        def answer(reply):
            if rpc == "acquire" and reply.lease.offered:
                session.say(offer=pb.SessionOffer(operation_id=operation.id, lease=reply.lease))
            else:
                result(**{rpc: reply})

        # In a thread: an operation that waits, or is answered late, holds up no other.
        threading.Thread(target=self._serve, daemon=True, args=(
            rpc, getattr(operation, rpc), "session", session, gone, answer,
            lambda refused: result(error=self._operation_error(refused)),
            lambda: session.out.put(Refused("UNAVAILABLE", "", "cut")))).start()

    @staticmethod
    def _reason_number(reason):
        return error_reason_pb2.ErrorReason.Value("ERROR_REASON_" + reason) if reason in KNOWN_REASONS else UNKNOWN_REASON

    def _operation_error(self, refused):
        error = pb.OperationError(code=getattr(grpc.StatusCode, refused.code).value[0], message=str(refused))
        if refused.reason:
            error.reason = self._reason_number(refused.reason)
        if refused.retry is not None:
            error.retry_delay.CopyFrom(duration(refused.retry))
        return error

    def _adopt(self, session, request):
        self._record("adopt", "session", session, request)
        rule = self._rule_for({"adopt"}, "session", request.name)
        if rule.get("silent"):
            return
        result = pb.SessionAdoptResult(name=request.name, lease_id=request.lease_id)
        try:
            if error := rule.get("error"):
                raise Refused(error["code"], error.get("reason", ""))
            answer = self._do_extend(pb.ExtendRequest(name=request.name, lease_id=request.lease_id), session)
            result.lease.CopyFrom(answer.lease)
        except Refused as refused:
            result.error.CopyFrom(self._operation_error(refused))
        self._say_after(rule.get("delay"), session, adopt_result=result)

    def _forget(self, session, request):
        self._record("forget", "session", session, request)
        with self._changed:
            held = self._held.get(request.name)
            if held and held.session is session and held.lease_id == request.lease_id:
                held.session = None

    def _heartbeat(self, session, request):
        with self._changed:
            leases = {name: held for name, held in self._held.items() if held.session is session}
            self._record("heartbeat", "session", session, leases=len(leases))
            rule = self._rule_for({"heartbeat", "renewal"}, "session", None)
            result = pb.SessionHeartbeatResult(number=request.number)
            for name, held in leases.items():
                now = time.monotonic()
                reason = rule["error"].get("reason", "") if "error" in rule else "LEASE_LOST" if held.end <= now else ""
                if reason:
                    result.not_extended.add(name=name, lease_id=held.lease_id, reason=self._reason_number(reason))
                elif rule.get("act", not rule.get("silent")) and held.end - now < held.beat_ttl / 1000 * EXTENDED_BELOW:
                    held.end = now + held.beat_ttl / 1000
                    result.reassertions[held.lease_id] = self._lease(name, held).reassertion
        if rule.get("silent"):
            return
        self._say_after(rule.get("delay"), session, heartbeat_result=result)

    @staticmethod
    def _say_after(delay, session, **message):
        if not delay:
            session.say(**message)
            return
        timer = threading.Timer(delay / 1000, session.say, kwargs=message)
        timer.daemon = True
        timer.start()


class ScriptedLocks(lock_service_pb2_grpc.LockServiceServicer):
    """What clients ask it at one of its addresses."""

    def __init__(self, daemon, address):
        self._daemon, self._address = daemon, address

    def Acquire(self, request, context):
        return self._daemon.unary("acquire", request, context)

    def Extend(self, request, context):
        return self._daemon.unary("extend", request, context)

    def Release(self, request, context):
        return self._daemon.unary("release", request, context)

    def Fence(self, request, context):
        return self._daemon.unary("fence", request, context)

    def Session(self, requests, context):
        return self._daemon.session(requests, self._address, context)


class ScriptedAdmin(admin_service_pb2_grpc.AdminServiceServicer):
    """What it tells administrators at one of its addresses."""

    def __init__(self, daemon, address):
        self._daemon, self._address = daemon, address

    def WatchLocks(self, request, context):
        return self._daemon.watch(request, self._address, context)

    def GetLock(self, request, context):
        return self._daemon.look(request, self._address, context)


EVENTS_OF_NO_LOCK = ("STARTED", "GAP", "QUARANTINE_BEGAN", "QUARANTINE_ENDED")
KNOWN_REASONS = {name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.keys()}
