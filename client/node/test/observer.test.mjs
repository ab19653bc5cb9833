// SPDX-License-Identifier: Apache-2.0
//
// Observers, with a daemon that says what the test tells it, and with a real one. What they make of each event is in leader_view.test.mjs and
// in the conformance suite.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import { Client } from '../dist/index.mjs';
import observer from '../dist/observer.js';
import { ownFolder, startDaemon } from './support/daemon.mjs';
import { Arrivals, startFakeAdmin } from './support/fake_admin.mjs';

const { PERMISSION_DENIED, UNAVAILABLE } = grpc.status;
let first;
let second;
let client;

beforeEach(async () => {
  [first, second] = [await startFakeAdmin(), await startFakeAdmin()];
  client = new Client({ servers: [first.address, second.address], useSessions: false });
});

afterEach(async () => {
  await client.close();
  first.stop();
  second.stop();
});

// An observer, and what it is told.
function observe({ of = client, onChange, ...options } = {}) {
  const leaders = new Arrivals();
  const errors = new Arrivals();
  const observing = of.observe('job', {
    onChange(leader) {
      leaders.add(leader && leader.fencingToken);
      return onChange?.(leader);
    },
    onError: (why) => errors.add(why),
    ...options,
  });
  return { observing, leaders, errors, isQuiet: () => leaders.count === 0 && errors.count === 0 };
}

test('the leader is told in order, and kept', async () => {
  const { observing, leaders, errors } = observe();
  assert.equal(observing.leader, null);
  const watch = await first.watch();
  assert.equal(watch.name, 'job');
  watch.start();
  (await first.look()).held(5, 'me');
  assert.equal(await leaders.next(), 5);
  assert.deepEqual(observing.leader, { fencingToken: 5, owner: 'me', principal: '' });
  watch.tell(['RELEASED', 5], ['GRANTED', 6], ['RELEASED', 6], ['GRANTED', 7, 'you']);
  for (const token of [null, 6, null, 7]) assert.equal(await leaders.next(), token);
  assert.equal(observing.leader.owner, 'you');
  assert.equal(errors.count, 0);
});

test('a stream that ends, well or not, goes on at the next address, and the leader stays', async () => {
  const { observing, leaders, errors } = observe();
  let watch = await first.watch();
  watch.start();
  (await first.look()).held(5);
  assert.equal(await leaders.next(), 5);
  watch.end();
  assert.equal((await errors.next()).code, 'UNAVAILABLE');
  watch = await second.watch();
  assert.equal(observing.leader.fencingToken, 5);
  watch.start();
  (await second.look()).held(6);
  assert.equal(await leaders.next(), 6);
  watch.end(PERMISSION_DENIED);
  assert.equal((await errors.next()).code, 'PERMISSION_DENIED');
  (await first.watch()).start();
  (await first.look()).nobody();
  assert.equal(await leaders.next(), null);
});

test('a look that fails is an error of the connection', async () => {
  const { leaders, errors } = observe();
  const watch = await first.watch();
  watch.start();
  (await first.look()).fail(UNAVAILABLE);
  assert.equal((await errors.next()).code, 'UNAVAILABLE');
  await watch.gone;
  (await second.watch()).start();
  (await second.look()).held(5);
  assert.equal(await leaders.next(), 5);
});

test('an address where nobody listens is passed over', async () => {
  first.stop();
  const { leaders, errors } = observe();
  assert.equal((await errors.next()).code, 'UNAVAILABLE');
  (await second.watch()).start();
  (await second.look()).held(5);
  assert.equal(await leaders.next(), 5);
});

// An observer with its own times, beside the client's daemons.
async function impatient(times, during) {
  const { Daemons } = await import('../dist/transport/daemons.js').then((module) => module.default);
  const { Security } = await import('../dist/transport/security.js').then((module) => module.default);
  const servers = [first.address, second.address];
  const clock = { now: () => performance.now() };
  const daemons = new Daemons(servers, { owner: '', useSessions: false, security: new Security({}, undefined, servers), clock, events: {} }, undefined);
  const errors = new Arrivals();
  const observing = new observer.Observer('job', { daemons, onClosed() {}, ...times }, { onError: (why) => errors.add(why) });
  await during(errors);
  await observing.close();
  await Promise.all(daemons.all.map((daemon) => daemon.close(0)));
}

test('a look that is not answered in time is an error of the connection', () => impatient({ lookTimeout: 200 }, async (errors) => {
  (await first.watch()).start();
  const look = await first.look();
  assert.equal((await errors.next()).code, 'DEADLINE_EXCEEDED');
  await look.gone;
  await second.watch();
}));

test('a watch that does not start is looked behind', () => impatient({ startTimeout: 200 }, async (errors) => {
  const watch = await first.watch();
  (await first.look()).held(5);
  watch.start();
  (await first.look()).fail(UNAVAILABLE);
  assert.equal((await errors.next()).code, 'UNAVAILABLE');
  await watch.gone;
  await second.watch();
}));

test('errors do not move the calls of the client', async () => {
  const { errors } = observe();
  (await first.watch()).end(PERMISSION_DENIED);
  await errors.next();
  await second.watch();
  const { observing } = observe();
  await first.watch();  // A new observer begins at the address in use.
  await observing.close();
});

test('what onChange throws, or rejects with, is told, and the observer goes on', async () => {
  const own = [new Error('thrown'), new Error('rejected')];
  let calls = 0;
  const { leaders, errors } = observe({
    onChange() {
      if (calls++ === 0) throw own[0];
      return calls === 2 ? Promise.reject(own[1]) : null;
    },
  });
  const watch = await first.watch();
  watch.start();
  (await first.look()).held(5);
  assert.equal(await errors.next(), own[0]);
  watch.tell(['RELEASED', 5]);
  assert.equal(await errors.next(), own[1]);
  watch.tell(['GRANTED', 6]);
  for (const token of [5, null, 6]) assert.equal(await leaders.next(), token);
});

test('errors are warnings of the process if nobody hears them, or if onError fails', async () => {
  const warnings = new Arrivals();
  const onWarning = (warning) => warnings.add(warning.message);
  process.on('warning', onWarning);
  client.observe('job', {});
  (await first.watch()).end();
  assert.match(await warnings.next(), /has ended the watch/);
  await second.watch();
  client.observe('job', { onError: () => { throw new Error('onError failed'); } });
  (await first.watch()).end();
  assert.match(await warnings.next(), /onError failed/);
  assert.match(await warnings.next(), /has ended the watch/);
  process.off('warning', onWarning);
});

test('a slow onChange is never called twice at a time, holds the stream up, and gets all in order', async () => {
  let running = 0;
  let goOn;
  const gate = new Promise((resolve) => { goOn = resolve; });
  const { leaders, observing } = observe({
    async onChange() {
      assert.equal(++running, 1);
      await gate;
      --running;
    },
  });
  const watch = await first.watch();
  watch.start();
  (await first.look()).nobody();
  assert.equal(await leaders.next(), null);
  // Owner texts that soon fill what is kept on the way.
  const owner = 'x'.repeat(10_000);
  for (let token = 1; token <= 300; ++token) {
    watch.tell(['GRANTED', token, owner]);
    if (token % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(observing.leader === null || observing.leader.fencingToken < 100, 'it reads on while nothing can be told');
  goOn();
  for (let token = 1; token <= 300; ++token) assert.equal(await leaders.next(), token);
});

test('close ends the stream, and nothing more is told', async () => {
  const { observing, leaders, isQuiet } = observe();
  const watch = await first.watch();
  watch.start();
  (await first.look()).held(5);
  assert.equal(await leaders.next(), 5);
  await observing.close();
  await observing.close();
  await watch.gone;
  assert.equal(observing.leader.fencingToken, 5);
  assert.ok(isQuiet());
});

test('close before the observer has begun, and before its watch has started', async () => {
  const none = observe();
  await none.observing.close();
  const { observing, isQuiet } = observe();
  const watch = await first.watch();
  await observing.close();
  await watch.gone;
  assert.equal(first.watches.count, 0);
  assert.ok(isQuiet() && none.isQuiet());
});

test('close during a look', async () => {
  const { observing, isQuiet } = observe();
  (await first.watch()).start();
  const look = await first.look();
  await observing.close();
  await look.gone;
  assert.ok(isQuiet());
});

test('close during a delay', async () => {
  const { observing, errors } = observe();
  (await first.watch()).end();
  await errors.next();
  await observing.close();
  const other = observe();
  await first.watch();  // That of the other one.
  assert.equal(second.watches.count, 0);
  await other.observing.close();
});

test('close by onChange and by onError', async () => {
  for (const name of ['onChange', 'onError']) {
    const called = new Arrivals();
    const observing = client.observe('job', {
      [name]: async () => {
        await observing.close();
        called.add(name);
      },
    });
    const watch = await first.watch();
    watch.start();
    const look = await first.look();
    if (name === 'onChange') look.nobody();
    else look.fail(UNAVAILABLE);
    await called.next();
    await watch.gone;
  }
});

test('closing the client ends observers', async () => {
  const { isQuiet } = observe();
  const watch = await first.watch();
  watch.start();
  await first.look();
  await client.close();
  await watch.gone;
  assert.ok(isQuiet());
  assert.throws(() => client.observe('job'), { code: 'CANCELLED' });
});

test('arguments are checked at once', () => {
  assert.throws(() => client.observe(7), { field: 'name' });
  assert.throws(() => client.observe('job', { onChange: 7 }), { field: 'onChange' });
  assert.throws(() => client.observe('job', { onElected() {} }), { field: 'onElected' });
});

test('watch and look carry the token', async () => {
  const { folder, remove } = ownFolder();
  writeFileSync(path.join(folder, 'token'), 'secret\n');
  const other = new Client({ servers: [first.address], tokenFile: path.join(folder, 'token') });
  observe({ of: other });
  const watch = await first.watch();
  assert.deepEqual(watch.call.metadata.get('authorization'), ['Bearer secret']);
  await other.close();
  remove();
});

test('with a real daemon changes are told, and a program that observes ends', async () => {
  const daemon = await startDaemon();
  const real = new Client({ address: daemon.address });
  try {
    const { leaders, errors } = observe({ of: real });
    assert.equal(await leaders.next(), null);
    for (let i = 0; i < 3; ++i) {
      const lease = await real.acquire('job', { ttl: 5_000 });
      assert.equal(await leaders.next(), lease.fencingToken);
      await lease.release();
      assert.equal(await leaders.next(), null);
    }
    assert.equal(errors.count, 0);
    const program = fileURLToPath(new URL('support/forgetful_observer.mjs', import.meta.url));
    const ended = spawnSync(process.execPath, [program, daemon.address], { encoding: 'utf8', timeout: 30_000 });
    assert.deepEqual([ended.status, ended.stdout, ended.stderr], [0, 'nobody leads\n', '']);
  } finally {
    await real.close();
    await daemon.stop();
  }
});
