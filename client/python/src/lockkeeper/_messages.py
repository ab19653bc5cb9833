# SPDX-License-Identifier: Apache-2.0
"""The messages of the service, and what they mean.

They live in a descriptor pool of their own, so that a program may have its own code of the same
protos.
"""

from __future__ import annotations

import importlib.resources
from dataclasses import dataclass
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from .errors import Contention, ContentionReason, Reason, ServiceError, invalid, service_error
from .options import Assurance, FenceResult, Leader, ReleaseResult, Verdict

_pool = descriptor_pool.DescriptorPool()
for _file in descriptor_pb2.FileDescriptorSet.FromString(
    importlib.resources.files(__package__).joinpath("protos.binpb").read_bytes()
).file:
    _pool.Add(_file)
_make_class: Any = getattr(message_factory, "GetMessageClass", None) or getattr(
    message_factory.MessageFactory(_pool), "GetPrototype", None
)


def _message(name: str) -> Any:
    return _make_class(_pool.FindMessageTypeByName(name))


AcquireRequest = _message("lockkeeper.v1.AcquireRequest")
AcquireResponse = _message("lockkeeper.v1.AcquireResponse")
ExtendRequest = _message("lockkeeper.v1.ExtendRequest")
ExtendResponse = _message("lockkeeper.v1.ExtendResponse")
ReleaseRequest = _message("lockkeeper.v1.ReleaseRequest")
ReleaseResponse = _message("lockkeeper.v1.ReleaseResponse")
FenceRequest = _message("lockkeeper.v1.FenceRequest")
FenceResponse = _message("lockkeeper.v1.FenceResponse")
GetLockRequest = _message("lockkeeper.admin.v1.GetLockRequest")
GetLockResponse = _message("lockkeeper.admin.v1.GetLockResponse")
WatchLocksRequest = _message("lockkeeper.admin.v1.WatchLocksRequest")
WatchLocksResponse = _message("lockkeeper.admin.v1.WatchLocksResponse")
SessionAdopt = _message("lockkeeper.v1.SessionAdopt")
SessionForget = _message("lockkeeper.v1.SessionForget")
SessionRequest = _message("lockkeeper.v1.SessionRequest")
SessionResponse = _message("lockkeeper.v1.SessionResponse")
_Status = _message("google.rpc.Status")
_DETAILS = {
    name: _message(f"google.rpc.{name}") for name in ("ErrorInfo", "BadRequest", "RetryInfo")
}
_REASONS = {
    value.number: value.name.removeprefix("ERROR_REASON_")
    for value in _pool.FindEnumTypeByName("lockkeeper.v1.ErrorReason").values
}
_EVENT_KINDS = {
    value.number: value.name.removeprefix("LOCK_EVENT_KIND_")
    for value in _pool.FindEnumTypeByName("lockkeeper.admin.v1.LockEventKind").values
}
_LOCK_STATES = {
    value.number: value.name.removeprefix("LOCK_STATE_")
    for value in _pool.FindEnumTypeByName("lockkeeper.admin.v1.LockState").values
}
LEASE_LOST = next(number for number, name in _REASONS.items() if name == Reason.LEASE_LOST)

_CODES = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS "
    "PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED "
    "INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED"
).split()
_CONTENTIONS = {1: ContentionReason.HELD, 2: ContentionReason.WAIT_TIMED_OUT}
_CONTENTIONS |= {3: ContentionReason.CANCELLED, 4: ContentionReason.CLOSED}
_RELEASES = {1: ReleaseResult.EXPIRED, 3: ReleaseResult.WAITER_REMOVED}
_VERDICTS = {1: Verdict.ADMITTED, 2: Verdict.STALE, 3: Verdict.EXPIRED, 4: Verdict.UNKNOWN_TOKEN}
_ASSURANCES = {int(known): known for known in Assurance}  # A number beyond them implies them all.
_RETRY_DELAY_MAX = 86_400.0


def set_duration(target: Any, seconds: float) -> None:
    micros = round(seconds * 1e6)
    target.seconds, rest = divmod(micros, 1_000_000)
    target.nanos = rest * 1_000


def _seconds(duration: Any) -> float:
    return float(duration.seconds + duration.nanos / 1e9)


def set_text(message: Any, field: str, text: object) -> None:
    if not isinstance(text, str):
        raise invalid(field, f"must be a str, not {type(text).__name__}")
    try:
        setattr(message, field, text)
    except (UnicodeError, ValueError) as error:
        raise invalid(field, "is not Unicode text: it cannot be written as UTF-8") from error


@dataclass(slots=True)
class Granted:
    """A lease as one answer tells it, or an offer."""

    name: str
    lease_id: str
    fencing_token: int
    ttl: float
    remaining: float
    waited: float
    previous_lease_expired: bool
    offered: bool
    assurance: Assurance
    reassertion: str


def granted(lease: Any) -> Granted:
    return Granted(
        lease.name,
        lease.lease_id,
        lease.fencing_token,
        _seconds(lease.ttl),
        _seconds(lease.remaining_ttl),
        _seconds(lease.waited),
        lease.previous_lease_expired,
        lease.offered,
        _ASSURANCES.get(lease.assurance, Assurance.QUORUM),
        lease.reassertion,
    )


def acquired(response: Any) -> Granted | Contention | ServiceError:
    if response.HasField("lease"):
        return granted(response.lease)
    if not response.HasField("contention"):
        return service_error("INTERNAL", "the answer to an acquire has no known outcome")
    told = response.contention
    return Contention(
        _CONTENTIONS.get(told.reason, ContentionReason.HELD),
        told.holder_owner,
        _seconds(told.remaining_ttl),
        told.position,
        told.waiters,
    )


def extended(response: Any) -> Granted | ServiceError:
    if response.HasField("lease"):
        return granted(response.lease)
    return service_error("INTERNAL", "the answer to an extend has no lease")


def released(response: Any) -> ReleaseResult:
    if response.released:
        return ReleaseResult.RELEASED
    return _RELEASES.get(response.reason, ReleaseResult.NOT_HOLDER)


def fenced(response: Any) -> FenceResult:
    verdict = _VERDICTS.get(response.verdict, Verdict.UNKNOWN_TOKEN)
    return FenceResult(verdict, response.newest_fencing_token)


def event_of(event: Any) -> tuple[str, Leader]:
    """Its kind, and the lease that it is about."""
    about = Leader(event.fencing_token, event.owner, event.principal)
    return _EVENT_KINDS.get(event.kind, ""), about


def looked(response: Any) -> tuple[str, Leader, float | None]:
    """The state of the lock, its newest lease, and what is left of a quarantine."""
    lock = response.lock
    state = _LOCK_STATES.get(lock.state, "") if response.HasField("lock") else ""
    left = _seconds(response.quarantine_left) if response.HasField("quarantine_left") else None
    return state, Leader(lock.fencing_token, lock.owner, lock.principal), left


def reason_name(number: int) -> str:
    return _REASONS.get(number, f"REASON_{number}") if number else ""


def error_of_operation(error: Any) -> ServiceError:
    code = _CODES[error.code] if 0 < error.code < len(_CODES) else "UNKNOWN"
    # CANCELLED is not the caller's doing here: it cancels without an answer of the server.
    code = "UNAVAILABLE" if code == "CANCELLED" else code
    delay = _seconds(error.retry_delay) if error.HasField("retry_delay") else None
    field = error.metadata["field"] if "field" in error.metadata else ""
    return service_error(code, error.message, reason_name(error.reason), field, delay)


def error_of_call(call: Any, peer: str) -> ServiceError:
    """The error of a call that failed without its caller's doing."""
    code, text = call.code().name, call.details() or ""
    name, field, delay = _details_of(call)
    if not name:
        match code:
            case "CANCELLED":
                code, text = "UNAVAILABLE", f"{peer} cut the call off: {text}"
            case "UNIMPLEMENTED":
                code = "UNAVAILABLE"
                text = f"the server at {peer} is not lockkeeperd, or is an old version: {text}"
            case "UNAVAILABLE":
                text = f"cannot reach {peer}: {text.rpartition(': ')[2]}"
            case "DEADLINE_EXCEEDED":
                text = f"{peer} does not answer"
    return service_error(code, text, name, field, delay)


def _details_of(call: Any) -> tuple[str, str, float | None]:
    name, field, delay = "", "", None
    metadata = dict(call.trailing_metadata() or ())
    try:
        status = _Status.FromString(metadata.get("grpc-status-details-bin", b""))
        for packed in status.details:
            kind = packed.type_url.rpartition(".")[2]
            if kind not in _DETAILS:
                continue
            detail = _DETAILS[kind].FromString(packed.value)
            if kind == "ErrorInfo" and detail.domain == "lockkeeper":
                name = detail.reason
            elif kind == "BadRequest" and detail.field_violations:
                field = detail.field_violations[0].field
            elif kind == "RetryInfo":
                delay = min(max(_seconds(detail.retry_delay), 0.0), _RETRY_DELAY_MAX)
    except Exception:  # Malformed details: the code alone counts.
        pass
    return name, field, delay


def outcome_unknown(message: str) -> ServiceError:
    return service_error("UNAVAILABLE", message, Reason.OUTCOME_UNKNOWN)
