// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.grpc.Status;
import java.time.Duration;

/** The lease was lost before the work under it was done. */
public final class LeaseLostException extends LockException {
  private static final long serialVersionUID = 1L;

  private final transient Loss loss;

  LeaseLostException(String name, Loss loss) {
    super(
        Status.Code.FAILED_PRECONDITION, "LEASE_LOST", "", Duration.ZERO, "the lease of `" + name + "` is lost: " + loss.cause(),
        loss.error());
    this.loss = loss;
  }

  public Loss loss() {
    return loss;
  }
}
