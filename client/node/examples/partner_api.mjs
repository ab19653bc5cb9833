#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// partner_api.mjs: a partner answers one call in 100 ms, and refuses the others. Three replicas have two calls each to make.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@lockkeeper/client';

const address = process.env.LOCKKEEPER_SERVER;  // default: 127.0.0.1:7600
const replicas = ['replica 1', 'replica 2', 'replica 3'];
let lastCall = -Infinity;

async function callPartner() {
  const now = performance.now();
  const status = now - lastCall < 100 ? 429 : 200;
  lastCall = now;
  await sleep(20);
  return status;
}

async function everyReplicaCallsTwice(call) {
  const answers = { 200: 0, 429: 0 };
  lastCall = -Infinity;
  await Promise.all(replicas.map(async (replica) => {
    const client = new Client({ address, owner: replica });
    for (let i = 0; i < 2; ++i) {
      const status = await call(client);
      ++answers[status];
      console.log(`${replica}: ${status === 200 ? '200 OK' : '429 Too Many Requests'}`);
    }
    await client.close();
  }));
  console.log(`The partner served ${answers[200]} calls and refused ${answers[429]}.`);
}

// Who has the lock may call. It stays closed for 300 ms after each grant, so that the replicas together keep the pace. It is wider than
// the partner asks for, since a call may reach the partner late.
function callInTurn(client) {
  return client.using('partner api', { ttl: 10_000, wait: 30_000, holdAtLeast: 300 }, callPartner);
}

console.log('Without a lock:');
await everyReplicaCallsTwice(callPartner);
console.log('\nWith a lock:');
await everyReplicaCallsTwice(callInTurn);
