// SPDX-License-Identifier: Apache-2.0
//
// The package redlock on one node. It throws by itself if a lock is not granted or not released.
import Redlock from "redlock";
import { runClosedLoops } from "./closed_loops.js";

const kTtlMs = 30_000;

await runClosedLoops((client) => {
  const redlock = new Redlock([client], { retryCount: 0 });
  return {
    acquire: (name) => redlock.lock(name, kTtlMs),
    release: (name, lock) => lock.unlock(),
  };
});
