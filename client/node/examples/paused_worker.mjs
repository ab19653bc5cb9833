#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// paused_worker.mjs: a worker reads a total, is paused until its lease is over, wakes up and writes. PostgreSQL has to refuse that write.
// It needs client/fenced/lockkeeper_fence.sql in the database that PGHOST, PGUSER and PGDATABASE name.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { Client } from '@lockkeeper/client';

const address = process.env.LOCKKEEPER_SERVER;  // default: 127.0.0.1:7600
const lock = 'report';

// Adds to the total in a transaction that begins with the fencing token, or without one.
async function access(database, token, ...command) {
  await database.query('begin');
  try {
    if (token) await database.query('select lockkeeper.lockkeeper_fence($1, $2)', [lock, token]);
    const { rows } = await database.query(...command);
    await database.query('commit');
    return rows[0]?.total;
  } catch (error) {
    await database.query('rollback');
    throw error;
  }
}

// One worker, a process of its own.
async function work(name, amount, isPaused, isFenced) {
  const database = new pg.Client();
  await database.connect();
  const client = new Client({ address, owner: name });
  const lease = await client.acquire(lock, { ttl: 1_000, wait: 30_000 });
  const token = isFenced ? lease.fencingToken : null;
  const total = await access(database, token, 'select total from story_report');
  console.log(`${name}: has read ${total}`);
  if (isPaused) {
    process.send('paused');
    process.kill(process.pid, 'SIGSTOP');  // as a paused machine does, or a long garbage collection
  }
  try {
    await access(database, token, 'update story_report set total = $1', [total + amount]);
    console.log(`${name}: has written ${total + amount}`);
  } catch (error) {
    if (error.code !== 'LK001') throw error;
    console.log(`${name}: is too late, and PostgreSQL refuses its write: ${error.message}`);
  }
  await client.close();
  await database.end();
}

async function story(isFenced) {
  const database = new pg.Client();
  await database.connect();
  await database.query('create table if not exists story_report (total int); delete from story_report; insert into story_report values (100)');
  const start = (name, amount, isPaused) => fork(process.argv[1], [name, amount, isPaused ? 'paused' : '', isFenced ? 'fenced' : '']);
  const first = start('worker 1', 5, true);
  await once(first, 'message');
  await once(start('worker 2', 7, false), 'exit');  // It gets the lock when the lease of the first one is over.
  first.kill('SIGCONT');
  await once(first, 'exit');
  const { rows: [{ total }] } = await database.query('select total from story_report');
  console.log(total === 107 ? 'The total is 107: nothing is lost.' : `The total is ${total}: the 7 of worker 2 are lost.`);
  await database.query('drop table story_report');
  await database.end();
}

if (process.argv.length > 2) {
  const [name, amount, isPaused, isFenced] = process.argv.slice(2);
  await work(name, Number(amount), Boolean(isPaused), Boolean(isFenced));
  process.disconnect();
} else {
  console.log('With a lock alone:');
  await story(false);
  console.log('\nWith a lock, and its fencing token at the database:');
  await story(true);
}
