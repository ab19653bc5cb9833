// SPDX-License-Identifier: Apache-2.0
//
// The client of lockkeeper: named locks with fencing tokens. client/README.md of the repository is the contract that the clients of all
// languages keep.
import { hostname } from 'node:os';
import { type AcquireEnd, type Granted, runAcquire } from './acquire';
import { type Contention, LeaseLostError, LockkeeperError, NotAcquiredError } from './errors';
import { CAMPAIGN_WAIT, type LeadOptions, Leadership } from './leadership';
import { type Grant, Lease, type LeaseOwner } from './lease';
import { type ObserveOptions, Observer } from './observer';
import {
  acquireRequest, type AcquireOptions, type AdoptOptions, type Assurance, checkObserve, checkStopMargin, checkText, checkTtl,
  type ClientOptions, type FenceOptions, fencingTokenIn, serversIn,
} from './options';
import { BootClock } from './renewal/clock';
import { KeptLease } from './renewal/kept_lease';
import { Keeper } from './renewal/keeper';
import { LeaseLife, leaseMargin } from './renewal/life';
import { Releaser, type ReleaseResult } from './renewal/releaser';
import { ProcessHold } from './process_hold';
import { Table } from './table';
import { Daemons } from './transport/daemons';
import { assuranceName, durationOf, type ExtendRequest, msOf, toNumber, verdictName } from './transport/messages';
import { Security } from './transport/security';

// The ttl that is assumed if the grant is not known: the server's default.
const TTL_DEFAULT = 30_000;
// The store keeps a place in line for so long after the last sign of life of its daemon.
const PLACE_KEPT = 30_000;
// Longest wait for a daemon to end a session cleanly. Only the daemon's log depends on it.
const GOOD_END_TIMEOUT = 200;

/** What a fence found. Everything but ADMITTED means: reject the access. */
export type Verdict = 'ADMITTED' | 'STALE' | 'EXPIRED' | 'UNKNOWN_TOKEN' | 'UNKNOWN';

export interface FenceResult {
  admitted: boolean;
  verdict: Verdict;
  /** 0 if none is known. */
  newestFencingToken: number;
}

/**
 * The client of one service: its connections, and the renewal of its leases. Use one per process.
 *
 * It does not keep the process alive, except while a call is in flight. When nothing else is left to do, it releases its leases and the
 * process ends.
 */
export class Client {
  readonly #callTimeout: number;
  readonly #releaseTimeout: number;
  readonly #ownerText: string;
  readonly #clock = new BootClock();
  readonly #daemons: Daemons;
  readonly #keeper: Keeper;
  readonly #releaser: Releaser;
  readonly #hold: ProcessHold;
  readonly #held = new Table<KeptLease>();
  readonly #leaseOwner: LeaseOwner;
  readonly #waiting = new Set<AbortController>();
  readonly #leaderships = new Set<Leadership>();
  readonly #observers = new Set<Observer>();
  #closing: Promise<void> | null = null;

  constructor(options: ClientOptions = {}) {
    const servers = serversIn(options);
    this.#callTimeout = options.callTimeout ?? 10_000;
    this.#releaseTimeout = options.releaseTimeout ?? 2_000;
    this.#ownerText = options.owner ?? `${hostname()}/${process.pid}`;
    this.#keeper = new Keeper(this.#clock, () => this.#daemons, options.watchForPauses ?? true);
    this.#daemons = new Daemons(servers, {
      owner: this.#ownerText,
      useSessions: options.useSessions ?? true,
      security: new Security(options.tls ?? {}, options.tokenFile, servers),
      clock: this.#clock,
      events: {
        onSessionOpened: () => this.#keeper.onSessionOpened(),
        onSessionOver: (_daemon, link) => this.#keeper.onSessionOver(link),
        onHeartbeatResult: (link, result) => this.#keeper.onHeartbeatResult(link, result),
        onLeaseLost: (_link, lost) => this.#keeper.onLeaseLost(lost),
        onDraining: () => {},
      },
    }, options.onUnserved);
    this.#releaser = new Releaser(this.#daemons, this.#clock);
    this.#hold = new ProcessHold(() => this.close(), options.releaseOnSignals ?? false);
    this.#leaseOwner = {
      now: () => this.#clock.now(),
      check: (lease) => this.#keeper.loseIfDue(lease),
      leave: (lease) => this.#leave(lease),
      extend: (lease, ttl) => this.#extend(lease, ttl),
      releaseHeld: (lease) => this.#releaseHeld(lease),
    };
  }

  /**
   * Acquires the lock `name`. Null: it is not free. Takes at most `wait` + callTimeout. Rejects with a LockkeeperError if the service cannot
   * answer; the lock is then not held.
   */
  async acquire(name: string, options: AcquireOptions = {}): Promise<Lease | null> {
    const result = await this.#acquire(name, options);
    if (result instanceof Lease) return result;
    options.onContention?.(result);
    return null;
  }

  /**
   * Acquires the lock, runs `fn` once, and releases. `signal` is aborted before the lease ends. Resolves to what `fn` resolves to; rejects
   * with NotAcquiredError without running `fn` if the lock is not free, and with LeaseLostError if the lease was lost before `fn` ended.
   */
  async using<T>(name: string, options: AcquireOptions, fn: (lease: Lease, signal: AbortSignal) => T | Promise<T>): Promise<T> {
    const lease = await this.#acquire(name, options);
    if (!(lease instanceof Lease)) throw new NotAcquiredError(name, lease);
    try {
      const result = await fn(lease, lease.lost);
      lease.lost.throwIfAborted();
      return result;
    } finally {
      const released = lease.release().catch(() => {});
      if (lease.lossCause === null) await released;  // Who lost the lease has to hear of it at once.
    }
  }

  /**
   * Campaigns for the lock, leads while it holds the lease, and campaigns again when that is lost, until the answer is closed. Returns at
   * once; throws if an option is malformed.
   */
  lead(name: string, options: LeadOptions): Leadership {
    const { onElected: _elected, onLost: _lost, onError: _error, ...how } = options;
    acquireRequest(name, how, this.#ownerText);
    this.#checkOpen();
    const leadership = new Leadership(name, {
      acquire: (signal) => this.acquire(name, { ...how, wait: CAMPAIGN_WAIT, signal }),
      onClosed: (closed) => this.#leaderships.delete(closed),
    }, options);
    this.#leaderships.add(leadership);
    return leadership;
  }

  /**
   * Tells who leads, which is who holds the lock, until the answer is closed: `onChange` is called once that is known, and at each change.
   * Returns at once. Needs the right `inspect` on the name.
   */
  observe(name: string, options: ObserveOptions = {}): Observer {
    checkObserve(name, options);
    this.#checkOpen();
    const observer = new Observer(name, { daemons: this.#daemons, onClosed: (closed) => this.#observers.delete(closed) }, options);
    this.#observers.add(observer);
    return observer;
  }

  /** Takes over a live lease that another client detached: extends it, and renews it from now on. */
  async adopt(name: string, leaseId: string, options: AdoptOptions = {}): Promise<Lease> {
    checkText('name', name);
    checkText('leaseId', leaseId);
    checkTtl(options.ttl);
    const stopMargin = options.stopMargin ?? 0;
    checkStopMargin(stopMargin, options.ttl);
    const extend: ExtendRequest = { name, leaseId };
    if (options.fencingToken !== undefined) extend.fencingToken = fencingTokenIn('fencingToken', options.fencingToken);
    if (options.reassertion !== undefined) extend.reassertion = options.reassertion;
    if (options.ttl !== undefined) extend.ttl = durationOf(options.ttl);
    return this.#hold.during(async () => {
      const { error, result, sent } = await this.#daemons.runUntilAnswered({ extend }, this.#callTimeout);
      if (error) throw error;
      const message = result?.extend?.lease;
      if (!message) throw new LockkeeperError('the server answered without a lease', { code: 'INTERNAL' });
      const granted = { message, sent, waited: 0, link: null };
      return this.#keep(name, leaseId, granted, { ttl: options.ttl, maxHold: 0, stopMargin, heartbeatable: false });
    });
  }

  /** Releases by lease id, for a lease that this process does not hold, or an acquire that waits elsewhere. */
  async release(name: string, leaseId: string): Promise<ReleaseResult> {
    checkText('name', name);
    checkText('leaseId', leaseId);
    return this.#hold.during(() => this.#releaser.release(name, leaseId, this.#clock.now() + this.#callTimeout));
  }

  /**
   * Asks whether `fencingToken` is the newest one of the lock, for a resource that cannot store the highest token it has seen. A rejection
   * means: reject the access.
   */
  async fence(name: string, fencingToken: number | bigint, { requireLive = false }: FenceOptions = {}): Promise<FenceResult> {
    checkText('name', name);
    const fence = { name, fencingToken: fencingTokenIn('fencingToken', fencingToken), requireLiveLease: requireLive };
    return this.#hold.during(async () => {
      const { error, result } = await this.#daemons.runUntilAnswered({ fence }, this.#callTimeout);
      if (error) throw error;
      const verdict = verdictName(result?.fence?.verdict ?? 0) as Verdict;
      return { admitted: verdict === 'ADMITTED', verdict, newestFencingToken: toNumber(result?.fence?.newestFencingToken) };
    });
  }

  /**
   * Ends observers, campaigns and the acquires that wait, releases all leases of this client, waits for releases in the background for at most
   * releaseTimeout, and ends the connections.
   */
  close(): Promise<void> {
    this.#closing ??= this.#hold.during(() => this.#close());
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #checkOpen(): void {
    if (this.#closing) throw new LockkeeperError('the client is closed', { code: 'CANCELLED' });
  }

  async #close(): Promise<void> {
    for (const observer of this.#observers) void observer.close();
    await Promise.allSettled([...this.#leaderships].map((leadership) => leadership.close()));
    for (const cancel of this.#waiting) cancel.abort();
    await Promise.allSettled(this.#held.all().map((lease) => this.#releaseHeld(lease)));
    await this.#releaser.idle(this.#releaseTimeout);
    this.#hold.close();
    this.#keeper.close();
    await Promise.all(this.#daemons.all.map((daemon) => daemon.close(GOOD_END_TIMEOUT)));
  }

  async #acquire(name: string, options: AcquireOptions): Promise<Lease | Contention> {
    const request = acquireRequest(name, options, this.#ownerText);
    const { ttl, wait = 0, maxHold = 0, stopMargin = 0 } = options;
    this.#checkOpen();
    const isOurId = request.leaseId === '';
    const ports = { daemons: this.#daemons, clock: this.#clock, callTimeout: this.#callTimeout };
    const cancel = wait > 0 ? new AbortController() : null;  // By the caller, or by closing.
    const onAbort = () => cancel?.abort();
    options.signal?.addEventListener('abort', onAbort);
    if (cancel) this.#waiting.add(cancel);
    this.#hold.enter();
    let end: AcquireEnd;
    try {
      end = await runAcquire(ports, request, wait, options.signal?.aborted ? options.signal : cancel?.signal ?? options.signal);
    } finally {
      this.#hold.leave();
      options.signal?.removeEventListener('abort', onAbort);
      if (cancel) this.#waiting.delete(cancel);
    }
    const mayLast = (ttl ?? TTL_DEFAULT) + (wait > 0 ? PLACE_KEPT : 0);
    if (end.granted) {
      try {
        return this.#keep(name, end.leaseId, end.granted, { ttl: undefined, maxHold, stopMargin, heartbeatable: isOurId && maxHold === 0 });
      } catch (error) {
        this.#releaseInBackground(name, end.leaseId, mayLast);
        throw error;
      }
    }
    if (end.unresolved && isOurId) this.#releaseInBackground(name, end.leaseId, mayLast);
    if (end.contention) return end.contention;
    throw end.error;
  }

  #keep(name: string, leaseId: string, { message, sent, waited, link }: Granted,
        terms: { ttl: number | undefined; maxHold: number; stopMargin: number; heartbeatable: boolean }): Lease {
    this.#checkOpen();
    const ttl = terms.ttl ?? msOf(message.ttl);
    checkStopMargin(terms.stopMargin, ttl);
    const life = new LeaseLife({ ttl, maxHold: terms.maxHold, stopMargin: terms.stopMargin }, sent, msOf(message.remainingTtl));
    if (life.lostAt <= this.#clock.now()) {
      throw new LockkeeperError('the answer arrived after the lease had ended', { code: 'DEADLINE_EXCEEDED' });
    }
    const kept = new KeptLease({
      name, leaseId, fencingToken: toNumber(message.fencingToken), reassertion: message.reassertion, life, extendTtl: terms.ttl,
      link: link?.state === 'ended' ? null : link, heartbeatable: terms.heartbeatable,
    });
    kept.inClient = this.#held.add(kept);
    this.#keeper.keep(kept);
    const grant: Grant = {
      ttl, waited, previousLeaseExpired: message.previousLeaseExpired, assurance: assuranceName(message.assurance) as Assurance | 'UNSPECIFIED',
    };
    return new Lease(this.#leaseOwner, kept, grant);
  }

  #drop(lease: KeptLease): void {
    this.#keeper.drop(lease);
    this.#held.remove(lease.inClient);
  }

  #leave(lease: KeptLease): void {
    this.#keeper.leave(lease);
    this.#held.remove(lease.inClient);
  }

  #extend(lease: KeptLease, ttl: number | undefined): Promise<void> {
    checkTtl(ttl);
    const { name, leaseId, fencingToken, reassertion, extendTtl, life } = lease;
    const extend: ExtendRequest = { name, leaseId, fencingToken, reassertion };
    // The session would go on to extend by a shorter one, while heartbeats count for the regular one.
    const length = ttl === undefined ? extendTtl : Math.max(ttl, life.terms.ttl);
    if (length !== undefined) extend.ttl = durationOf(length);
    return this.#hold.during(async () => {
      const { error, result, sent } = await this.#daemons.runUntilAnswered({ extend }, this.#callTimeout);
      this.#keeper.answered(lease, sent, error, result?.extend?.lease);
      if (error?.reason === 'LEASE_LOST') throw new LeaseLostError(name, 'LEASE_LOST', error);
      if (error) throw error;
    });
  }

  async #releaseHeld(lease: KeptLease): Promise<ReleaseResult> {
    const remaining = lease.life.remaining(this.#clock.now());
    this.#drop(lease);
    const giveUpAt = this.#clock.now() + Math.max(remaining + leaseMargin(remaining), this.#releaseTimeout);
    this.#hold.enter();
    try {
      return await this.#releaser.release(lease.name, lease.leaseId, giveUpAt, this.#releaseTimeout);
    } catch (error) {
      lease.link?.forget(lease.name, lease.leaseId);
      throw error;
    } finally {
      this.#hold.leave();
    }
  }

  #releaseInBackground(name: string, leaseId: string, mayLast: number): void {
    this.#releaser.release(name, leaseId, this.#clock.now() + mayLast).catch(() => {});
  }
}
