// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.lockkeeper.admin.v1.AdminServiceGrpc;
import io.lockkeeper.admin.v1.GetLockRequest;
import io.lockkeeper.admin.v1.GetLockResponse;
import io.lockkeeper.admin.v1.WatchLocksRequest;
import io.lockkeeper.admin.v1.WatchLocksResponse;
import io.lockkeeper.v1.ExtendResponse;
import io.lockkeeper.v1.FenceRequest;
import io.lockkeeper.v1.FenceResponse;
import io.lockkeeper.v1.LockServiceGrpc;
import io.lockkeeper.v1.SessionOpened;
import io.lockkeeper.v1.SessionOperation;
import io.lockkeeper.v1.SessionRequest;
import io.lockkeeper.v1.SessionResponse;
import io.lockkeeper.v1.SessionResult;
import io.lockkeeper.v1.SessionResults;
import io.lockkeeper.v1.Verdict;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Opens sessions, watches and looks, and leaves to the test what it answers there. A fence is admitted. It knows no other calls. */
final class FakeDaemon extends LockServiceGrpc.LockServiceImplBase implements AutoCloseable {
  static final String LEASE_ID = "0123456789abcdef0123456789abcdef";
  static final long TOKEN = 7;

  /** A call of WatchLocks or GetLock. */
  static final class Call<T> {
    final String name;
    private final ServerCallStreamObserver<T> stream;
    private final CountDownLatch gone = new CountDownLatch(1);

    Call(String name, StreamObserver<T> stream) {
      this.name = name;
      this.stream = (ServerCallStreamObserver<T>) stream;
      this.stream.setOnCancelHandler(gone::countDown);
    }

    void say(T message) {
      stream.onNext(message);
    }

    void end() {
      stream.onCompleted();
    }

    void fail(Throwable error) {
      stream.onError(error);
    }

    void expectGone() throws InterruptedException {
      assertTrue(gone.await(20, TimeUnit.SECONDS), "the call is not cancelled");
    }
  }

  private final class Admin extends AdminServiceGrpc.AdminServiceImplBase {
    @Override
    public void watchLocks(WatchLocksRequest request, StreamObserver<WatchLocksResponse> stream) {
      watches.add(new Call<>(request.getName(), stream));
    }

    @Override
    public void getLock(GetLockRequest request, StreamObserver<GetLockResponse> stream) {
      looks.add(new Call<>(request.getName(), stream));
    }
  }

  private final Server server;
  final BlockingQueue<Call<WatchLocksResponse>> watches = new LinkedBlockingQueue<>();
  final BlockingQueue<Call<GetLockResponse>> looks = new LinkedBlockingQueue<>();
  final BlockingQueue<Metadata> unary = new LinkedBlockingQueue<>(); // of the unary calls of LockService
  private final BlockingQueue<SessionRequest> said = new LinkedBlockingQueue<>();
  private volatile StreamObserver<SessionResponse> answers;

  FakeDaemon() throws IOException {
    server =
        Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
            .addService(ServerInterceptors.intercept(this, this::recordUnary)).addService(new Admin()).build().start();
  }

  private <A, B> ServerCall.Listener<A> recordUnary(ServerCall<A, B> call, Metadata headers, ServerCallHandler<A, B> next) {
    if (call.getMethodDescriptor().getType() == MethodType.UNARY) unary.add(headers);
    return next.startCall(call, headers);
  }

  String address() {
    return "127.0.0.1:" + server.getPort();
  }

  @Override
  public void fence(FenceRequest request, StreamObserver<FenceResponse> stream) {
    stream.onNext(FenceResponse.newBuilder().setVerdict(Verdict.VERDICT_ADMITTED).build());
    stream.onCompleted();
  }

  @Override
  public StreamObserver<SessionRequest> session(StreamObserver<SessionResponse> stream) {
    answers = stream;
    return new StreamObserver<>() {
      @Override
      public void onNext(SessionRequest message) {
        if (message.hasOpen()) {
          answer(SessionResponse.newBuilder().setOpened(SessionOpened.getDefaultInstance()));
        } else {
          said.add(message);
        }
      }

      @Override
      public void onError(Throwable cut) {}

      @Override
      public void onCompleted() {
        stream.onCompleted();
      }
    };
  }

  SessionRequest next() throws InterruptedException {
    final SessionRequest message = said.poll(10, TimeUnit.SECONDS);
    assertNotNull(message, "the client says nothing");
    return message;
  }

  /** The next message, which has to be one operation. */
  SessionOperation nextOperation() throws InterruptedException {
    final SessionRequest message = next();
    assertEquals(1, message.getBatch().getOperationsCount(), message::toString);
    return message.getBatch().getOperations(0);
  }

  void answer(SessionResponse.Builder message) {
    answers.onNext(message.build());
  }

  void answer(SessionResult.Builder result) {
    answer(SessionResponse.newBuilder().setResults(SessionResults.newBuilder().addResults(result)));
  }

  void extend(SessionOperation operation, Duration ttl) {
    answer(extended(operation.getId(), ttl));
  }

  static SessionResult.Builder extended(long operation, Duration ttl) {
    return SessionResult.newBuilder().setOperationId(operation).setExtend(ExtendResponse.newBuilder().setLease(lease(ttl)));
  }

  static io.lockkeeper.v1.Lease lease(Duration ttl) {
    return io.lockkeeper.v1.Lease.newBuilder()
        .setName("job").setLeaseId(LEASE_ID).setFencingToken(TOKEN).setTtl(Protos.proto(ttl)).setRemainingTtl(Protos.proto(ttl)).build();
  }

  /** Ends the session, as a proxy does that cuts streams. */
  void cut() {
    answers.onError(Status.UNAVAILABLE.asRuntimeException());
  }

  @Override
  public void close() {
    server.shutdownNow();
  }
}
