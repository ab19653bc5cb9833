// SPDX-License-Identifier: Apache-2.0
//
// Closed loops of lock cycles on Redis, as tests/bench/load/load.h has them, and the figures that they print.
import { parseArgs } from "node:util";
import Redis from "ioredis";

const kWarmUpMs = 400;

// Asks for --socket PATH, --outstanding N, --seconds S, and for --auto-pipelining.
function readOptions() {
  const { values } = parseArgs({
    options: {
      socket: { type: "string" },
      outstanding: { type: "string", default: "1" },
      seconds: { type: "string", default: "1" },
      "auto-pipelining": { type: "boolean", default: false },
    },
  });
  return {
    socket: values.socket,
    outstanding: Number(values.outstanding),
    milliseconds: Number(values.seconds) * 1000,
    autoPipelining: values["auto-pipelining"],
  };
}

function percentile(sorted, share) {
  return sorted.length === 0 ? 0 : sorted[Math.floor(share * (sorted.length - 1))];
}

function printLatencies(name, latencies) {
  const sorted = Float64Array.from(latencies).sort();
  for (const [suffix, share] of [["p50_us", 0.5], ["p99_us", 0.99]]) {
    console.log(`${name}_${suffix} ${(percentile(sorted, share) * 1000).toFixed(3)}`);
  }
}

// Runs the loops and prints what they did. `locks(client)` gives {acquire(name), release(name, acquired)}, which throw if a lock was
// not granted or not released; each loop has a lock of its own.
export async function runClosedLoops(locks) {
  const options = readOptions();
  const client = new Redis({ path: options.socket, enableAutoPipelining: options.autoPipelining });
  const { acquire, release } = locks(client);
  const latencies = { acquire: [], release: [] };
  const start = performance.now();
  const begin = start + kWarmUpMs;
  const end = begin + options.milliseconds;
  let cycles = 0;

  async function loop(name) {
    for (let sent = start; sent < end; ) {
      sent = performance.now();
      const acquired = await acquire(name);
      const held = performance.now();
      await release(name, acquired);
      const over = performance.now();
      if (sent < begin || over > end) continue;
      latencies.acquire.push(held - sent);
      latencies.release.push(over - held);
      ++cycles;
    }
  }

  const names = Array.from({ length: options.outstanding }, (_, i) => `bench/peer/${1000 + i}`);
  await Promise.all(names.map(loop));
  client.disconnect();
  console.log(`cycles_per_s ${((cycles * 1000) / options.milliseconds).toFixed(3)}`);
  printLatencies("acquire", latencies.acquire);
  printLatencies("release", latencies.release);
}
