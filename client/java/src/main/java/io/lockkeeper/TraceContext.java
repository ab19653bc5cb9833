// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.grpc.Metadata;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.MetadataUtils;
import io.lockkeeper.v1.SessionOperation;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import java.util.HashMap;
import java.util.Map;

/** The trace of whoever makes a call: W3C's headers of these names, empty if there is none. */
record TraceContext(String traceparent, String tracestate) {
  /** A longer one means nothing to the server, and would take the place of operations in a message. */
  private static final int TRACESTATE_MAX = 512;

  private static final TraceContext NONE = new TraceContext("", "");
  private static final Metadata.Key<String> TRACEPARENT = Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> TRACESTATE = Metadata.Key.of("tracestate", Metadata.ASCII_STRING_MARSHALLER);
  private static final boolean HAS_OPEN_TELEMETRY = hasOpenTelemetry();

  private static boolean hasOpenTelemetry() {
    try {
      Class.forName("io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator");
      return true;
    } catch (ClassNotFoundException | LinkageError absent) {
      return false;
    }
  }

  /** Only loaded if the program has OpenTelemetry's API. */
  private static final class OpenTelemetry {
    /**
     * Not by the global propagator: to ask for it sets it for good, if the program has not done so yet. The server takes W3C's headers only,
     * anyway.
     */
    static TraceContext current() {
      final Map<String, String> found = new HashMap<>();
      W3CTraceContextPropagator.getInstance().inject(Context.current(), found, (carrier, key, value) -> found.put(key, value));
      final String state = found.getOrDefault("tracestate", "");
      return new TraceContext(found.getOrDefault("traceparent", ""), state.length() <= TRACESTATE_MAX ? state : "");
    }
  }

  /** That of this thread. */
  static TraceContext current() {
    return HAS_OPEN_TELEMETRY ? OpenTelemetry.current() : NONE;
  }

  /** The operation as a part of this trace. */
  SessionOperation of(SessionOperation operation) {
    if (traceparent.isEmpty()) return operation;
    return operation.toBuilder().setTraceparent(traceparent).setTracestate(tracestate).build();
  }

  /** A stub for a unary call that does the operation, and is a part of the same trace. */
  static <S extends AbstractStub<S>> S pass(SessionOperation operation, S stub) {
    if (operation.getTraceparent().isEmpty()) return stub;
    final Metadata headers = new Metadata();
    headers.put(TRACEPARENT, operation.getTraceparent());
    if (!operation.getTracestate().isEmpty()) headers.put(TRACESTATE, operation.getTracestate());
    return stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }
}
