// SPDX-License-Identifier: Apache-2.0
//
// What a program sees of the client, with a real daemon.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { inspect } from 'node:util';
import { Client, LeaseLostError, LockkeeperError, NotAcquiredError } from '../dist/index.mjs';
import { startDaemon, until } from './support/daemon.mjs';

let daemon;
let client;

before(async () => {
  daemon = await startDaemon();
  client = new Client({ servers: [daemon.address], owner: 'tests' });
});

after(async () => {
  await client.close();
  await daemon.stop();
});

test('a free lock is granted, a held one is null and says who has it', async () => {
  const lease = await client.acquire('held', { ttl: 10_000 });
  assert.ok(lease.held);
  assert.ok(lease.remaining() > 5_000 && lease.remaining() < 10_000);
  assert.equal(lease.fencingTokenBigInt, BigInt(lease.fencingToken));
  let contention;
  assert.equal(await client.acquire('held', { onContention: (why) => { contention = why; } }), null);
  assert.equal(contention.reason, 'HELD');
  assert.equal(contention.holderOwner, 'tests');
  assert.deepEqual(await lease.release(), { released: true, reason: '' });
  assert.ok(!lease.held);
  assert.equal(lease.remaining(), 0);
  assert.equal(lease.lost.aborted, false);
  assert.deepEqual(await lease.release(), { released: true, reason: '' });
});

test('tokens rise, and an old one is stale', async () => {
  const tokens = [];
  for (let i = 0; i < 2; ++i) {
    const lease = await client.acquire('tokens');
    tokens.push(lease.fencingToken);
    await lease.release();
  }
  assert.ok(tokens[1] > tokens[0]);
  assert.deepEqual(await client.fence('tokens', tokens[0]), { admitted: false, verdict: 'STALE', newestFencingToken: tokens[1] });
  assert.ok((await client.fence('tokens', BigInt(tokens[1]))).admitted);
  assert.equal((await client.fence('tokens', tokens[1], { requireLive: true })).verdict, 'EXPIRED');
});

test('using runs once, gives the result, and releases', async () => {
  const result = await client.using('used', { ttl: 5_000 }, async (lease, signal) => {
    assert.ok(lease.held && !signal.aborted);
    await assert.rejects(client.using('used', {}, () => assert.fail('it ran without the lock')), NotAcquiredError);
    return 42;
  });
  assert.equal(result, 42);
  assert.ok(await client.acquire('used').then((lease) => lease?.release()));
});

test('using keeps the error of its function', async () => {
  const own = new Error('mine');
  await assert.rejects(client.using('failing', {}, () => { throw own; }), (error) => error === own);
  await (await client.acquire('failing')).release();
});

test('using rejects when the lease was lost before its function ended', async () => {
  const work = client.using('forced', { ttl: 1_000 }, async (lease, signal) => {
    await client.release('forced', lease.leaseId);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  await assert.rejects(work, (error) => error instanceof LeaseLostError && error.lossCause === 'LEASE_LOST');
});

test('a waiter gets the lock when it is released', async () => {
  const first = await client.acquire('line');
  const second = client.acquire('line', { wait: 20_000, ttl: 5_000 });
  await new Promise((resolve) => setTimeout(resolve, 200));
  await first.release();
  const lease = await second;
  assert.ok(lease.held && lease.waited >= 100);
  await lease.release();
});

test('an aborted signal ends the wait, and nothing stays in line', async () => {
  const first = await client.acquire('aborted', { ttl: 10_000 });
  const abort = new AbortController();
  const second = client.acquire('aborted', { wait: 60_000, signal: abort.signal });
  setTimeout(() => abort.abort(), 100);
  await assert.rejects(second, { code: 'CANCELLED' });
  await first.release();
  await until(async () => (await client.acquire('aborted', { ttl: 500 }))?.release(), 'the lock is free');
  await assert.rejects(client.acquire('aborted', { signal: AbortSignal.abort() }), { code: 'CANCELLED' });
});

test('extend moves the end; a detached lease is adopted', async () => {
  const lease = await client.acquire('moved', { ttl: 1_000 });
  assert.ok(await lease.extend({ ttl: 20_000 }) > 15_000);
  const detached = lease.detach();
  assert.ok(!lease.held);
  assert.deepEqual(await lease.release(), { released: false, reason: 'NOT_HOLDER' });
  const adopted = await client.adopt(detached.name, detached.leaseId, { fencingToken: detached.fencingToken, reassertion: detached.reassertion });
  assert.equal(adopted.fencingToken, detached.fencingToken);
  assert.deepEqual(await adopted.release(), { released: true, reason: '' });
  await assert.rejects(client.adopt('moved', detached.leaseId), { code: 'FAILED_PRECONDITION', reason: 'LEASE_LOST' });
});

test('a lease outlives its ttl many times, with sessions and without', async () => {
  const unary = new Client({ address: daemon.address, useSessions: false });
  for (const [name, each] of [['by session', client], ['unary', unary]]) {
    const lease = await each.acquire(name, { ttl: 2_000 });
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    assert.ok(lease.held, `${name}: ${lease.lossCause}`);
    assert.ok((await client.fence(name, lease.fencingToken, { requireLive: true })).admitted);
    await lease.release();
  }
  await unary.close();
});

test('max_hold ends a lease in time', async () => {
  const lease = await client.acquire('capped', { ttl: 300, maxHold: 900 });
  await new Promise((resolve) => lease.lost.addEventListener('abort', resolve));
  assert.equal(lease.lost.reason.lossCause, 'MAX_HOLD');
  assert.ok(lease.remaining() >= 0);
});

test('close releases, ends waits, and refuses what comes after', async () => {
  const other = new Client({ address: daemon.address });
  const lease = await other.acquire('closed', { ttl: 30_000 });
  const waits = other.acquire('closed', { wait: 60_000 });
  const waitEnds = assert.rejects(waits, { code: 'CANCELLED' });
  await other.close();
  await waitEnds;
  assert.ok(!lease.held);
  await (await client.acquire('closed')).release();
  await assert.rejects(other.acquire('closed'), { code: 'CANCELLED' });
});

test('asyncDispose releases', async () => {
  const lease = await client.acquire('disposed');
  await lease[Symbol.asyncDispose]();
  await (await client.acquire('disposed')).release();
});

test('a release that fails hides no error of the work, and is none', async () => {
  const own = await startDaemon();
  const other = new Client({ servers: [own.address], releaseTimeout: 100 });
  const ours = new Error('ours');
  const disposed = await other.acquire('disposed');
  await assert.rejects(other.using('used', {}, async () => {
    await own.stop();
    throw ours;
  }), (error) => error === ours);
  await disposed[Symbol.asyncDispose]();
  await assert.rejects(disposed.release(), LockkeeperError);
  await other.close();
});

test('bad options are named', async () => {
  const bad = [
    [{ ttl: 'long' }, 'ttl'], [{ ttl: NaN }, 'ttl'], [{ ttl: 5 }, 'ttl'], [{ wait: -1 }, 'wait'], [{ tll: 1_000 }, 'tll'], [{ ttl: 1_000, stopMargin: 900 }, 'stopMargin'],
    [{ owner: '\ud800' }, 'owner'], [{ minAssurance: 'ALL' }, 'minAssurance'], [{ leaseId: 'odd' }, 'lease_id'], [{ labels: { a: 1 } }, 'labels'],
  ];
  for (const [options, field] of bad) {
    await assert.rejects(client.acquire('bad', options), (error) => {
      assert.ok(error instanceof LockkeeperError);
      assert.deepEqual([error.code, error.reason, error.field], ['INVALID_ARGUMENT', 'INVALID_FIELD', field], inspect(error));
      return true;
    });
  }
  await assert.rejects(client.acquire('half \ud800'), { field: 'name' });
  await assert.rejects(client.acquire(7), { field: 'name' });
  await assert.rejects(client.fence('x', 1.5), { field: 'fencingToken' });
  assert.throws(() => new Client({ servers: ['nowhere'] }), { field: 'servers' });
  assert.throws(() => new Client({ servers: [] }), { field: 'servers' });
  assert.throws(() => new Client({ callTimeout: 0 }), { field: 'callTimeout' });
  assert.throws(() => new Client({ adress: 'x:1' }), { field: 'adress' });
  assert.throws(() => new Client({ address: '10.0.0.1:7600', tokenFile: '/dev/null' }), { field: 'tokenFile' });
});

test('a unary call has the same errors', async () => {
  const unary = new Client({ address: daemon.address, useSessions: false });
  await assert.rejects(unary.acquire('bad', { ttl: 5 }), { code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD', field: 'ttl' });
  const lease = await unary.acquire('unary');
  await client.release('unary', lease.leaseId);
  await assert.rejects(lease.extend(), (error) => error instanceof LeaseLostError && error.lossCause === 'LEASE_LOST');
  assert.ok(lease.lost.aborted);
  await unary.close();
});

test('a lease does not show its lease id when it is logged', async () => {
  const lease = await client.acquire('logged');
  assert.ok(!inspect(lease, { depth: 9, showHidden: true }).includes(lease.leaseId));
  assert.ok(!JSON.stringify(lease).includes(lease.leaseId));
  await lease.release();
});

test('nobody there is an error that says where', async () => {
  const lost = new Client({ address: '127.0.0.1:1', callTimeout: 2_000 });
  await assert.rejects(lost.acquire('x'), (error) => error.code === 'UNAVAILABLE' && error.message.includes('127.0.0.1:1'));
  await lost.close();
});

test('import and require give the same classes', () => {
  const required = createRequire(import.meta.url)('../dist/index.js');
  assert.equal(required.Client, Client);
  assert.equal(required.LeaseLostError, LeaseLostError);
});
