// SPDX-License-Identifier: Apache-2.0
//
// Locks that timers keep until they are released or lost.
//
//   const service = new LockService('127.0.0.1:7600');
//   const lock = await service.acquire('report', { ttl: 30, wait: 60 });
//   try {
//     for (const part of work) {
//       lock.check();  // throws LeaseLost
//       await write(part, lock.fencingToken, { signal: lock.lost });
//     }
//   } finally {
//     await lock.release();
//   }
//
// Copy this file: it needs @grpc/grpc-js, @grpc/proto-loader and the protos. See
// docs/guides/node.md.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const PROTOS = process.env.LOCKKEEPER_PROTOS ?? 'proto';
const TRY_TIMEOUT = 2;  // seconds that one try waits for its answer
const GIVE_UP_AFTER = 10;  // seconds that an acquire goes on trying, on top of its wait
const STOP_MARGIN = 0.5;  // seconds between "lost" and the end of the lease: time to stop the work
const OWNER = `${hostname()}/${process.pid}`;
const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.enable_retries': 0,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.use_local_subchannel_pool': 1,
};
const PROTO_OPTIONS = {
  includeDirs: [PROTOS],
  keepCase: true,  // fields as in the protos
  longs: Number,  // fencing tokens are below 2^53
  enums: String,
  defaults: true,
  oneofs: true,  // answer.outcome says which field of `outcome` is set
};

const messages = loadSync(['lockkeeper/v1/lock_service.proto', 'google/rpc/status.proto',
                           'google/rpc/error_details.proto'], PROTO_OPTIONS);
const Stub = grpc.loadPackageDefinition(messages).lockkeeper.v1.LockService;

/** Somebody else has the lock: `contention` says who. */
export class NotAcquired extends Error {
  constructor(contention) {
    super(contention.holder_owner ? `held by '${contention.holder_owner}'` : 'not free');
    this.contention = contention;
  }
}

/** The lease has ended, or is about to: stop the work. */
export class LeaseLost extends Error {}

// Seconds of CLOCK_BOOTTIME, which goes on while the machine sleeps. Node.js has no call for it.
const now = () => parseFloat(readFileSync('/proc/uptime', 'latin1'));

const pause = () => 0.1 + 0.4 * Math.random();
const timerAt = (time, callback) => setTimeout(callback, Math.max(time - now(), 0) * 1000).unref();
const secondsOf = (duration) => Number(duration?.seconds ?? 0) + (duration?.nanos ?? 0) / 1e9;

function durationOf(seconds) {
  const ms = Math.round(seconds * 1000);
  return { seconds: Math.trunc(ms / 1000), nanos: (ms % 1000) * 1e6 };
}

/** The detail of a failed call that is of type google.rpc.`name`, if it has one. */
function detailOf(error, name) {
  const [packed] = error.metadata?.get('grpc-status-details-bin') ?? [];
  const { details } = messages['google.rpc.Status'].deserialize(packed ?? Buffer.alloc(0));
  const detail = details.find(({ type_url }) => type_url.endsWith(`/google.rpc.${name}`));
  return detail && messages[`google.rpc.${name}`].deserialize(detail.value);
}

/** Machine-readable reason of a failed call, such as LEASE_LOST. Empty: gRPC itself failed. */
export function reasonOf(error) {
  const info = detailOf(error, 'ErrorInfo');
  return info?.domain === 'lockkeeper' ? info.reason : '';
}

// CANCELLED: gRPC says so of a server that stops.
const mayBeRepeated = ({ code }) =>
  [grpc.status.UNAVAILABLE, grpc.status.DEADLINE_EXCEEDED, grpc.status.CANCELLED].includes(code);

function call(stub, method, request, timeout) {
  const metadata = new grpc.Metadata({ waitForReady: true });  // connects again within the call
  const deadline = Date.now() + timeout * 1000;
  return new Promise((resolve, reject) => {
    stub[method](request, metadata, { deadline },
                 (error, answer) => (error ? reject(error) : resolve(answer)));
  });
}

/** Connections to the service: one is enough for a process. */
export class LockService {
  #acquires;
  #others;

  constructor(server) {
    // Extends never queue behind acquires that wait: those have a connection of their own.
    const connect = () => new Stub(server, grpc.credentials.createInsecure(), CHANNEL_OPTIONS);
    this.#acquires = connect();
    this.#others = connect();
  }

  /** Resolves to a HeldLock, after at most `wait` seconds in line. Throws NotAcquired. */
  async acquire(name, { ttl = 30, wait = 0, owner = OWNER } = {}) {
    const request = { name, owner, ttl: durationOf(ttl), confirm: wait > 0, attempt: 0,
                      lease_id: randomBytes(16).toString('hex') };  // the same for all tries
    const waitEnd = now() + wait;
    for (;;) {
      try {
        return await this.#tryAcquire(request, Math.max(waitEnd - now(), 0));
      } catch (error) {
        // A lock that changes hands often does not know the tries before.
        const forgotten = reasonOf(error) === 'LEASE_ENDED' && request.attempt > 1;
        const again = mayBeRepeated(error) || reasonOf(error) === 'LEASE_LOST' || forgotten;
        const delay = Math.max(pause(), secondsOf(detailOf(error, 'RetryInfo')?.retry_delay));
        if (!again || now() + delay > waitEnd + GIVE_UP_AFTER) {
          // A try without an answer may have been granted.
          if (!(error instanceof NotAcquired) || request.attempt > 1) {
            await this.release(request).catch(() => {});
          }
          throw error;
        }
        if (forgotten) {
          Object.assign(request, { lease_id: randomBytes(16).toString('hex'), attempt: 0 });
        }
        await sleep(delay * 1000);
      }
    }
  }

  async #tryAcquire(request, wait) {
    request.attempt += 1;
    request.wait_timeout = durationOf(wait);
    let sent = now();
    const answer = await call(this.#acquires, 'Acquire', request, wait + TRY_TIMEOUT);
    if (answer.outcome !== 'lease') throw new NotAcquired(answer.contention ?? {});
    let { lease } = answer;
    if (lease.offered) {  // its turn has come: the lease counts from the extend that claims it
      sent = now();
      lease = await this.extend(lease, TRY_TIMEOUT);
    }
    return new HeldLock(this, lease, sent, answer.lease.previous_lease_expired);
  }

  /** Resolves to the lease as it is now, with what a later extend has to send. */
  async extend(lease, timeout) {
    const { name, lease_id, fencing_token, reassertion } = lease;
    const proof = lease.offered ? {} : { fencing_token, reassertion };
    const { lease: extended } =
      await call(this.#others, 'Extend', { name, lease_id, ...proof }, timeout);
    return { ...extended, reassertion: extended.reassertion || reassertion };
  }

  /** Resolves to whether the lease held the lock until now. */
  async release({ name, lease_id }) {
    const release = () => call(this.#others, 'Release', { name, lease_id }, TRY_TIMEOUT / 2);
    try {
      return (await release()).released;
    } catch (error) {
      if (!mayBeRepeated(error)) throw error;
    }
    const { released, reason } = await release();
    return released || reason === 'NOT_RELEASED_REASON_NOT_HOLDER';
  }

  /** Resolves to whether `token` is the newest one of the lock and, if asked, its lease live. */
  async fence(name, token, { live = false } = {}) {
    const request = { name, fencing_token: token, require_live_lease: live };
    return (await call(this.#others, 'Fence', request, TRY_TIMEOUT)).verdict === 'VERDICT_ADMITTED';
  }
}

/** A lease, extended every third of its ttl. `lost` is aborted before it ends, whatever happens. */
export class HeldLock {
  #service;
  #lease;
  #lostAt = 0;
  #loss = new AbortController();
  #over = false;
  #renewTimer;
  #lossTimer;

  constructor(service, lease, sent, previousLeaseExpired) {
    this.fencingToken = lease.fencing_token;
    this.previousLeaseExpired = previousLeaseExpired;
    this.lost = this.#loss.signal;
    this.#service = service;
    this.#extended(lease, sent);
  }

  /** Seconds until the lease is called lost. */
  remaining() {
    return this.lost.aborted ? 0 : Math.max(this.#lostAt - now(), 0);
  }

  /** Throws LeaseLost if it is. Also right after work that held up the timers. */
  check() {
    if (this.remaining() === 0) throw new LeaseLost(this.#lease.name);
  }

  /** Resolves to whether the lock was held until now. */
  async release() {
    this.#end();
    return this.remaining() > 0 && this.#service.release(this.#lease);
  }

  #extended(lease, sent) {
    const remaining = secondsOf(lease.remaining_ttl);
    this.#lease = lease;
    // Counted from when the request was sent, less 1 % and 50 ms. An extend never shortens.
    this.#lostAt = Math.max(this.#lostAt, sent + remaining * 0.99 - 0.05 - STOP_MARGIN);
    clearTimeout(this.#lossTimer);
    this.#lossTimer = timerAt(this.#lostAt, () => this.#lose());
    this.#renewAt(sent + remaining - (secondsOf(lease.ttl) * 2) / 3);
  }

  #renewAt(time) {
    this.#renewTimer = timerAt(time, () => this.#renew());
  }

  async #renew() {
    const sent = now();
    try {
      const lease = await this.#service.extend(this.#lease, (this.#lostAt - sent) / 2);
      if (!this.#over) this.#extended(lease, sent);
    } catch (error) {
      if (this.#over) return;
      if (reasonOf(error) === 'LEASE_LOST') this.#lose();
      else this.#renewAt(now() + pause());  // the old end stands
    }
  }

  #lose() {
    this.#end();
    this.#loss.abort(new LeaseLost(this.#lease.name));
  }

  #end() {
    this.#over = true;
    clearTimeout(this.#renewTimer);
    clearTimeout(this.#lossTimer);
  }
}
