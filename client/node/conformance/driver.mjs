// SPDX-License-Identifier: Apache-2.0
//
// driver.mjs: this client, driven over JSON lines by tests/conformance/run.py. Only translates: the logic is the client's.
import { createInterface } from 'node:readline';
import { Client, LockkeeperError } from '@lockkeeper/client';

const FEATURES = [
  'sessions', 'unary', 'renewal', 'events', 'details', 'cancel', 'extend', 'detach', 'adopt', 'stop_margin', 'hold_at_least', 'tls', 'exit_release', 'block',
  'clock', 'observe',
];

const clients = new Map();
const leases = new Map();
const acquires = new Map();  // AbortControllers, by id of the request.

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const ms = (time) => Math.round(time);

// The options of a request that it has, by the client's names.
function options(request, names) {
  return Object.fromEntries(names.filter((name) => request[name] !== undefined).map((name) => [name, request[name]]));
}

function clientOf({ client = 'client' }) {
  const found = clients.get(client);
  if (!found) throw new Error(`there is no client \`${client}\``);
  return found;
}

function leaseOf({ lease }) {
  const found = leases.get(lease);
  if (!found) throw new Error(`there is no lease \`${lease}\``);
  return found;
}

function keep(as, lease) {
  leases.set(as, lease);
  const { lost } = lease;
  const tell = () => say({ event: 'lost', lease: as, cause: lost.reason.lossCause, remaining: ms(lease.remaining()) });
  if (lost.aborted) tell();
  else lost.addEventListener('abort', tell);
  return {
    granted: true, token: lease.fencingToken, leaseId: lease.leaseId, remaining: ms(lease.remaining()), waited: ms(lease.waited),
    previousLeaseExpired: lease.previousLeaseExpired,
  };
}

const actions = {
  features: () => ({ features: FEATURES }),

  create(request) {
    clients.set(request.as ?? 'client', new Client({
      ...options(request, ['servers', 'owner', 'callTimeout', 'releaseTimeout', 'useSessions', 'tokenFile']),
      tls: options(request, ['caFile', 'certificateFile', 'keyFile', 'serverName']),
    }));
    return {};
  },

  async acquire(request) {
    const abort = new AbortController();
    acquires.set(request.id, abort);
    let contention;
    try {
      const lease = await clientOf(request).acquire(request.name, {
        ...options(request, ['ttl', 'wait', 'lockDelay', 'maxHold', 'holdAtLeast', 'stopMargin', 'owner', 'labels', 'leaseId']),
        signal: abort.signal,
        onContention: (why) => { contention = why; },
      });
      if (lease) return keep(request.as ?? request.name, lease);
      return { granted: false, reason: contention.reason, holderOwner: contention.holderOwner, remaining: ms(contention.remaining) };
    } finally {
      acquires.delete(request.id);
    }
  },

  cancel({ request }) {
    acquires.get(request)?.abort();
    return {};
  },

  state(request) {
    const lease = leaseOf(request);
    const cause = lease.lossCause;
    return { held: lease.held, remaining: ms(lease.remaining()), lost: cause !== null, cause: cause ?? '' };
  },

  extend: async (request) => ({ remaining: ms(await leaseOf(request).extend(options(request, ['ttl']))) }),
  release: (request) => leaseOf(request).release(),
  releaseById: (request) => clientOf(request).release(request.name, request.leaseId),

  async fence(request) {
    const { verdict, newestFencingToken } = await clientOf(request).fence(request.name, request.token, options(request, ['requireLive']));
    return { verdict, newest: newestFencingToken };
  },

  detach(request) {
    const { name, leaseId, fencingToken, reassertion } = leaseOf(request).detach();
    return { name, leaseId, token: fencingToken, reassertion };
  },

  async adopt(request) {
    const proof = { fencingToken: request.token, ...options(request, ['reassertion', 'ttl', 'stopMargin']) };
    return keep(request.as ?? request.name, await clientOf(request).adopt(request.name, request.leaseId, proof));
  },

  observe(request) {
    clientOf(request).observe(request.name, {
      onChange: (leader) => say({ event: 'leader', observer: request.as, token: leader?.fencingToken ?? 0, owner: leader?.owner ?? null }),
    });
    return {};
  },

  block(request) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, request.for);
    return {};
  },

  check: (request) => ({ held: leaseOf(request).held }),

  async close(request) {
    await clientOf(request).close();
    return {};
  },
};

function problem(error) {
  if (error instanceof LockkeeperError) return { code: error.code, reason: error.reason, message: error.message };
  return { code: 'UNKNOWN', reason: '', message: String(error?.message ?? error) };
}

async function handle(request) {
  try {
    const action = actions[request.do];
    if (!action) throw new Error(`this driver does not know \`${request.do}\``);
    say({ id: request.id, ok: await action(request) });
  } catch (error) {
    say({ id: request.id, error: problem(error) });
  }
}

createInterface({ input: process.stdin })
  .on('line', (line) => void handle(JSON.parse(line)))
  // In Node a program that still waits for an acquire has not returned. Everything else is left to the client.
  .on('close', () => acquires.forEach((abort) => abort.abort()));
