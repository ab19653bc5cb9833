#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// nightly_job.mjs: a job is due at midnight on three replicas, whose clocks differ. It takes 50 ms, and has to run once.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@lockkeeper/client';

const address = process.env.LOCKKEEPER_SERVER;  // default: 127.0.0.1:7600

async function midnight(job, options) {
  // One lock for each job and date. The number of this process lets you run the story twice in a row.
  const name = `${job}/2026-11-24/${process.pid}`;
  let runs = 0;
  for (const replica of ['replica 1', 'replica 2', 'replica 3']) {
    await sleep(200);  // Its clock strikes later than the one before.
    const client = new Client({ address, owner: replica });
    const lease = await client.acquire(name, { ttl: 10_000, ...options });
    if (lease) {
      await sleep(50);  // the job
      ++runs;
      console.log(`${replica}: has run the job`);
      await lease.release();
    } else {
      console.log(`${replica}: leaves it to another one`);
    }
    await client.close();
  }
  return runs;
}

console.log('With a lock alone, which is free again when the next clock strikes:');
console.log(`The job ran ${await midnight('report', {})} times.\n`);
console.log('With a lock that stays closed for a minute after its grant:');
console.log(`The job ran ${await midnight('closing report', { holdAtLeast: 60_000 })} time.`);
