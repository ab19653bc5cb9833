// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Metadata;
import io.lockkeeper.v1.AcquireResponse;
import io.lockkeeper.v1.FenceResponse;
import io.lockkeeper.v1.ReleaseResponse;
import io.lockkeeper.v1.SessionOperation;
import io.lockkeeper.v1.SessionResult;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Context;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.jspecify.annotations.Nullable;

/** Whose trace the calls belong to, at a daemon whose answers the test writes. */
@Timeout(60)
class TraceContextTest {
  private static final Duration TTL = Duration.ofMinutes(1);
  private static final TraceContext NONE = new TraceContext("", "");
  private static final TraceContext ONE = new TraceContext("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "rojo=1");
  private static final TraceContext OTHER = new TraceContext("00-11111111111111111111111111111111-2222222222222222-00", "");

  private FakeDaemon daemon;
  private LockClient client;

  @BeforeEach
  void start() throws IOException {
    daemon = new FakeDaemon();
    client =
        LockClient.create(ClientOptions.defaults().servers(daemon.address()).releaseTimeout(Duration.ofMillis(1)));
  }

  @AfterEach
  void stop() {
    client.close();
    daemon.close();
  }

  /** What OpenTelemetry has for the program. */
  private static Context contextOf(TraceContext trace) {
    if (trace.equals(NONE)) return Context.root();
    final String[] parent = trace.traceparent().split("-");
    final var state = TraceState.builder();
    for (String member : trace.tracestate().isEmpty() ? new String[0] : trace.tracestate().split(",")) {
      final String[] pair = member.split("=");
      state.put(pair[0], pair[1]);
    }
    return Context.root()
        .with(Span.wrap(SpanContext.create(parent[1], parent[2], TraceFlags.fromHex(parent[3], 0), state.build())));
  }

  /** Runs a call that waits for the daemon, in the context of its own thread. */
  private static <T> FutureTask<T> start(TraceContext trace, Callable<T> call) {
    final FutureTask<T> task = new FutureTask<>(contextOf(trace).wrap(call));
    new Thread(task).start();
    return task;
  }

  private static TraceContext traceOf(SessionOperation operation) {
    return new TraceContext(operation.getTraceparent(), operation.getTracestate());
  }

  private void answerFence(SessionOperation operation) {
    daemon.answer(SessionResult.newBuilder().setOperationId(operation.getId()).setFence(FenceResponse.getDefaultInstance()));
  }

  private Lease adopted(TraceContext trace) throws Exception {
    final FutureTask<Lease> lease =
        start(trace, () -> client.adopt("job", FakeDaemon.LEASE_ID, AdoptOptions.defaults().proof(FakeDaemon.TOKEN, "")));
    final SessionOperation operation = daemon.nextOperation();
    assertEquals(trace, traceOf(operation));
    daemon.extend(operation, TTL);
    return lease.get();
  }

  @Test
  void eachOperationOfASessionCarriesTheContextOfItsCaller() throws Exception {
    final Map<String, TraceContext> contexts = Map.of("one", ONE, "other", OTHER, "none", NONE);
    final List<FutureTask<Fenced>> fences = new ArrayList<>();
    contexts.forEach((name, trace) -> fences.add(start(trace, () -> client.fence(name, 1, false))));
    final Map<String, TraceContext> seen = new HashMap<>();
    while (seen.size() < contexts.size()) {
      for (SessionOperation operation : daemon.next().getBatch().getOperationsList()) {
        seen.put(operation.getFence().getName(), traceOf(operation));
        answerFence(operation);
      }
    }
    for (FutureTask<Fenced> fence : fences) fence.get();
    assertEquals(contexts, seen);
  }

  @Test
  void allAttemptsOfAnAcquireAndItsClaimAreOfOneContext() throws Exception {
    final FutureTask<Lease> acquiring =
        start(ONE, () -> client.acquireOrThrow("job", AcquireOptions.defaults().leaseId(FakeDaemon.LEASE_ID).waitTimeout(TTL)));
    final SessionOperation first = daemon.nextOperation();
    assertEquals(ONE, traceOf(first));
    daemon.cut();
    final SessionOperation second = daemon.nextOperation();
    assertEquals(ONE, traceOf(second));
    daemon.answer(
        SessionResult.newBuilder().setOperationId(second.getId())
            .setAcquire(AcquireResponse.newBuilder().setLease(FakeDaemon.lease(TTL).toBuilder().setOffered(true))));
    final SessionOperation claim = daemon.nextOperation();
    assertTrue(claim.hasExtend());
    assertEquals(ONE, traceOf(claim));
    daemon.extend(claim, TTL);
    acquiring.get();
  }

  @Test
  void extendsAndReleasesAreOfWhoeverAsksForThem() throws Exception {
    final Lease lease = adopted(ONE);
    final FutureTask<Void> extending =
        start(
            OTHER,
            () -> {
              lease.extend(TTL);
              return null;
            });
    final SessionOperation extend = daemon.nextOperation();
    assertEquals(OTHER, traceOf(extend));
    daemon.extend(extend, TTL);
    extending.get();

    start(ONE, lease::release);
    final SessionOperation release = daemon.nextOperation();
    assertTrue(release.hasRelease());
    assertEquals(ONE, traceOf(release));
    daemon.answer(
        SessionResult.newBuilder().setOperationId(release.getId()).setError(
            io.lockkeeper.v1.OperationError.newBuilder().setCode(io.grpc.Status.Code.UNAVAILABLE.value())));
    final SessionOperation again = daemon.nextOperation();
    assertEquals(ONE, traceOf(again));
    daemon.answer(SessionResult.newBuilder().setOperationId(again.getId()).setRelease(ReleaseResponse.getDefaultInstance()));
  }

  @Test
  void aTracestateThatIsTooLongIsLeftOut() throws Exception {
    final String half = "a=" + "x".repeat(253); // 512 bytes with its comma and its other half
    for (String last : List.of("b=" + "x".repeat(254), "b=" + "x".repeat(255))) {
      final TraceContext long512 = new TraceContext(ONE.traceparent(), half + "," + last);
      final FutureTask<Fenced> fence = start(long512, () -> client.fence("job", 1, false));
      final SessionOperation operation = daemon.nextOperation();
      assertEquals(ONE.traceparent(), operation.getTraceparent());
      assertEquals(long512.tracestate().length() <= 512 ? 512 : 0, operation.getTracestate().length());
      answerFence(operation);
      fence.get();
    }
  }

  private static @Nullable String header(Metadata headers, String name) {
    final Iterable<String> all = headers.getAll(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
    return all == null ? null : String.join(",", all);
  }

  @Test
  void aUnaryCallCarriesTheContextInItsMetadata() throws Exception {
    final String[][] expected = {{ONE.traceparent(), "rojo=1"}, {OTHER.traceparent(), null}, {null, null}};
    try (LockClient without = LockClient.create(ClientOptions.defaults().servers(daemon.address()).sessions(false))) {
      int number = 0;
      for (TraceContext trace : List.of(ONE, OTHER, NONE)) {
        assertTrue(start(trace, () -> without.fence("job", 1, false)).get().isAdmitted());
        final Metadata headers = daemon.unary.take();
        assertEquals(expected[number][0], header(headers, "traceparent"));
        assertEquals(expected[number][1], header(headers, "tracestate"));
        ++number;
      }
    }
  }
}
