// SPDX-License-Identifier: Apache-2.0
//
// A holder that blocks its event loop, as client/fenced/tests/late_holder.py wants it.
import { once } from 'node:events';
import pg from 'pg';
import { Client } from '../../dist/index.mjs';

const TTL = 1_000;
const database = new pg.Client();
await database.connect();
const client = new Client({ address: process.env.LOCKKEEPER_SERVER });
const lease = await client.acquire('seat', { ttl: TTL });
const token = lease.fencingToken;
let told = false;
lease.lost.addEventListener('abort', () => { told = true; });
await database.query('update seat set fencing_token = $1 where id = 12 and fencing_token <= $1', [token]);
console.log('holds');

Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * TTL);
await null;
console.log(told ? 'lost' : 'held');

await once(process.stdin, 'data');
const { rowCount } = await database.query("update seat set guest = 'first', fencing_token = $1 where id = 12 and fencing_token <= $1", [token]);
console.log(rowCount === 0 ? 'refused' : 'written');
await client.close();
await database.end();
process.stdin.unref();
