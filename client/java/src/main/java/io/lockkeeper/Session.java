// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.lockkeeper.v1.AcquireResponse;
import io.lockkeeper.v1.ExtendRequest;
import io.lockkeeper.v1.ExtendResponse;
import io.lockkeeper.v1.SessionAdopt;
import io.lockkeeper.v1.SessionAdoptResult;
import io.lockkeeper.v1.SessionBatch;
import io.lockkeeper.v1.SessionCancel;
import io.lockkeeper.v1.SessionForget;
import io.lockkeeper.v1.SessionOffer;
import io.lockkeeper.v1.SessionOpen;
import io.lockkeeper.v1.SessionOperation;
import io.lockkeeper.v1.SessionRequest;
import io.lockkeeper.v1.SessionResponse;
import io.lockkeeper.v1.SessionResult;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * One stream to a daemon. Operations that come while a message is being written go together in the next one. Thread-safe. Never calls an
 * operation or a lease with its own lock held.
 */
final class Session implements ClientResponseObserver<SessionRequest, SessionResponse> {
  // The server accepts 1,024 operations and 64 KiB in a message, which is a few bytes longer than its operations.
  private static final int BATCH_MAX = 1024;
  private static final int BATCH_BYTES_MAX = 60 << 10;
  private static final int OPERATION_HEAD = 8;
  private static final int OUTSTANDING_DEFAULT = 1024;
  private static final int OWNER_BYTES_MAX = 256;

  /** Bounds what is remembered of leases that are not known. */
  private static final int LOST_EARLY_MAX = 4096;

  /** Answers an operation whose session ended before it was sent. */
  static final LockException NOT_SENT = LockException.unavailable("", "the session ended before the operation was sent");

  final Daemon daemon;
  final Timers timers;
  final Heartbeats heartbeats = new Heartbeats(this);
  final CompletableFuture<Void> ended = new CompletableFuture<>();

  private final Map<Long, Operation> entries = new HashMap<>(); // guarded by this, as all below
  private final Set<Long> abandoned = new HashSet<>(); // nobody waits for their answers any more; the server has still to answer
  private final Map<String, Operation> adopting = new HashMap<>(); // by lease id
  private final Deque<Operation> queue = new ArrayDeque<>();
  private final Deque<SessionRequest> controls = new ArrayDeque<>(); // to be sent before the queue
  private final Map<String, Lease> held = new HashMap<>(); // that the server keeps in this session, by lease id
  private final Set<String> lostEarly = new HashSet<>(); // named by a heartbeat before their grant was known
  private @Nullable ClientCallStreamObserver<SessionRequest> call;
  private @Nullable Future<?> openTimeout;
  private boolean opened;
  private boolean retiring; // takes no new operations, and is closed once all are answered
  private boolean broken; // by us, or over
  private boolean suspect; // an answer is late, and nothing was received since its operation was sent
  private boolean writing;
  private boolean halfClosed;
  private long heardAt = Long.MIN_VALUE;
  private long lastId;
  private int sentMax;
  private int sent;
  private int waiting;

  Session(Daemon daemon, Timers timers) {
    this.daemon = daemon;
    this.timers = timers;
  }

  /** Called once, without the daemon's lock. */
  void open(String owner) {
    synchronized (this) {
      openTimeout = timers.at(Ticks.now() + SessionPolicy.OPEN_TIMEOUT, this::breakIfNotOpen);
    }
    daemon.beginSession(this);
    final ClientCallStreamObserver<SessionRequest> stream;
    synchronized (this) {
      stream = call;
    }
    if (stream == null) return;
    final SessionOpen.Builder said = SessionOpen.newBuilder();
    // The owner is only for the server's logs, but one that is too long would make the server reject the session.
    if (owner.getBytes(java.nio.charset.StandardCharsets.UTF_8).length <= OWNER_BYTES_MAX) said.setOwner(owner);
    stream.onNext(SessionRequest.newBuilder().setOpen(said).build());
  }

  @Override
  public void beforeStart(ClientCallStreamObserver<SessionRequest> stream) {
    synchronized (this) {
      call = stream;
    }
    stream.setOnReadyHandler(this::write);
  }

  static boolean canCarry(Operation operation) {
    return operation.request.getSerializedSize() <= BATCH_BYTES_MAX / 4;
  }

  /** Sends the operation. False if this session takes no more, or none at the moment. */
  boolean run(Operation operation) {
    synchronized (this) {
      if (!isUsable()) return false;
      // Waiting acquires must not take all the places, because renewals need some.
      if (operation.waits() && sentMax > 0 && waiting >= sentMax / 2) return false;
      if (operation.waits()) ++waiting;
      operation.id = ++lastId;
      entries.put(operation.id, operation);
      queue.add(operation);
    }
    write();
    return true;
  }

  synchronized boolean isUsable() {
    return !retiring && !broken && !suspect;
  }

  synchronized boolean isOpen() {
    return opened;
  }

  /** Stops waiting for the answer. If the operation was sent, its place stays taken until the daemon has answered. */
  void giveUp(Operation operation) {
    synchronized (this) {
      if (entries.get(operation.id) != operation || abandoned.contains(operation.id)) return;
      if (!operation.sent) {
        erase(operation);
      } else {
        abandoned.add(operation.id);
        if (operation.waits()) {
          controls.add(
              SessionRequest.newBuilder().setCancel(SessionCancel.newBuilder().setOperationId(operation.id)).build());
        } else if (heardAt < operation.sentAt) {
          suspect = true;
        }
      }
    }
    write();
  }

  private void erase(Operation operation) {
    entries.remove(operation.id);
    abandoned.remove(operation.id);
    if (operation.adopts) adopting.remove(operation.request.getExtend().getLeaseId(), operation);
    if (operation.waits()) --waiting;
    if (operation.sent) --sent;
  }

  /** Says it before the operations that wait to be sent. */
  void say(SessionRequest message) {
    synchronized (this) {
      controls.add(message);
    }
    write();
  }

  /** Sends what there is to send, unless another thread is at it: that thread then sends it too. */
  private void write() {
    while (true) {
      final ClientCallStreamObserver<SessionRequest> stream;
      final SessionRequest message;
      final boolean last;
      synchronized (this) {
        if (writing || call == null || broken || halfClosed || !opened || !call.isReady()) return;
        stream = call;
        message = nextMessage();
        last = message == null && retiring && entries.isEmpty();
        if (message == null && !last) return;
        writing = true;
        halfClosed = last;
      }
      try {
        if (message != null) {
          stream.onNext(message);
        } else {
          stream.onCompleted();
        }
      } catch (IllegalStateException over) {
        return; // onError tells
      } finally {
        synchronized (this) {
          writing = false;
        }
      }
    }
  }

  private @Nullable SessionRequest nextMessage() {
    final SessionRequest control = controls.poll();
    if (control != null) return control;
    final SessionBatch.Builder batch = SessionBatch.newBuilder();
    int bytes = 0;
    while (!queue.isEmpty() && sent < sentMax && batch.getOperationsCount() < BATCH_MAX) {
      final Operation operation = queue.peek();
      if (entries.get(operation.id) != operation) { // it was given up
        queue.remove();
        continue;
      }
      if (operation.adopts && adopting.containsKey(operation.request.getExtend().getLeaseId())) {
        operation.adopts = false; // its answer could not be told from that of the adoption before
      }
      if (operation.adopts && batch.getOperationsCount() > 0) break;
      bytes += operation.request.getSerializedSize() + 2 * OPERATION_HEAD;
      if (bytes > BATCH_BYTES_MAX) break;
      queue.remove();
      ++sent;
      operation.sent = true;
      operation.sentAt = Ticks.now();
      if (operation.adopts) return adopt(operation);
      batch.addOperations(SessionOperation.newBuilder(operation.request).setId(operation.id));
    }
    return batch.getOperationsCount() == 0 ? null : SessionRequest.newBuilder().setBatch(batch).build();
  }

  private SessionRequest adopt(Operation operation) {
    final ExtendRequest extend = operation.request.getExtend();
    adopting.put(extend.getLeaseId(), operation);
    return SessionRequest.newBuilder()
        .setAdopt(
            SessionAdopt.newBuilder().setName(extend.getName()).setLeaseId(extend.getLeaseId())
                .setFencingToken(extend.getFencingToken()).setReassertion(extend.getReassertion()))
        .build();
  }

  @Override
  public void onNext(SessionResponse message) {
    synchronized (this) {
      heardAt = Ticks.now();
      suspect = false;
    }
    switch (message.getMessageCase()) {
      case OPENED -> onOpened(message.getOpened().getMaxOutstandingOperations());
      case RESULTS -> message.getResults().getResultsList().forEach(this::onResult);
      case OFFER -> onOffer(message.getOffer());
      case ADOPT_RESULT -> onAdopted(message.getAdoptResult());
      case HEARTBEAT_RESULT -> heartbeats.onResult(message.getHeartbeatResult());
      case LEASE_LOST -> heartbeats.onNamed(message.getLeaseLost());
      case DRAINING -> daemon.onDraining(this);
      default -> {}
    }
    write();
  }

  private void onOpened(int allowed) {
    synchronized (this) {
      // Not all of them: the server frees a place only after its answer has been written.
      sentMax = allowed > 0 ? Math.max(1, allowed - allowed / 4) : OUTSTANDING_DEFAULT;
      opened = true;
      if (openTimeout != null) openTimeout.cancel(false);
    }
    daemon.onOpened(this);
  }

  private void onResult(SessionResult result) {
    final Operation operation;
    final boolean wanted;
    synchronized (this) {
      operation = entries.get(result.getOperationId());
      if (operation == null) return;
      wanted = !abandoned.contains(operation.id);
      erase(operation);
      if (!wanted) forgetUnclaimed(result);
    }
    if (!wanted) return;
    if (result.hasError()) {
      operation.fail(LockException.ofOperation(result.getError()), this);
    } else {
      operation.answer(result, this);
    }
  }

  /** The lease came too late for those who asked for it. */
  private void forgetUnclaimed(SessionResult result) {
    final io.lockkeeper.v1.Lease lease = result.hasAcquire() ? result.getAcquire().getLease() : result.getExtend().getLease();
    final String leaseId = lease.getLeaseId();
    if (leaseId.isEmpty() || lease.getOffered() || held.containsKey(leaseId)) return;
    final boolean isAskedFor =
        entries.values().stream().anyMatch(operation -> operation.asksFor(leaseId) && !abandoned.contains(operation.id));
    if (!isAskedFor) controls.add(forgetting(lease.getName(), leaseId));
  }

  private void onOffer(SessionOffer offer) {
    onResult(
        SessionResult.newBuilder().setOperationId(offer.getOperationId())
            .setAcquire(AcquireResponse.newBuilder().setLease(offer.getLease().toBuilder().setOffered(true))).build());
  }

  private void onAdopted(SessionAdoptResult adopted) {
    final Operation operation;
    synchronized (this) {
      operation = adopting.get(adopted.getLeaseId());
    }
    if (operation == null) return;
    final SessionResult.Builder result = SessionResult.newBuilder().setOperationId(operation.id);
    if (adopted.hasError()) {
      result.setError(adopted.getError());
    } else {
      result.setExtend(ExtendResponse.newBuilder().setLease(adopted.getLease()));
    }
    onResult(result.build());
  }

  @Override
  public void onError(Throwable error) {
    end(Status.fromThrowable(error));
  }

  @Override
  public void onCompleted() {
    end(Status.OK);
  }

  private void end(Status status) {
    final List<Operation> unsent = new ArrayList<>();
    final List<Operation> unanswered = new ArrayList<>();
    final SessionPolicy.End how;
    synchronized (this) {
      if (status.getCode() == Status.Code.UNIMPLEMENTED) {
        how = SessionPolicy.End.UNSUPPORTED;
      } else if (!opened) {
        how = SessionPolicy.End.NOT_OPENED;
      } else {
        how = retiring || broken ? SessionPolicy.End.RETIRED : SessionPolicy.End.CUT;
      }
      broken = true;
      if (openTimeout != null) openTimeout.cancel(false);
      for (Operation operation : entries.values()) {
        if (!abandoned.contains(operation.id)) (operation.sent ? unanswered : unsent).add(operation);
      }
      entries.clear();
      queue.clear();
    }
    daemon.onEnded(this, how);
    for (Operation operation : unsent) operation.fail(NOT_SENT, null);
    final LockException unknown = LockException.unavailable("OUTCOME_UNKNOWN", "the session broke before the answer came");
    for (Operation operation : unanswered) operation.fail(unknown, this);
    heartbeats.end(unknown);
    orphan();
    ended.complete(null);
  }

  private void breakIfNotOpen() {
    if (!isOpen()) breakOff();
  }

  /** Ends the stream at once. */
  void breakOff() {
    final ClientCallStreamObserver<SessionRequest> stream;
    synchronized (this) {
      broken = true;
      stream = call;
    }
    if (stream != null) stream.cancel("the session is over", null);
  }

  /** Takes no new operations, and closes the stream when all are answered. Its leases go to another session. */
  void retire() {
    synchronized (this) {
      retiring = true;
    }
    write();
    orphan();
  }

  /** Closes the stream cleanly. False if that needs more than an answer of the daemon. */
  boolean close() {
    synchronized (this) {
      retiring = true;
      if (!opened || broken || !entries.isEmpty()) return false;
    }
    write();
    return true;
  }

  /** An answer was late, and nothing was received since `since`. */
  synchronized void suspectSince(long since) {
    suspect = suspect || heardAt < since;
  }

  // --- the leases that it keeps ---

  /** Has the lease kept here. Not if the session is going away, or has named the lease as lost. */
  synchronized boolean keep(Lease lease) {
    if (retiring || broken || lostEarly.contains(lease.leaseId())) return false;
    held.put(lease.leaseId(), lease);
    return true;
  }

  synchronized boolean hasLost(Lease lease) {
    return lostEarly.contains(lease.leaseId());
  }

  synchronized void drop(Lease lease) {
    held.remove(lease.leaseId(), lease);
  }

  /** Leaves the lease to its ttl, which a heartbeat for others would extend. */
  void forget(String name, String leaseId) {
    synchronized (this) {
      held.remove(leaseId);
      controls.add(forgetting(name, leaseId));
    }
    write();
  }

  private static SessionRequest forgetting(String name, String leaseId) {
    return SessionRequest.newBuilder().setForget(SessionForget.newBuilder().setName(name).setLeaseId(leaseId)).build();
  }

  synchronized @Nullable Lease find(String leaseId) {
    return held.get(leaseId);
  }

  synchronized int size() {
    return held.size();
  }

  /** The lease has ended. Null if it is not known (yet). */
  synchronized @Nullable Lease lose(String leaseId) {
    final Lease lease = held.remove(leaseId);
    if (lease == null) {
      if (lostEarly.size() >= LOST_EARLY_MAX) lostEarly.clear();
      lostEarly.add(leaseId);
    }
    return lease;
  }

  private void orphan() {
    final List<Lease> orphans;
    synchronized (this) {
      orphans = new ArrayList<>(held.values());
      held.clear();
    }
    for (Lease lease : orphans) lease.orphaned(this);
  }
}
