// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper.conformance;

import com.google.protobuf.Duration;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.stub.StreamObserver;
import io.lockkeeper.AcquireOptions;
import io.lockkeeper.ClientOptions;
import io.lockkeeper.Lease;
import io.lockkeeper.LockClient;
import io.lockkeeper.admin.v1.AdminServiceGrpc;
import io.lockkeeper.admin.v1.GetLockRequest;
import io.lockkeeper.admin.v1.GetLockResponse;
import io.lockkeeper.admin.v1.LockEvent;
import io.lockkeeper.admin.v1.LockEventKind;
import io.lockkeeper.admin.v1.WatchLocksRequest;
import io.lockkeeper.admin.v1.WatchLocksResponse;
import io.lockkeeper.v1.AcquireRequest;
import io.lockkeeper.v1.AcquireResponse;
import io.lockkeeper.v1.ExtendRequest;
import io.lockkeeper.v1.ExtendResponse;
import io.lockkeeper.v1.LockServiceGrpc;
import io.lockkeeper.v1.ReleaseRequest;
import io.lockkeeper.v1.ReleaseResponse;
import io.lockkeeper.v1.SessionHeartbeatResult;
import io.lockkeeper.v1.SessionOpened;
import io.lockkeeper.v1.SessionOperation;
import io.lockkeeper.v1.SessionRequest;
import io.lockkeeper.v1.SessionResponse;
import io.lockkeeper.v1.SessionResult;
import io.lockkeeper.v1.SessionResults;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Has the JVM load what a client needs, by one with a server in this process. On a loaded machine the first calls of a new JVM take longer
 * than the leases of the cases live; the cases are about programs that have run for a while.
 */
final class WarmUp {
  private static final class Service extends LockServiceGrpc.LockServiceImplBase {
    private static io.lockkeeper.v1.Lease lease(String name, String leaseId) {
      final Duration ttl = Duration.newBuilder().setSeconds(1).build();
      return io.lockkeeper.v1.Lease.newBuilder().setName(name).setLeaseId(leaseId).setFencingToken(1).setTtl(ttl)
          .setRemainingTtl(ttl).build();
    }

    private static <T> void answer(StreamObserver<T> to, T with) {
      to.onNext(with);
      to.onCompleted();
    }

    private static AcquireResponse acquired(AcquireRequest request) {
      return AcquireResponse.newBuilder().setLease(lease(request.getName(), request.getLeaseId())).build();
    }

    private static ExtendResponse extended(ExtendRequest request) {
      return ExtendResponse.newBuilder().setLease(lease(request.getName(), request.getLeaseId())).build();
    }

    private static ReleaseResponse released() {
      return ReleaseResponse.newBuilder().setReleased(true).build();
    }

    @Override
    public void acquire(AcquireRequest request, StreamObserver<AcquireResponse> to) {
      answer(to, acquired(request));
    }

    @Override
    public void extend(ExtendRequest request, StreamObserver<ExtendResponse> to) {
      answer(to, extended(request));
    }

    @Override
    public void release(ReleaseRequest request, StreamObserver<ReleaseResponse> to) {
      answer(to, released());
    }

    private static SessionResponse resultOf(SessionOperation operation) {
      final SessionResult.Builder result = SessionResult.newBuilder().setOperationId(operation.getId());
      switch (operation.getOperationCase()) {
        case ACQUIRE -> result.setAcquire(acquired(operation.getAcquire()));
        case EXTEND -> result.setExtend(extended(operation.getExtend()));
        default -> result.setRelease(released());
      }
      return SessionResponse.newBuilder().setResults(SessionResults.newBuilder().addResults(result)).build();
    }

    @Override
    public StreamObserver<SessionRequest> session(StreamObserver<SessionResponse> to) {
      return new StreamObserver<>() {
        @Override
        public void onNext(SessionRequest message) {
          switch (message.getMessageCase()) {
            case OPEN -> to.onNext(
                SessionResponse.newBuilder().setOpened(SessionOpened.newBuilder().setMaxOutstandingOperations(100)).build());
            case HEARTBEAT -> to.onNext(
                SessionResponse.newBuilder()
                    .setHeartbeatResult(SessionHeartbeatResult.newBuilder().setNumber(message.getHeartbeat().getNumber()))
                    .build());
            case BATCH -> message.getBatch().getOperationsList().forEach(operation -> to.onNext(resultOf(operation)));
            default -> {}
          }
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onCompleted() {
          to.onCompleted();
        }
      };
    }
  }

  /** Nobody leads. */
  private static final class Admin extends AdminServiceGrpc.AdminServiceImplBase {
    @Override
    public void watchLocks(WatchLocksRequest request, StreamObserver<WatchLocksResponse> to) {
      to.onNext(
          WatchLocksResponse.newBuilder()
              .addEvents(LockEvent.newBuilder().setKind(LockEventKind.LOCK_EVENT_KIND_STARTED)).build());
    }

    @Override
    public void getLock(GetLockRequest request, StreamObserver<GetLockResponse> to) {
      Service.answer(to, GetLockResponse.getDefaultInstance());
    }
  }

  private WarmUp() {}

  static void run() throws IOException, InterruptedException {
    final Server server =
        Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
            .directExecutor().addService(new Service()).addService(new Admin()).build().start();
    for (boolean sessions : new boolean[] {true, false}) {
      try (LockClient client =
          LockClient.create(ClientOptions.defaults().servers("127.0.0.1:" + server.getPort()).sessions(sessions))) {
        final CountDownLatch told = new CountDownLatch(1);
        client.observe("warm", leader -> told.countDown());
        final List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 5; ++i) leases.add(client.acquireOrThrow("warm/" + i, AcquireOptions.defaults()));
        leases.get(0).extend(java.time.Duration.ofSeconds(1));
        leases.get(1).release();
        told.await(10, TimeUnit.SECONDS);
      } catch (io.lockkeeper.LockException tooSlow) {
        System.err.println("warm-up: " + tooSlow.getMessage()); // the machine is loaded; what had to be loaded is
      }
    }
    server.shutdownNow();
  }
}
