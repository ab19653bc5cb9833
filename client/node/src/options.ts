// SPDX-License-Identifier: Apache-2.0
//
// The options of calls, and what is checked of them here; the server checks the limits. All durations are milliseconds.
import { invalidOption, type LockkeeperError, type Contention } from './errors';
import { stopMarginMax } from './renewal/life';
import { checkAddress, type TlsOptions } from './transport/addresses';
import { type AcquireRequest, durationOf } from './transport/messages';

/** What the store must have confirmed before it grants. */
export type Assurance = 'MEMORY' | 'DISK' | 'REPLICAS' | 'QUORUM';

const ASSURANCES: Record<Assurance, number> = { MEMORY: 1, DISK: 2, REPLICAS: 3, QUORUM: 4 };

export interface ClientOptions {
  /**
   * Daemons of one service: `host:port`, `[v6]:port`, `unix:/path`, or `tls://host:port`. The first that answers is used; the next one is
   * tried when it is unavailable or stopping. 1 to 16. Default: `127.0.0.1:7600`.
   */
  servers?: readonly string[];
  /** The only daemon; instead of `servers`. */
  address?: string;
  /** If any of them is given, all hosts are reached over TLS. The files are read again when they change. */
  tls?: TlsOptions;
  /** File with a bearer token or JWT that proves who this program is. Only shown within this machine, or over TLS. */
  tokenFile?: string;
  /** Names this program for people: at most 256 bytes. Default: `host/pid`. */
  owner?: string;
  /** Longest time of one call, retries included; a `wait` comes on top. Default: 10,000. */
  callTimeout?: number;
  /** Longest time that a release is waited for. It goes on in the background. Default: 2,000. */
  releaseTimeout?: number;
  /** False: unary calls only. Default: true. */
  useSessions?: boolean;
  /** Releases all leases when the process gets one of these signals (true: SIGTERM and SIGINT), and then lets the signal end it. */
  releaseOnSignals?: boolean | readonly NodeJS.Signals[];
  /**
   * Whether a lease that ended while the event loop was blocked is told of before any other callback or await goes on. Costs about 0.15 µs
   * for each of them. False: `held`, `lost` and `remaining()` still tell at once, but the `abort` event may come later. Default: true.
   */
  watchForPauses?: boolean;
  /** Called with the error of each call or renewal that a daemon did not serve and that is sent again. */
  onUnserved?: (why: LockkeeperError) => void;
}

export interface AcquireOptions {
  /** Length of the lease, and how far each renewal moves its end. At least 100. Default: the server's, 30,000. */
  ttl?: number;
  /** Time to stand in line if the lock is not free. Default: 0, try once. */
  wait?: number;
  /** Ends the acquire early. */
  signal?: AbortSignal;
  /** Names the holder for people. Default: the client's. */
  owner?: string;
  /** Kept with the lease, for people. At most 8. */
  labels?: Readonly<Record<string, string>>;
  /** Time for which the lock stays closed if the lease ends without a release. At most 60,000. */
  lockDelay?: number;
  /** Longest time for which the lease is renewed. Default: no bound. */
  maxHold?: number;
  /** Time after the grant for which the lock stays closed to others, even if it is released earlier. At most 24 h. Default: 0. */
  holdAtLeast?: number;
  /** Least that the store has to confirm; else the acquire fails. */
  minAssurance?: Assurance;
  /** How long before its end the lease counts as lost, so that the holder can stop in time. At most about half of the ttl. */
  stopMargin?: number;
  /** Lease id to use: 32 hex digits or a UUID. Whoever gives one must release it if the outcome stays unknown. Default: a new one. */
  leaseId?: string;
  /** Called before `acquire` answers null: why. */
  onContention?: (contention: Contention) => void;
}

export interface AdoptOptions {
  /** As in AcquireOptions. Default: the ttl as granted. */
  ttl?: number;
  /** As in AcquireOptions. */
  stopMargin?: number;
  /** Those of the lease. With them it survives a store that has lost its state. */
  fencingToken?: number | bigint;
  reassertion?: string;
}

export interface ExtendOptions {
  /** New length from now. Default, and least: the regular ttl of the lease. */
  ttl?: number;
}

export interface FenceOptions {
  /** Whether the token's lease must be live as well. Default: false. */
  requireLive?: boolean;
}

const CLIENT_OPTIONS = new Set(['servers', 'address', 'tls', 'tokenFile', 'owner', 'callTimeout', 'releaseTimeout', 'useSessions',
  'releaseOnSignals', 'watchForPauses', 'onUnserved']);
const ACQUIRE_OPTIONS = new Set(['ttl', 'wait', 'signal', 'owner', 'labels', 'lockDelay', 'maxHold', 'holdAtLeast', 'minAssurance', 'stopMargin',
  'leaseId', 'onContention']);
const OBSERVE_OPTIONS = new Set(['onChange', 'onError']);
const SERVERS_MAX = 16;

// A misspelt option would be ignored.
function checkNames(options: object, known: Set<string>): void {
  for (const name in options) if (!known.has(name)) throw invalidOption(name, `is no option; the options are ${[...known].join(', ')}`);
}

function checkDuration(field: string, value: unknown, least = 0): void {
  if (value === undefined) return;
  if (typeof value !== 'number' || !Number.isFinite(value)) throw invalidOption(field, 'must be a number of milliseconds');
  if (value < least) throw invalidOption(field, least > 0 ? 'must be positive' : 'must not be negative');
}

// Half of a surrogate pair is no character: written as UTF-8 it would become another text.
const LONE_SURROGATE = /\p{Surrogate}/u;

export function checkText(field: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw invalidOption(field, 'must be a string');
  if (LONE_SURROGATE.test(value)) throw invalidOption(field, 'has half of a surrogate pair, which is no UTF-8');
}

export function serversIn(options: ClientOptions): readonly string[] {
  checkNames(options, CLIENT_OPTIONS);
  const { servers, address } = options;
  if (servers !== undefined && address !== undefined) throw invalidOption('address', 'give `servers` or `address`, not both');
  const all: unknown = servers ?? [address ?? '127.0.0.1:7600'];
  if (!Array.isArray(all) || all.length < 1 || all.length > SERVERS_MAX) {
    throw invalidOption('servers', `must be a list of 1 to ${SERVERS_MAX} addresses`);
  }
  all.forEach(checkAddress);
  if (options.owner !== undefined) checkText('owner', options.owner);
  for (const field of ['callTimeout', 'releaseTimeout'] as const) checkDuration(field, options[field], 1);
  return all as string[];
}

export function fencingTokenIn(field: string, token: unknown): number {
  const number = Number(token);
  if ((typeof token === 'number' || typeof token === 'bigint') && Number.isSafeInteger(number)) return number;
  throw invalidOption(field, 'must be a whole number, at most 2^53 - 1');
}

export function checkTtl(ttl: number | undefined): void {
  checkDuration('ttl', ttl);
}

export function checkStopMargin(stopMargin: number, ttl: number | undefined): void {
  checkDuration('stopMargin', stopMargin);
  if (ttl !== undefined && stopMargin > stopMarginMax(ttl)) {
    throw invalidOption('stopMargin', `leaves no time to renew a lease of ${ttl} ms: at most ${Math.floor(stopMarginMax(ttl))}`);
  }
}

export function checkObserve(name: string, options: object): void {
  checkText('name', name);
  checkNames(options, OBSERVE_OPTIONS);
  for (const [field, value] of Object.entries(options)) {
    if (value !== undefined && typeof value !== 'function') throw invalidOption(field, 'must be a function');
  }
}

export function acquireRequest(name: string, options: AcquireOptions, clientOwner: string): AcquireRequest {
  checkNames(options, ACQUIRE_OPTIONS);
  checkText('name', name);
  const {
    ttl, wait = 0, owner = clientOwner, labels, lockDelay = 0, maxHold = 0, holdAtLeast = 0, minAssurance, stopMargin = 0, leaseId = '',
  } = options;
  checkTtl(ttl);
  checkDuration('wait', wait);
  checkDuration('lockDelay', lockDelay);
  checkDuration('maxHold', maxHold);
  checkDuration('holdAtLeast', holdAtLeast);
  checkStopMargin(stopMargin, ttl);
  if (owner !== clientOwner) checkText('owner', owner);
  if (leaseId !== '') checkText('leaseId', leaseId);
  const request: AcquireRequest = { name, leaseId, attempt: 0, owner, confirm: wait > 0 };
  if (ttl !== undefined) request.ttl = durationOf(ttl);
  if (lockDelay !== 0) request.lockDelay = durationOf(lockDelay);
  if (maxHold !== 0) request.maxHold = durationOf(maxHold);
  if (holdAtLeast !== 0) request.holdAtLeast = durationOf(holdAtLeast);
  if (labels !== undefined) {
    for (const [key, value] of Object.entries(labels)) {
      checkText('labels', key);
      checkText('labels', value);
    }
    request.labels = labels;
  }
  if (minAssurance !== undefined) {
    request.minAssurance = ASSURANCES[minAssurance];
    if (request.minAssurance === undefined) throw invalidOption('minAssurance', `must be one of ${Object.keys(ASSURANCES).join(', ')}`);
  }
  return request;
}
