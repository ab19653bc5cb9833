// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.v1.SessionOperation;
import io.lockkeeper.v1.SessionResult;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One operation in flight to a daemon, in a session or as a unary call. */
final class Operation {
  /**
   * Of the daemon, to the request that was sent at `sent`: the moment before it left, so that what came before, such as connecting, costs
   * the lease nothing. The session is the one that carried it; null: a unary call did.
   */
  record Answer(@Nullable SessionResult result, @Nullable LockException error, @Nullable Session session, long sent) {
    /** The result, or the error thrown. */
    SessionResult get() {
      if (result == null) throw error == null ? LockException.internal("neither a result nor an error") : error;
      return result;
    }
  }

  final SessionOperation request;

  final CompletableFuture<Answer> done = new CompletableFuture<>();

  // Of the session that carries it, guarded by its lock.
  long id;
  boolean sent;

  /** The extend is said as `adopt` in a session, so that the session keeps the lease. Does not change once there is an answer. */
  boolean adopts;

  /** When it was sent; read before it leaves. */
  volatile long sentAt = Ticks.now();

  /** Ends the unary call, if it is one. */
  volatile Runnable cancel = () -> {};

  Operation(SessionOperation request, boolean adopts) {
    this.request = request;
    this.adopts = adopts;
  }

  Operation(SessionOperation request) {
    this(request, false);
  }

  /** Whether it is an acquire that may stand in line. */
  boolean waits() {
    return request.hasAcquire() && request.getAcquire().hasWaitTimeout();
  }

  /** Whether it is to have the session keep the lease with this id, as the server spells it: an acquire, a claim or an adoption. */
  boolean asksFor(String leaseId) {
    final boolean isRenewal = request.getExtend().getFencingToken() > 0 && !adopts;
    final String asked = request.hasAcquire() ? request.getAcquire().getLeaseId() : request.getExtend().getLeaseId();
    return !isRenewal && Protos.plain(asked).equals(leaseId);
  }

  void answer(SessionResult result, @Nullable Session session) {
    done.complete(new Answer(result, null, session, sentAt));
  }

  void fail(LockException error, @Nullable Session session) {
    done.complete(new Answer(null, error, session, sentAt));
  }
}
