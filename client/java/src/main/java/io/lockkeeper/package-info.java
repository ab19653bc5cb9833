// SPDX-License-Identifier: Apache-2.0

/**
 * The client of lockkeeper: named locks with fencing tokens. Start with {@link io.lockkeeper.LockClient}. client/README.md is the contract
 * that the clients of all languages keep.
 */
@NullMarked
package io.lockkeeper;

import org.jspecify.annotations.NullMarked;
