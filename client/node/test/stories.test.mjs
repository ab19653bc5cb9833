// SPDX-License-Identifier: Apache-2.0
//
// The stories of examples/ run, and end as they say; and its gateway.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '../dist/index.mjs';
import { startDaemon } from './support/daemon.mjs';
import { startPostgresql } from './support/postgresql.mjs';

let daemon;

before(async () => { daemon = await startDaemon(); });
after(async () => { await daemon.stop(); });

/** What a story prints, in its two parts: without the lock or the token, and with it. */
async function tell(name, environment = {}) {
  const program = new URL(`../examples/${name}.mjs`, import.meta.url).pathname;
  const env = { ...process.env, LOCKKEEPER_SERVER: daemon.address, ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env, timeout: 60_000 });
  return stdout.split('\n\n');
}

const count = (text, words) => text.split(words).length - 1;

test('three workers send more than one mail without a lock, and one with it', async () => {
  const [without, with_] = await tell('digest_mail');
  assert.match(without, /Ada has [23] mails/);
  assert.match(with_, /Ada has 1 mail\./);
  assert.equal(count(with_, 'has the lock, with fencing token'), 3);
  assert.equal(count(with_, 'was sent before'), 2);
});

test('four clicks charge more than once without a lock, and once with it', async () => {
  const [without, with_] = await tell('double_click');
  assert.match(without, /charged [234] times/);
  assert.match(with_, /charged 1 time\./);
  assert.equal(count(with_, 'refused: '), 3);
});

test('table 12 is booked twice without a lock, and once with it', async () => {
  const [without, with_] = await tell('table_12');
  assert.match(without, /booked by Ada and Bob\./);
  assert.match(with_, /booked by (Ada|Bob)\./);
  assert.equal(count(with_, 'table 12 is taken'), 1);
});

test('a worker that was paused overwrites the work of another, and is refused by PostgreSQL with its token', async () => {
  const postgresql = await startPostgresql();
  try {
    const { environment } = postgresql;
    execFileSync('psql', ['--quiet', '--single-transaction', '--file', process.env.LOCKKEEPER_FENCE_SQL],
      { env: { ...process.env, ...environment }, stdio: ['ignore', 'ignore', 'inherit'] });
    const [without, with_] = await tell('paused_worker', environment);
    assert.match(without, /the 7 of worker 2 are lost/);
    assert.match(with_, /PostgreSQL refuses its write: stale fencing token/);
    assert.match(with_, /The total is 107: nothing is lost/);
  } finally {
    await postgresql.stop();
  }
});

test('a standby takes over from a leader that resigns, and from one that crashes', async () => {
  const [said] = await tell('standby');
  assert.match(said, /Each time the standby took over, in a later term/);
  assert.equal(count(said, ': leads, in term'), 3);
  assert.equal(count(said, ': leads no more'), 2);
});

test('a job runs three times under a lock that is free again, and once under one that stays closed', async () => {
  const [without, with_] = await tell('nightly_job');
  assert.match(without, /ran 3 times/);
  assert.match(with_, /ran 1 time\./);
  assert.equal(count(with_, 'leaves it to another one'), 2);
});

test('a partner refuses calls without a lock, and none with it', async () => {
  const [without, with_] = await tell('partner_api');
  assert.doesNotMatch(without, /refused 0/);
  assert.match(with_, /served 6 calls and refused 0\./);
});

test('a gateway leads requests to the leader', async () => {
  const program = new URL('../examples/gateway.mjs', import.meta.url).pathname;
  const gateway = spawn(process.execPath, [program], { env: { ...process.env, LOCKKEEPER_SERVER: daemon.address }, stdio: ['ignore', 'pipe', 'inherit'] });
  const client = new Client({ address: daemon.address });
  try {
    const lines = createInterface({ input: gateway.stdout })[Symbol.asyncIterator]();
    const said = async () => (await lines.next()).value;
    // The server may listen before or after the leader is known.
    const begun = [await said(), await said()].sort();
    assert.equal(begun[1], 'nobody leads');
    const [, port] = /^listening on port (\d+)$/.exec(begun[0]);
    const ask = async () => {
      const { status, headers } = await fetch(`http://127.0.0.1:${port}/invoices`, { redirect: 'manual' });
      return [status, headers.get('location')];
    };
    assert.deepEqual(await ask(), [503, null]);
    client.lead('billing', { owner: '10.0.0.7:8080', onElected() {} });
    assert.match(await said(), /^10\.0\.0\.7:8080 leads, with fencing token \d{16}$/);
    assert.deepEqual(await ask(), [307, 'http://10.0.0.7:8080/invoices']);
    await client.close();
    assert.equal(await said(), 'nobody leads');
    assert.deepEqual(await ask(), [503, null]);
  } finally {
    await client.close();
    gateway.kill('SIGKILL');
  }
});
