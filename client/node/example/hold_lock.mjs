#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// hold_lock.mjs SERVER NAME STEPS [WAIT]: works under a lock, a second for each step.
// It waits in line for at most WAIT seconds. See docs/guides/node.md.
// Exit codes: 0 done, 70 the lease was lost, 75 somebody else has the lock, 143 stopped by SIGTERM.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, LeaseLostError, NotAcquiredError } from '@lockkeeper/client';

const [address, name, steps, wait = 0] = process.argv.slice(2);
const client = new Client({ address });
let stopped = false;
process.once('SIGTERM', () => { stopped = true; });

async function work(lease, signal) {
  console.log(`acquired with fencing token ${lease.fencingToken}`);
  for (let step = 1; step <= steps && !stopped; ++step) {
    signal.throwIfAborted();
    console.log(`step ${step}: ${(lease.remaining() / 1000).toFixed(1)} s left`);
    await sleep(1000, null, { signal }).catch(() => {});  // the work of this program
  }
  const { admitted } = await client.fence(name, lease.fencingToken, { requireLive: true });
  console.log('admitted:', admitted);
  console.log('released:', (await lease.release()).released);
}

try {
  // 500 ms between "lost" and the end of the lease: time to stop the work.
  await client.using(name, { ttl: 10_000, wait: wait * 1000, stopMargin: 500 }, work);
  process.exitCode = stopped ? 143 : 0;
} catch (error) {
  if (error instanceof NotAcquiredError) {
    console.log(`held by '${error.contention.holderOwner}'`);
    process.exitCode = 75;
  } else if (error instanceof LeaseLostError) {
    console.log('lost');
    process.exitCode = 70;
  } else {
    throw error;
  }
}
await client.close();
