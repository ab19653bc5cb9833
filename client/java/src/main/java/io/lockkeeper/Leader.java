// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

/**
 * The holder of a lock that is observed. The fencing token is the number of its term; the owner is what it calls itself, and the principal
 * its authenticated identity. The latter two are empty if there is none, or it is not known.
 */
public record Leader(long fencingToken, String owner, String principal) {}
