// SPDX-License-Identifier: Apache-2.0
//
// The wrapper that most people write around Redis: SET NX PX with a random value, and a script that deletes the key if it still has it.
import { randomBytes } from "node:crypto";
import { runClosedLoops } from "./closed_loops.js";

const kTtlMs = 30_000;
const kCompareAndDelete = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end';

await runClosedLoops((client) => {
  client.defineCommand("compareAndDelete", { numberOfKeys: 1, lua: kCompareAndDelete });
  return {
    async acquire(name) {
      const value = randomBytes(16).toString("hex");
      if ((await client.set(name, value, "PX", kTtlMs, "NX")) !== "OK") throw new Error("a lock was not granted");
      return value;
    },
    async release(name, value) {
      if ((await client.compareAndDelete(name, value)) !== 1) throw new Error("a lock was not released");
    },
  };
});
