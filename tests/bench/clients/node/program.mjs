// SPDX-License-Identifier: Apache-2.0
//
// program.mjs SIDE SERVER REDIS_PORT: cycles of locks by @lockkeeper/client (`ours`) or by redlock on ioredis, as README.md beside run.py says.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const TTL = 30_000;
const NAMES_EACH = 4;
const WARM_UP = 300;
const [side, server, redisPort] = process.argv.slice(2);

const version = (name) => `${name} ${JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version}`;

async function ours() {
  const { Client } = await import('@lockkeeper/client');
  const client = new Client({ servers: [server] });
  return {
    versions: [version('@lockkeeper/client')],
    async acquire(name) {
      return await client.acquire(name, { ttl: TTL }) ?? Promise.reject(new Error(`${name} is not free`));
    },
    release: (lease) => lease.release(),
    isHeld: (lease) => lease.held,
    close: () => client.close(),
  };
}

async function theirs() {
  const { default: Redis } = await import('ioredis');
  const { default: Redlock } = await import('redlock');
  const redis = new Redis(Number(redisPort), '127.0.0.1');
  const redlock = new Redlock([redis], { retryCount: 0 });
  return {
    versions: [version('redlock'), version('ioredis')],
    acquire: (name) => redlock.acquire([name], TTL),
    release: (lock) => lock.release(),
    close: () => redis.quit(),
  };
}

const locks = await (side === 'ours' ? ours() : theirs());
let held = [];

const requests = {
  versions: () => ({ versions: [`Node.js ${process.versions.node}`, ...locks.versions] }),

  async cycles({ depth, seconds }) {
    const begin = performance.now() + WARM_UP;
    const end = begin + seconds * 1000;
    let cycles = 0;
    const loop = async (number) => {
      for (let turn = 0; ; ++turn) {
        await locks.release(await locks.acquire(`bench/${number}/${turn % NAMES_EACH}`));
        const now = performance.now();
        if (now > end) return;
        if (now >= begin) ++cycles;
      }
    };
    await Promise.all(Array.from({ length: depth }, (_, number) => loop(number)));
    return { perSecond: cycles / seconds };
  },

  async hold({ leases }) {
    held = [];
    while (held.length < leases) {
      const batch = Array.from({ length: Math.min(500, leases - held.length) }, (_, i) => locks.acquire(`held/${held.length + i}`));
      held.push(...await Promise.all(batch));
    }
    return {};
  },

  held: () => ({ held: held.filter(locks.isHeld).length }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, do: what, ...options } = JSON.parse(line);
  console.log(JSON.stringify({ id, ok: await requests[what](options) }));
}
await locks.close();
