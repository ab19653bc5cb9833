// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** The daemons of one service, and which of them is in use. Thread-safe. */
final class Daemons {
  private final ClientOptions options;
  private final List<Daemon> all = new ArrayList<>();
  private final AtomicInteger inUse = new AtomicInteger();

  Daemons(ClientOptions options, Timers timers) {
    this.options = options;
    final TokenFile token = options.tokenFile.isEmpty() ? null : new TokenFile(options.tokenFile);
    final Channels channels = new Channels(options, timers);
    for (String address : options.servers) {
      final int number = all.size();
      all.add(new Daemon(address, options, channels, timers, token, () -> moveOn(number)));
    }
  }

  int size() {
    return all.size();
  }

  /** The number of the one in use. */
  int current() {
    return inUse.get();
  }

  Daemon get(int number) {
    return all.get(number);
  }

  /** The daemon did not serve. Moves on to the next one, unless that was already done. */
  void failed(int number, LockException why) {
    moveOn(number);
    if (options.onUnserved != null) options.onUnserved.accept(why);
  }

  private void moveOn(int number) {
    inUse.compareAndSet(number, (number + 1) % all.size());
  }

  void close() {
    all.forEach(Daemon::close);
  }
}
