// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.v1.FenceResponse;

/** What a fence found. Everything but ADMITTED means: reject the access. The newest token is 0 if none is known. */
public record Fenced(Verdict verdict, long newestToken) {
  public enum Verdict {
    /** The newest token of the lock and, if asked, its lease is live. */
    ADMITTED,
    /** A higher token was granted. */
    STALE,
    /** The newest token, but its lease is over. */
    EXPIRED,
    /** Never granted, or the service does not remember. */
    UNKNOWN_TOKEN,
    /** The server sent a verdict that this version does not know. */
    UNKNOWN
  }

  public boolean isAdmitted() {
    return verdict == Verdict.ADMITTED;
  }

  static Fenced of(FenceResponse response) {
    final Verdict verdict =
        switch (response.getVerdict()) {
          case VERDICT_ADMITTED -> Verdict.ADMITTED;
          case VERDICT_STALE -> Verdict.STALE;
          case VERDICT_EXPIRED -> Verdict.EXPIRED;
          case VERDICT_UNKNOWN_TOKEN -> Verdict.UNKNOWN_TOKEN;
          default -> Verdict.UNKNOWN;
        };
    return new Fenced(verdict, response.getNewestFencingToken());
  }
}
