// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper.conformance;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import io.lockkeeper.AcquireOptions;
import io.lockkeeper.AdoptOptions;
import io.lockkeeper.ClientOptions;
import io.lockkeeper.DetachedLease;
import io.lockkeeper.Fenced;
import io.lockkeeper.Leader;
import io.lockkeeper.Lease;
import io.lockkeeper.LockClient;
import io.lockkeeper.LockException;
import io.lockkeeper.Loss;
import io.lockkeeper.NotAcquiredException;
import io.lockkeeper.ReleaseOutcome;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Lets tests/conformance drive the Java client: JSON lines on stdin and stdout, as tests/conformance/README.md says. */
public final class Driver {
  /** A request; what is not given is 0, false or null. */
  private static final class Request {
    long id;
    String doing = "";
    List<String> servers;
    long callTimeout;
    long releaseTimeout;
    String caFile;
    String certificateFile;
    String keyFile;
    String serverName;
    String tokenFile;
    String as;
    String client = "client";
    String name;
    String owner;
    long ttl;
    long wait;
    long lockDelay;
    long maxHold;
    long holdAtLeast;
    long stopMargin;
    Map<String, String> labels;
    String leaseId;
    String lease;
    long token;
    String reassertion;
    boolean requireLive;
    long request;
  }

  private static final Map<String, Object> NOTHING = Map.of();
  private static final Gson GSON = new GsonBuilder().serializeNulls().create();

  private final Map<String, LockClient> clients = new ConcurrentHashMap<>();
  private final Map<String, Lease> leases = new ConcurrentHashMap<>();
  private final Map<Long, Thread> underWay = new ConcurrentHashMap<>();

  private Driver() {}

  public static void main(String[] arguments) throws IOException, InterruptedException {
    WarmUp.run();
    final Driver driver = new Driver();
    final BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      final Request request = GSON.fromJson(line.replaceFirst("\"do\":", "\"doing\":"), Request.class);
      final Thread thread = new Thread(() -> driver.handle(request));
      thread.setDaemon(true);
      driver.underWay.put(request.id, thread);
      thread.start();
    }
  }

  private static synchronized void say(Map<String, Object> what) {
    System.out.println(GSON.toJson(what));
    System.out.flush();
  }

  private void handle(Request request) {
    try {
      say(Map.of("id", request.id, "ok", carryOut(request)));
    } catch (LockException error) {
      say(failed(request, error.code().name(), error.reason(), error.getMessage()));
    } catch (InterruptedException cancelled) {
      say(failed(request, "CANCELLED", "", "cancelled"));
    } catch (RuntimeException error) {
      error.printStackTrace();
      say(failed(request, "UNKNOWN", "", error.toString()));
    }
  }

  private static Map<String, Object> failed(Request request, String code, String reason, String message) {
    return Map.of("id", request.id, "error", Map.of("code", code, "reason", reason, "message", String.valueOf(message)));
  }

  private Map<String, Object> carryOut(Request request) throws InterruptedException {
    switch (request.doing) {
      case "features":
        return Map.of(
            "features",
            List.of(
                "renewal", "details", "extend", "sessions", "unary", "adopt", "detach", "cancel", "events", "stop_margin", "hold_at_least",
                "tls", "observe"));
      case "create":
        create(request);
        return NOTHING;
      case "cancel":
        underWay.get(request.request).interrupt();
        return NOTHING;
      case "acquire":
        return acquire(request);
      case "adopt":
        return granted(
            request,
            clients.get(request.client)
                .adopt(request.name, request.leaseId, AdoptOptions.defaults().proof(request.token, request.reassertion)));
      case "releaseById":
        return released(clients.get(request.client).release(request.name, request.leaseId));
      case "fence":
        final Fenced found = clients.get(request.client).fence(request.name, request.token, request.requireLive);
        return Map.of("verdict", found.verdict().name(), "newest", found.newestToken());
      case "observe":
        clients.get(request.client).observe(request.name, leader -> leads(request, leader));
        return NOTHING;
      case "close":
        clients.get(request.client).close();
        return NOTHING;
      default:
        return onLease(request, leases.get(request.lease));
    }
  }

  private static void leads(Request request, Optional<Leader> leader) {
    final Map<String, Object> event = new HashMap<>(Map.of("event", "leader", "observer", String.valueOf(request.as)));
    event.put("token", leader.map(Leader::fencingToken).orElse(0L));
    event.put("owner", leader.map(Leader::owner).orElse(null));
    say(event);
  }

  private Map<String, Object> onLease(Request request, Lease lease) throws InterruptedException {
    switch (request.doing) {
      case "state":
        final Loss loss = lease.loss();
        return Map.of(
            "held", lease.isHeld(), "remaining", lease.remaining().toMillis(), "lost", loss != null, "cause",
            loss == null ? "" : loss.cause().name());
      case "check":
        return Map.of("held", lease.isHeld());
      case "extend":
        lease.extend(Duration.ofMillis(request.ttl));
        return Map.of("remaining", lease.remaining().toMillis());
      case "release":
        return released(lease.release());
      case "detach":
        final DetachedLease left = lease.detach();
        return Map.of(
            "name", left.name(), "leaseId", left.leaseId(), "token", left.fencingToken(), "reassertion", left.reassertion());
      default:
        throw new IllegalArgumentException("this driver cannot do " + request.doing);
    }
  }

  private static Map<String, Object> released(ReleaseOutcome outcome) {
    final boolean done = outcome == ReleaseOutcome.RELEASED;
    return Map.of("released", done, "reason", done ? "" : outcome.name());
  }

  private void create(Request request) {
    final ClientOptions options = ClientOptions.defaults();
    if (request.servers != null) options.servers(request.servers.toArray(String[]::new));
    if (request.owner != null) options.owner(request.owner);
    if (request.callTimeout > 0) options.callTimeout(Duration.ofMillis(request.callTimeout));
    if (request.releaseTimeout > 0) options.releaseTimeout(Duration.ofMillis(request.releaseTimeout));
    if (request.caFile != null) options.caFile(request.caFile);
    if (request.certificateFile != null) options.certificate(request.certificateFile, request.keyFile);
    if (request.serverName != null) options.serverName(request.serverName);
    if (request.tokenFile != null) options.tokenFile(request.tokenFile);
    clients.put(request.as == null ? "client" : request.as, LockClient.create(options));
  }

  private Map<String, Object> acquire(Request request) throws InterruptedException {
    final AcquireOptions options =
        AcquireOptions.defaults().waitTimeout(Duration.ofMillis(request.wait)).lockDelay(Duration.ofMillis(request.lockDelay))
            .maxHold(Duration.ofMillis(request.maxHold)).holdAtLeast(Duration.ofMillis(request.holdAtLeast))
            .stopMargin(Duration.ofMillis(request.stopMargin));
    if (request.ttl != 0) options.ttl(Duration.ofMillis(request.ttl));
    if (request.owner != null) options.owner(request.owner);
    if (request.labels != null) options.labels(request.labels);
    if (request.leaseId != null) options.leaseId(request.leaseId);
    try {
      return granted(request, clients.get(request.client).acquireOrThrow(request.name, options));
    } catch (NotAcquiredException contention) {
      return Map.of(
          "granted", false, "reason", contention.why().name(), "holderOwner", contention.holderOwner(), "remaining",
          contention.remaining().toMillis());
    }
  }

  private Map<String, Object> granted(Request request, Lease lease) {
    leases.put(String.valueOf(request.as), lease);
    lease.onLost(
        loss ->
            say(
                Map.of(
                    "event", "lost", "lease", String.valueOf(request.as), "cause", loss.cause().name(), "remaining",
                    lease.remaining().toMillis())));
    return Map.of(
        "granted", true, "token", lease.fencingToken(), "leaseId", lease.leaseId(), "remaining", lease.remaining().toMillis(),
        "waited", lease.waited().toMillis(), "previousLeaseExpired", lease.previousLeaseExpired());
  }
}
