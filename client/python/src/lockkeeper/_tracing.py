# SPDX-License-Identifier: Apache-2.0
"""Passes the caller's OpenTelemetry context on, if the program has the package
opentelemetry-api."""

from __future__ import annotations

try:
    from opentelemetry import propagate
except Exception:  # The program does not have it, or has set it up for what it does not have.
    propagate = None

# Fields of an operation in a session, and headers of a unary call.
TraceContext = tuple[tuple[str, str], ...]

# Longer ones mean nothing to the server, and would take the place of operations in a message.
_MAX = {"traceparent": 64, "tracestate": 512}
_FIELD_HEAD_BYTES = 3


def active_trace_context() -> TraceContext:
    """The context that is active in this thread or task. Empty if there is none."""
    if propagate is None:
        return ()
    found: dict[str, str] = {}
    propagate.inject(found)
    context = tuple((field, found[field]) for field in _MAX if _can_be_sent(field, found))
    return context if context and context[0][0] == "traceparent" else ()


def _can_be_sent(field: str, found: dict[str, str]) -> bool:
    value = found.get(field, "")
    return 0 < len(value) <= _MAX[field] and value.isascii() and value.isprintable()


def bytes_of_trace(context: TraceContext) -> int:
    """Upper bound of the bytes that it takes on the wire."""
    return sum(len(value) + _FIELD_HEAD_BYTES for _, value in context)
