// SPDX-License-Identifier: Apache-2.0
//
// Leader election, with a real daemon.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client, LeaseLostError } from '../dist/index.mjs';
import { startDaemon, until } from './support/daemon.mjs';

let daemon;
let client;

before(async () => {
  daemon = await startDaemon();
  client = new Client({ address: daemon.address });
});

after(async () => {
  await client.close();
  await daemon.stop();
});

// A candidate that keeps what it is told.
function candidate(name, options = {}, of = client) {
  const told = { terms: [], signals: [], losses: [], errors: [], leases: [] };
  const leadership = of.lead(name, {
    ttl: 5_000,
    onLost: (why) => told.losses.push(why),
    onError: (why) => told.errors.push(why),
    ...options,
    onElected: (lease, signal) => {
      told.terms.push(lease.fencingToken);
      told.leases.push(lease);
      told.signals.push(signal);
      return options.onElected?.(lease, signal);
    },
  });
  return { leadership, told };
}

test('one candidate leads; the next takes over at once when it resigns, with a higher term', async () => {
  const first = candidate('service');
  await until(() => first.told.terms.length === 1, 'the first leads');
  assert.ok(first.leadership.isLeader);
  assert.equal(first.leadership.term, first.told.terms[0]);
  const second = candidate('service');
  await until(async () => {
    let waiters = 0;
    await client.acquire('service', { onContention: (why) => { waiters = why.waiters; } });
    return waiters === 1;
  }, 'the second stands in line');
  assert.equal(second.leadership.term, null);
  await first.leadership.resign();
  assert.equal(first.leadership.isLeader, false);
  assert.ok(first.told.signals[0].aborted);
  assert.equal(first.told.signals[0].reason.code, 'CANCELLED');
  await until(() => second.told.terms.length === 1, 'the second leads');
  assert.ok(second.told.terms[0] > first.told.terms[0]);
  // The first campaigns again.
  await second.leadership.close();
  await until(() => first.told.terms.length === 2, 'the first leads again');
  await first.leadership.close();
  assert.deepEqual([...first.told.losses, ...second.told.losses, ...first.told.errors, ...second.told.errors], []);
  await (await client.acquire('service')).release();
});

test('a lost leadership is told before the lease ends, and the candidate campaigns again when its work has ended', async () => {
  let endWork;
  const work = new Promise((resolve) => { endWork = resolve; });
  const { leadership, told } = candidate('lost', { ttl: 1_000, onElected: () => work });
  await until(() => told.terms.length === 1, 'it leads');
  await client.release('lost', told.leases[0].leaseId);
  await until(() => told.losses.length === 1, 'the loss is told');
  assert.ok(told.losses[0] instanceof LeaseLostError);
  assert.equal(told.losses[0].lossCause, 'LEASE_LOST');
  assert.equal(told.signals[0].reason, told.losses[0]);
  assert.equal(leadership.isLeader, false);
  // Two terms of one candidate must not overlap.
  await (await client.acquire('lost', { wait: 10_000 })).release();
  assert.equal(told.terms.length, 1);
  endWork();
  await until(() => told.terms.length === 2, 'it leads again');
  await leadership.close();
  assert.deepEqual(told.errors, []);
});

test('who fails as leader resigns, tells it, and lets others try before it campaigns again after one ttl', async () => {
  const own = new Error('the work failed');
  const failing = candidate('failing', { ttl: 3_000, onElected: async () => { throw own; } });
  await until(() => failing.told.errors.length === 1, 'the error is told');
  const failed = performance.now();
  assert.deepEqual(failing.told.errors, [own]);
  const other = candidate('failing');
  await until(() => other.told.terms.length === 1, 'the other leads');
  await other.leadership.close();
  await until(() => failing.told.errors.length === 2, 'it has tried again');
  assert.ok(performance.now() - failed > 2_500);
  await failing.leadership.close();
  assert.equal(failing.told.terms.length, 2);
  assert.deepEqual(failing.told.losses, []);
});

test('work that its signal stops has not failed', async () => {
  const { leadership, told } = candidate('stopped', {
    onElected: (_lease, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  await until(() => told.terms.length === 1, 'it leads');
  await leadership.resign();
  await until(() => told.terms.length === 2, 'it leads again');
  await leadership.close();
  assert.deepEqual(told.errors, []);
});

test('errors of the campaign are told, and it goes on', async () => {
  const { leadership, told } = candidate('x'.repeat(513));  // beyond the service's limit
  await until(() => told.errors.length >= 2, 'the errors are told');
  assert.ok(told.errors.every((error) => error.field === 'name'));
  await leadership.close();
  const { length } = told.errors;
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(told.errors.length, length);
  assert.throws(() => client.lead('x', {}), { field: 'onElected' });
  assert.throws(() => client.lead('x', { onElected() {}, wait: 1 }), { field: 'wait' });
});

test('a client that closes ends campaigns and terms', async () => {
  const other = new Client({ address: daemon.address });
  const leads = candidate('closing', {}, other);
  await until(() => leads.told.terms.length === 1, 'it leads');
  const waits = candidate('closing', {}, other);
  await other.close();
  assert.ok(leads.told.signals[0].aborted);
  assert.deepEqual([...leads.told.errors, ...waits.told.errors, ...leads.told.losses, ...waits.told.terms], []);
  await (await client.acquire('closing')).release();
  assert.throws(() => other.lead('closing', { onElected() {} }), { code: 'CANCELLED' });
});
