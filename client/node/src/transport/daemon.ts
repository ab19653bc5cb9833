// SPDX-License-Identifier: Apache-2.0
//
// One daemon and the ways to it: a session, or unary calls where a session cannot be had.
import { type ClientReadableStream, type ClientUnaryCall, Metadata, type ServiceError, status, type StatusObject } from '@grpc/grpc-js';
import type { GetLockResponse, LeaseLostMessage, OperationRequest, OperationResult, SessionResponse, WatchLocksResponse } from './messages';
import { deserialize, messages, serialize } from './messages';
import { LockkeeperError } from '../errors';
import { backoffDelay } from '../renewal/backoff';
import type { Clock } from '../renewal/clock';
import { Channels } from './channels';
import type { Operation } from './operation';
import { cancelledByCaller, errorOfCall } from './problems';
import type { Security } from './security';
import { type SessionEnd, type SessionEvents, SessionLink, sessionPath, sessionTypes } from './session';
import { addTraceContext } from './tracing';

// A stream that lived so long was useful, even if it was cut then.
const SESSION_LIFE_MIN = 10_000;
// After so many shorter streams in a row, streams are assumed to be cut here.
const SHORT_SESSIONS_MAX = 3;
// How long unary calls are used: after that; when the server does not know sessions; longest time between attempts that opened none.
const PAUSE_AFTER_CUTS = 60_000;
const PAUSE_UNSUPPORTED = 5 * 60_000;
const PAUSE_NOT_OPENED_MAX = 60_000;

/** Decides whether to open a session. Pure: takes the time as an argument. */
export class SessionPolicy {
  #nextAt = -Infinity;
  #openedAt = 0;
  #failures = 0;
  #shortSessions = 0;

  mayOpen(now: number): boolean {
    return now >= this.#nextAt;
  }

  /** Whether operations may wait for the opening. Otherwise they go by unary calls until it is open. */
  get mayWait(): boolean {
    return this.#failures === 0;
  }

  opened(now: number): void {
    this.#openedAt = now;
    this.#failures = 0;
  }

  ended(end: SessionEnd, now: number): void {
    if (end === 'unsupported') {
      ++this.#failures;
      this.#nextAt = now + PAUSE_UNSUPPORTED;
    } else if (end === 'notOpened') {
      ++this.#failures;
      this.#nextAt = now + backoffDelay(this.#failures, PAUSE_NOT_OPENED_MAX);
    } else if (end === 'cut') {
      if (now - this.#openedAt >= SESSION_LIFE_MIN) {
        this.#shortSessions = 0;
      } else if (++this.#shortSessions >= SHORT_SESSIONS_MAX) {
        ++this.#failures;
        this.#nextAt = now + PAUSE_AFTER_CUTS;
      }
    }
  }
}

type Answer = NonNullable<OperationResult[keyof OperationResult]>;
type UnaryKind = keyof OperationRequest;

const UNARY: Record<UnaryKind, { path: string; encode: (message: object) => Buffer; decode: (bytes: Buffer) => Answer }> = {
  acquire: { path: 'Acquire', encode: serialize(messages.acquireRequest), decode: deserialize(messages.acquireResponse) },
  extend: { path: 'Extend', encode: serialize(messages.extendRequest), decode: deserialize(messages.extendResponse) },
  release: { path: 'Release', encode: serialize(messages.releaseRequest), decode: deserialize(messages.releaseResponse) },
  fence: { path: 'Fence', encode: serialize(messages.fenceRequest), decode: deserialize(messages.fenceResponse) },
};

const encodeWatch = serialize(messages.watchLocksRequest);
const decodeWatch = deserialize<WatchLocksResponse>(messages.watchLocksResponse);
const encodeLook = serialize(messages.getLockRequest);
const decodeLook = deserialize<GetLockResponse>(messages.getLockResponse);

const encodeSession = serialize(sessionTypes.request);
const decodeSession = deserialize<SessionResponse>(sessionTypes.response);

export interface DaemonEvents {
  onSessionOpened(daemon: Daemon, link: SessionLink): void;
  /** It stops, or its session ended: the leases of the session are in no session now. */
  onSessionOver(daemon: Daemon, link: SessionLink): void;
  onHeartbeatResult: SessionEvents['onHeartbeatResult'];
  onLeaseLost: SessionEvents['onLeaseLost'];
  onDraining(daemon: Daemon): void;
}

export interface DaemonSettings {
  address: string;
  owner: string;
  useSessions: boolean;
  security: Security;
  clock: Clock;
  events: DaemonEvents;
}

export class Daemon implements SessionEvents {
  readonly #settings: DaemonSettings;
  readonly #policy = new SessionPolicy();
  readonly #links = new Set<SessionLink>();
  readonly #calls = new Map<Operation, ClientUnaryCall>();
  #channels: Channels | null = null;
  #link: SessionLink | null = null;
  #tlsVersion = 0;
  #tokenVersion = 0;
  #closed = false;
  #allGone: (() => void) | null = null;

  constructor(settings: DaemonSettings) {
    this.#settings = settings;
  }

  /** The session that is open and takes operations, if there is one. */
  get openLink(): SessionLink | null {
    return this.#link?.state === 'open' && this.#link.isUsable ? this.#link : null;
  }

  run(operation: Operation): void {
    if (SessionLink.canCarry(operation.request) && this.currentLink()?.run(operation)) return;
    this.#runUnary(operation);
  }

  cancel(operation: Operation): void {
    operation.cancelled = true;
    for (const link of this.#links) if (link.cancel(operation)) return;
    this.#calls.get(operation)?.cancel();
  }

  get address(): string {
    return this.#settings.address;
  }

  /** Opens a watch of the lock. `onEnd` is called when it ends; its caller cancels it before the client closes. */
  watch(name: string, onEnd: (why: LockkeeperError) => void): ClientReadableStream<WatchLocksResponse> {
    this.#settings.security.refresh();
    const stream = this.#currentChannels().watches.makeServerStreamRequest(
      '/lockkeeper.admin.v1.AdminService/WatchLocks', encodeWatch, decodeWatch, { name }, this.#metadata());
    stream.on('error', () => {});  // `status` says it too.
    stream.on('status', (end: StatusObject) => {
      const { address } = this;
      onEnd(end.code === status.OK ? new LockkeeperError(`${address} has ended the watch`, { code: 'UNAVAILABLE' }) : errorOfCall(end, address));
    });
    return stream;
  }

  /** Asks who holds the lock. */
  look(name: string, timeout: number, done: (error: LockkeeperError | null, answer?: GetLockResponse) => void): ClientUnaryCall {
    this.#settings.security.refresh();
    return this.#currentChannels().watches.makeUnaryRequest(
      '/lockkeeper.admin.v1.AdminService/GetLock', encodeLook, decodeLook, { name }, this.#metadata(), { deadline: Date.now() + timeout },
      (error: ServiceError | null, answer?: GetLockResponse) => done(error && errorOfCall(error, this.address), answer));
  }

  /** The session that operations may go to now; opens one if need be. Null: take unary calls. */
  currentLink(): SessionLink | null {
    const { security, clock, owner, useSessions } = this.#settings;
    security.refresh();
    const channels = this.#currentChannels();
    if (this.#link && this.#tokenVersion !== security.tokenVersion) this.#outdate();
    this.#tokenVersion = security.tokenVersion;
    if (this.#link) return this.#link.wasOpen || this.#policy.mayWait ? this.#link : null;
    if (!useSessions || this.#closed || !this.#policy.mayOpen(clock.now())) return null;
    const stream = channels.sessions.makeBidiStreamRequest(sessionPath, encodeSession, decodeSession, this.#metadata());
    this.#link = new SessionLink(stream, owner, clock, this);
    this.#links.add(this.#link);
    return this.#policy.mayWait ? this.#link : null;
  }

  /** Ends the sessions, and the calls in flight. Resolves when all is gone, after at most `timeout`. */
  async close(timeout: number): Promise<void> {
    this.#closed = true;
    for (const link of this.#links) link.retire();
    if (this.#links.size > 0) {
      const timer = setTimeout(() => {
        for (const link of this.#links) link.break();
      }, timeout);
      await new Promise<void>((resolve) => (this.#allGone = resolve));
      clearTimeout(timer);
    }
    for (const call of this.#calls.values()) call.cancel();
    this.#channels?.close();
  }

  onOpened(link: SessionLink): void {
    if (this.#link !== link) return;
    this.#policy.opened(this.#settings.clock.now());
    this.#settings.events.onSessionOpened(this, link);
  }

  onDraining(link: SessionLink): void {
    this.#settings.events.onDraining(this);
    // The next operation opens a new session, here if there is no other daemon.
    if (this.#link === link) this.#outdate();
  }

  onHeartbeatResult(link: SessionLink, result: NonNullable<SessionResponse['heartbeatResult']>): void {
    this.#settings.events.onHeartbeatResult(link, result);
  }

  onLeaseLost(link: SessionLink, lost: LeaseLostMessage): void {
    this.#settings.events.onLeaseLost(link, lost);
  }

  onEnded(link: SessionLink, end: SessionEnd, unsent: Operation[]): void {
    this.#policy.ended(end, this.#settings.clock.now());
    if (this.#link === link) this.#link = null;
    this.#links.delete(link);
    for (const operation of unsent) {
      operation.carrier = null;
      this.#runUnary(operation);
    }
    this.#settings.events.onSessionOver(this, link);
    if (this.#links.size === 0) this.#allGone?.();
  }

  #outdate(): void {
    const link = this.#link!;
    this.#link = null;
    link.retire();
    this.#settings.events.onSessionOver(this, link);
  }

  #currentChannels(): Channels {
    const { address, security } = this.#settings;
    if (!this.#channels || this.#tlsVersion !== security.tlsVersion) {
      if (this.#link) this.#outdate();
      this.#channels?.close();
      this.#channels = new Channels(address, security);
      this.#tlsVersion = security.tlsVersion;
    }
    return this.#channels;
  }

  #metadata(): Metadata {
    const metadata = new Metadata();
    const { authorization } = this.#settings.security;
    if (authorization !== null) metadata.set('authorization', authorization);
    addTraceContext(metadata);
    return metadata;
  }

  #runUnary(operation: Operation): void {
    const { request, deadline } = operation;
    if (this.#closed) {
      queueMicrotask(() => operation.done(new LockkeeperError('the client is closed', { code: 'CANCELLED' }), null));
      return;
    }
    const kind = Object.keys(request)[0] as UnaryKind;
    const { path, encode, decode } = UNARY[kind];
    const { acquires, others } = this.#currentChannels();
    // An offer has to be claimed soon.
    if (request.acquire?.confirm) others.getChannel().getConnectivityState(true);
    const timeout = Math.max(deadline - this.#settings.clock.now(), 1);
    const call = (kind === 'acquire' ? acquires : others).makeUnaryRequest(
      `/lockkeeper.v1.LockService/${path}`, encode, decode, request[kind]!, this.#metadata(), { deadline: Date.now() + timeout },
      (error: ServiceError | null, answer?: Answer) => {
        this.#calls.delete(operation);
        if (!error) operation.done(null, { [kind]: answer });
        else if (operation.cancelled && error.code === status.CANCELLED) operation.done(cancelledByCaller(), null);
        else operation.done(errorOfCall(error, this.#settings.address), null);
      });
    this.#calls.set(operation, call);
    if (operation.cancelled) call.cancel();
  }
}
