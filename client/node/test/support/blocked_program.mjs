// SPDX-License-Identifier: Apache-2.0
//
// blocked_program.mjs ADDRESS: blocks its event loop for 2 × ttl, in ways that make different things ready meanwhile, and prints what it
// knew of its lease when the next await went on.
import { stat } from 'node:fs/promises';
import { Client } from '../../dist/index.mjs';

const TTL = 1_000;
const client = new Client({ address: process.argv[2] });
const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

// What the program awaits while its event loop is blocked.
const awaits = {
  'nothing': async () => {
    block(2 * TTL);
    await null;
  },
  'a timer': async () => {
    const timer = new Promise((resolve) => setTimeout(resolve, 1));
    block(2 * TTL);
    await timer;
  },
  'setImmediate': async () => {
    const immediate = new Promise((resolve) => setImmediate(resolve));
    block(2 * TTL);
    await immediate;
  },
  'a file': async () => {
    const file = stat('.');
    block(2 * TTL);
    await file;
  },
  // Files and sockets go on before timers do if the block was in a timer.
  'a file, from a timer': () => new Promise((resolve) => setTimeout(() => {
    resolve(stat('.'));
    block(2 * TTL);
  }, 1)),
  'setImmediate, from a file': async () => {
    await stat('.');
    const immediate = new Promise((resolve) => setImmediate(resolve));
    block(2 * TTL);
    await immediate;
  },
};

for (const [what, blockAndAwait] of Object.entries(awaits)) {
  const lease = await client.acquire(`blocked by ${what}`, { ttl: TTL });
  let told = false;
  const { lost } = lease;
  lost.addEventListener('abort', () => { told = true; });
  await blockAndAwait();
  // `told` first: the others look at the clock themselves.
  console.log(JSON.stringify({ what, told, held: lease.held, aborted: lost.aborted, cause: lease.lossCause }));
}

// Without any await: whoever looks is told.
const lease = await client.acquire('looked at', { ttl: TTL });
const { lost } = lease;
block(2 * TTL);
console.log(JSON.stringify({ what: 'a look', told: lost.aborted, held: lease.held, aborted: lost.aborted, cause: lease.lossCause }));
