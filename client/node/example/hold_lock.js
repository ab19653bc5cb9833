#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// hold_lock.js SERVER NAME STEPS [WAIT]: works under a lock, a second for each step.
// It waits in line for at most WAIT seconds. See docs/guides/node.md.
// Exit codes: 0 done, 70 the lease was lost, 75 somebody else has the lock, 143 stopped by SIGTERM.
import { setTimeout as sleep } from 'node:timers/promises';
import { LeaseLost, LockService, NotAcquired } from './held_lock.js';

const [server, name, steps, wait = 0] = process.argv.slice(2);
let stopped = false;
process.once('SIGTERM', () => { stopped = true; });

async function work(lock) {
  for (let step = 1; step <= steps && !stopped; ++step) {
    lock.check();
    console.log(`step ${step}: ${lock.remaining().toFixed(1)} s left`);
    await sleep(1000, null, { signal: lock.lost }).catch(() => {});  // the work of this program
  }
}

async function main() {
  const service = new LockService(server);
  const lock = await service.acquire(name, { ttl: 10, wait: Number(wait) });
  try {
    console.log(`acquired with fencing token ${lock.fencingToken}`);
    await work(lock);
    console.log('admitted:', await service.fence(name, lock.fencingToken, { live: true }));
    console.log('released:', await lock.release());
  } finally {
    await lock.release();  // may be repeated
  }
  return stopped ? 143 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (error instanceof NotAcquired) process.exitCode = 75;
  else if (error instanceof LeaseLost) process.exitCode = 70;
  else throw error;
  console.log(error instanceof NotAcquired ? error.message : 'lost');
}
