#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// standby.mjs: one of two processes leads, the other one stands by. The leader resigns, and later the new one crashes: each time the other
// one takes over.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@lockkeeper/client';

const address = process.env.LOCKKEEPER_SERVER;  // default: 127.0.0.1:7600

// One candidate, a process of its own.
function candidate(name) {
  const client = new Client({ address, owner: name });
  const leadership = client.lead('scheduler', {
    ttl: 3_000,
    onElected(lease, signal) {
      console.log(`${name}: leads, in term ${lease.fencingToken}`);
      signal.addEventListener('abort', () => console.log(`${name}: leads no more`));
      process.send(lease.fencingToken);  // The work begins. Its orders carry the term, so that a late leader is refused.
    },
    onError: (why) => console.log(`${name}: campaigns on after ${why.message}`),
  });
  process.on('message', () => leadership.resign());
  process.once('disconnect', () => client.close());
}

async function story() {
  const client = new Client({ address });
  const candidates = ['candidate 1', 'candidate 2'].map((name) => fork(process.argv[1], [name]));
  const election = () => Promise.race(candidates.map((who) => once(who, 'message').then(([term]) => ({ who, term }))));
  const standsInLine = () => new Promise((resolve) => {
    client.acquire('scheduler', { onContention: ({ waiters }) => resolve(waiters > 0) });
  });

  const first = await election();
  while (!await standsInLine()) await sleep(20);
  console.log('The leader resigns.');
  let next = election();
  first.who.send('resign');
  const second = await next;
  while (!await standsInLine()) await sleep(20);
  console.log('The leader crashes.');
  next = election();
  second.who.kill('SIGKILL');
  const third = await next;
  const inOrder = first.term < second.term && second.term < third.term && first.who === third.who && first.who !== second.who;
  console.log(inOrder ? 'Each time the standby took over, in a later term.' : 'That was not expected.');
  third.who.disconnect();
  await once(third.who, 'exit');
  await client.close();
}

if (process.argv.length > 2) candidate(process.argv[2]);
else await story();
