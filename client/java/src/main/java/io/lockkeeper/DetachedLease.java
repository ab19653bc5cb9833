// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

/** What another client needs to adopt a lease. */
public record DetachedLease(String name, String leaseId, long fencingToken, String reassertion) {
  /** Without the lease id, which is a credential, and the proof. */
  @Override
  public String toString() {
    return "DetachedLease[name=" + name + ", fencingToken=" + fencingToken + "]";
  }
}
