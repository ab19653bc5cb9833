// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What is known of a lease that another client detached. Each method changes these options and returns them. */
public final class AdoptOptions {
  long fencingToken;
  String reassertion = "";
  @Nullable Duration ttl;
  Duration stopMargin = Duration.ZERO;

  /** Only the lease id is known. */
  public static AdoptOptions defaults() {
    return new AdoptOptions();
  }

  private AdoptOptions() {}

  /** The token and the newest proof of the lease: with them it survives a store that has lost its state. */
  public AdoptOptions proof(long token, String reassertion) {
    fencingToken = token;
    this.reassertion = reassertion;
    return this;
  }

  /** The lease then runs on with this ttl. Default: as granted. */
  public AdoptOptions ttl(Duration time) {
    ttl = time;
    return this;
  }

  /** As in {@link AcquireOptions}. */
  public AdoptOptions stopMargin(Duration time) {
    stopMargin = time;
    return this;
  }
}
