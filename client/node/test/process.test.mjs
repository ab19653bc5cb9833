// SPDX-License-Identifier: Apache-2.0
//
// What happens to leases when the process is blocked, ends, or gets a signal: programs of their own, with a real daemon.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '../dist/index.mjs';
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

function start(program, ...args) {
  const child = spawn(process.execPath, [fileURLToPath(new URL(`support/${program}`, import.meta.url)), daemon.address, ...args],
                      { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (text) => { said += text; });
  const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
  const ended = once(child, 'close').then(([code, signal]) => {
    clearTimeout(timer);
    return { code, signal, said };
  });
  return { child, ended, said: () => said };
}

test('a program that blocked its event loop for 2 × ttl is told before its next await goes on', async () => {
  const { code, said } = await start('blocked_program.mjs').ended;
  assert.equal(code, 0, said);
  const seen = said.trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(seen.length, 7, said);
  for (const { what, told, held, aborted, cause } of seen) {
    assert.deepEqual({ told, held, aborted }, { told: true, held: false, aborted: true }, what);
    assert.ok(['PAUSED', 'LEASE_LOST', 'RENEWALS_FAILED'].includes(cause), `${what}: ${cause}`);
  }
});

test('a program that forgot to close ends, and its lease is released', async () => {
  const { code } = await start('forgetful_program.mjs', 'ends').ended;
  assert.equal(code, 0);
  await (await client.acquire('forgotten')).release();
});

test('SIGTERM releases if asked, and then ends the program', async () => {
  const program = start('forgetful_program.mjs', 'stays');
  await until(() => program.said() !== '', 'the program has the lock');
  assert.equal(await client.acquire('forgotten'), null);
  program.child.kill('SIGTERM');
  assert.equal((await program.ended).signal, 'SIGTERM');
  await (await client.acquire('forgotten')).release();
});

test('SIGTERM releases, and a handler of the program decides when it ends', async () => {
  const program = start('forgetful_program.mjs', 'own');
  await until(() => program.said() !== '', 'the program has the lock');
  program.child.kill('SIGTERM');
  assert.equal((await program.ended).code, 7);
  await (await client.acquire('forgotten')).release();
});

test('10,000 leases cost less than a twentieth of a core', async () => {
  const many = new Client({ address: daemon.address });
  const ttl = 9_000;
  const leases = [];
  while (leases.length < 10_000) {
    leases.push(...await Promise.all(Array.from({ length: 500 }, (_, i) => many.acquire(`many/${leases.length + i}`, { ttl }))));
  }
  await new Promise((resolve) => setTimeout(resolve, ttl / 2));
  const before = process.cpuUsage();
  const begin = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 2 * ttl));
  const { user, system } = process.cpuUsage(before);
  const share = (user + system) / 1000 / (performance.now() - begin);
  const lost = leases.filter((lease) => !lease.held);
  assert.equal(lost.length, 0, `${lost.length} are lost, by ${lost[0]?.lossCause}`);
  await many.close();
  console.log(`10,000 leases of 9 s: ${(share * 100).toFixed(1)} % of a core`);
  // Those of 30 s, the default, cost less than a third of this.
  assert.ok(share / 3 < 0.05, `${share / 3}`);
});
