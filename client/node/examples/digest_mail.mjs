#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// digest_mail.mjs: a queue delivers a job at least once, here to three workers. One digest mail has to go out.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@lockkeeper/client';

const address = process.env.LOCKKEEPER_SERVER;  // default: 127.0.0.1:7600
const workers = ['worker 1', 'worker 2', 'worker 3'];
let sent = [];  // what a database would remember

async function sendDigest(worker) {
  await sleep(10);  // looks into the database
  if (sent.includes('ada')) {
    console.log(`${worker}: the digest for ada was sent before`);
    return;
  }
  await sleep(200);  // writes and sends the mail
  sent.push('ada');
  console.log(`${worker}: sends the digest to ada`);
}

console.log('Without a lock:');
await Promise.all(workers.map(sendDigest));
console.log(`Ada has ${sent.length} mails.\n`);

console.log('With a lock:');
sent = [];
await Promise.all(workers.map(async (worker) => {
  await using(worker, (lease) => {
    console.log(`${worker}: has the lock, with fencing token ${lease.fencingToken}`);
    return sendDigest(worker);
  });
}));
console.log(`Ada has ${sent.length} mail.`);

// Each worker would be a process, with a client of its own.
async function using(worker, work) {
  const client = new Client({ address, owner: worker });
  try {
    await client.using('digest/ada', { ttl: 10_000, wait: 30_000 }, work);
  } finally {
    await client.close();
  }
}
