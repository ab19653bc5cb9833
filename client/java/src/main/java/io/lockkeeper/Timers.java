// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * The two threads of a client: one for renewals, on which nothing blocks, and one for callbacks. Both are daemon threads: a program that
 * forgets to close its client can end.
 */
final class Timers {
  private static final Future<?> NEVER = new FutureTask<>(() -> {}, null);

  private final ScheduledThreadPoolExecutor timers = pool("lockkeeper-renewals");
  private final ScheduledThreadPoolExecutor callbacks = pool("lockkeeper-callbacks");

  private static ScheduledThreadPoolExecutor pool(String name) {
    final ThreadFactory threads =
        work -> {
          final Thread thread = new Thread(work, name);
          thread.setDaemon(true);
          return thread;
        };
    final ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(1, threads);
    pool.setRemoveOnCancelPolicy(true);
    return pool;
  }

  /** Runs the work at the given time, unless it is cancelled or the client is closed. */
  Future<?> at(long at, Runnable work) {
    try {
      return timers.schedule(work, at - Ticks.now(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException closed) {
      return NEVER;
    }
  }

  /** Runs the caller's code, which may block. */
  void callBack(Runnable work) {
    try {
      callbacks.execute(work);
    } catch (RejectedExecutionException closed) {
      work.run(); // nobody must wait for it for ever
    }
  }

  ScheduledThreadPoolExecutor files() {
    return timers;
  }

  void close() {
    timers.shutdownNow();
    callbacks.shutdown();
  }
}
