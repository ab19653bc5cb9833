// SPDX-License-Identifier: Apache-2.0
//
// A daemon with a store of its own, for one test file.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** A folder of its own, and how to remove it. */
export function ownFolder() {
  const folder = mkdtempSync(path.join(tmpdir(), 'lockkeeper-node-'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) };
}

/** Starts LOCKKEEPERD. Resolves to its addresses, the first of them, and `stop`. */
export async function startDaemon({ listen = ['127.0.0.1:0'], args = [] } = {}) {
  const { folder, remove } = ownFolder();
  const daemon = spawn(process.env.LOCKKEEPERD, [
    '--embedded', '--data-dir', path.join(folder, 'data'), '--http-listen', '', ...listen.flatMap((address) => ['--listen', address]), ...args,
  ], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = [];
  daemon.stderr.on('data', (text) => said.push(text));
  let addresses;
  for await (const line of createInterface({ input: daemon.stdout })) {
    said.push(`${line}\n`);
    if (!line.startsWith('lockkeeperd ready grpc=')) continue;
    addresses = line.slice('lockkeeperd ready grpc='.length).split(' ')[0].split(',').map((each) => each.replace(/^m?tls:\/\//, ''));
    break;
  }
  if (!addresses) throw new Error(`the daemon did not start: ${said.join('')}`);
  daemon.stdout.resume();
  return {
    address: addresses[0],
    addresses,
    async stop() {
      if (daemon.exitCode === null && daemon.signalCode === null) {
        daemon.kill('SIGTERM');
        const timer = setTimeout(() => daemon.kill('SIGKILL'), 10_000);
        await once(daemon, 'exit');
        clearTimeout(timer);
      }
      remove();
    },
  };
}

/** Asks `condition` until it is true. */
export async function until(condition, what, within = 15_000) {
  const end = performance.now() + within;
  while (!await condition()) {
    if (performance.now() > end) throw new Error(`in vain waited for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
