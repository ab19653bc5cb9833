// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.Optional;

/** What {@link LockClient#observe} tells, one call after the other, on a thread of the observer. */
@FunctionalInterface
public interface LeaderListener {
  /** Called once it is known who leads, and then at each change. Empty: nobody leads. While it runs, the observer hears nothing. */
  void onChange(Optional<Leader> leader);

  /** Called with each error, after which the observer goes on, and with what {@link #onChange} throws. Default: a warning in the log. */
  default void onError(Exception why) {
    System.getLogger("io.lockkeeper").log(System.Logger.Level.WARNING, "leader observer", why);
  }
}
