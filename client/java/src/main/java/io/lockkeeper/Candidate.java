// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

/** What a candidate of {@link LockClient#lead} is told. */
@FunctionalInterface
public interface Candidate {
  /**
   * Called once in each term, on a thread of the leadership; the lease's fencing token is the number of the term. The thread is interrupted
   * when the term ends: the lease is lost, or you resign. When this method returns, the term goes on. If it throws, {@link #onError} is told,
   * and this candidate resigns and campaigns again after one ttl.
   */
  void onElected(Lease lease) throws Exception;

  /** Called when the lease is lost, before it ends, on the thread for callbacks. Not after {@link Leadership#resign} or close. */
  default void onLost(LeaseLostException why) {}

  /** Called with each error of the campaign, which then goes on, and with what the other methods throw. Default: a warning in the log. */
  default void onError(Exception why) {
    System.getLogger("io.lockkeeper").log(System.Logger.Level.WARNING, "leadership", why);
  }
}
