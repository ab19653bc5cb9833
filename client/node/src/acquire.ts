// SPDX-License-Identifier: Apache-2.0
//
// One acquire: its attempts, and the claim of an offer.
import { randomFillSync } from 'node:crypto';
import { type Contention, type ContentionReason, LockkeeperError } from './errors';
import type { Clock } from './renewal/clock';
import type { Daemons } from './transport/daemons';
import type { Daemon } from './transport/daemon';
import {
  type AcquireRequest, type ContentionMessage, contentionReasonName, durationOf, type LeaseMessage, msOf,
} from './transport/messages';
import type { Operation } from './transport/operation';
import { cancelledByCaller, outcomeUnknown } from './transport/problems';
import { RetryRule } from './transport/retry_rule';
import type { SessionLink } from './transport/session';
import { sleep } from './transport/sleep';

// Reasons of attempts that have neither a grant nor a place in line. A daemon that drains leaves a waiter in its place, for a retry at
// another daemon.
const LEFT_NOTHING = new Set([
  'INVALID_FIELD', 'LEASE_ENDED', 'STORE_UNAVAILABLE', 'STORE_QUARANTINED', 'WAITER_LIMIT', 'LEASE_LIMIT', 'RATE_LIMIT', 'UNAUTHENTICATED',
  'PERMISSION_DENIED', 'AUDIT_UNAVAILABLE', 'ASSURANCE_NOT_REACHED',
]);

function leftNothing({ code, reason }: LockkeeperError): boolean {
  return LEFT_NOTHING.has(reason) || (reason === '' && code === 'INVALID_ARGUMENT');
}

export interface AcquirePorts {
  daemons: Daemons;
  clock: Clock;
  callTimeout: number;
}

export interface Granted {
  message: LeaseMessage;
  /** When the request was sent whose answer counts: the acquire, or the claim of its offer. */
  sent: number;
  waited: number;
  /** The session that keeps the lease, if it was granted in one. */
  link: SessionLink | null;
}

export interface AcquireEnd {
  granted?: Granted;
  contention?: Contention;
  error?: LockkeeperError;
  leaseId: string;
  /** An attempt may have been granted, or may still stand in line. */
  unresolved: boolean;
}

// Asking the system for 16 bytes costs more than the rest of an acquire, so they are drawn in advance.
const random = Buffer.alloc(16 * 256);
let drawn = random.length;

/** 128 random bits: a lease id is a credential. */
function newLeaseId(): string {
  if (drawn === random.length) {
    randomFillSync(random);
    drawn = 0;
  }
  drawn += 16;
  return random.toString('hex', drawn - 16, drawn);
}

interface Try {
  lease?: LeaseMessage;
  contention?: ContentionMessage;
  error?: LockkeeperError;
  sent: number;
  offer?: LeaseMessage;
  offerLapsed?: boolean;
  link: SessionLink | null;
}

function leaseIn(answer: Operation, lease: LeaseMessage | null | undefined): Try {
  const { error, sent, carrier } = answer;
  if (error) return { error, sent, link: null };
  if (lease) return { lease, sent, link: carrier };
  const problem = new LockkeeperError('the server answered neither a lease nor a contention', { code: 'INTERNAL' });
  return { error: problem, sent, link: null };
}

async function claim(ports: AcquirePorts, daemon: Daemon, request: AcquireRequest, offered: Try, timeout: number, signal?: AbortSignal):
    Promise<Try> {
  const offer = offered.lease!;
  const { name, leaseId } = request;
  const patience = Math.min(Math.max(msOf(offer.remainingTtl), 1), timeout);
  const answer = await ports.daemons.runOnce(daemon, { extend: { name, leaseId } }, patience, signal);
  const claimed = leaseIn(answer, answer.result?.extend?.lease);
  if (claimed.error?.reason === 'LEASE_LOST') {
    return { ...claimed, offer, offerLapsed: true, error: outcomeUnknown('the offer ended before it was claimed') };
  }
  // The session keeps the lease only if the offer was its own.
  return { ...claimed, offer, link: claimed.link === offered.link ? claimed.link : null };
}

async function tryOnce(ports: AcquirePorts, daemon: Daemon, request: AcquireRequest, wait: number, timeout: number, signal?: AbortSignal):
    Promise<Try> {
  const answer = await ports.daemons.runOnce(daemon, { acquire: request }, wait + timeout, signal);
  const response = answer.result?.acquire;
  if (response?.contention) return { contention: response.contention, sent: answer.sent, link: null };
  const tried = leaseIn(answer, response?.lease);
  return tried.lease?.offered ? claim(ports, daemon, request, tried, timeout, signal) : tried;
}

function contentionOf(message: ContentionMessage, waited: boolean): Contention {
  const reason = contentionReasonName(message.reason) as ContentionReason;
  return {
    reason: waited && reason !== 'CANCELLED' ? 'WAIT_TIMED_OUT' : reason,
    holderOwner: message.holderOwner,
    remaining: msOf(message.remainingTtl),
    position: message.position,
    waiters: message.waiters,
  };
}

/** `request` without lease id: a new one, which is replaced if the service has forgotten it. */
export async function runAcquire(ports: AcquirePorts, request: AcquireRequest, waitTimeout: number, signal?: AbortSignal): Promise<AcquireEnd> {
  const { daemons, clock } = ports;
  const isOurId = request.leaseId === '';
  if (isOurId) request.leaseId = newLeaseId();
  const begin = clock.now();
  const waitEnd = begin + waitTimeout;
  const rule = new RetryRule(waitEnd + ports.callTimeout, daemons.all.length);
  let unresolved = false;
  let now = begin;
  for (let attempt = 1; ; ++attempt, now = clock.now()) {
    const wait = Math.max(waitEnd - now, 0);
    const daemon = daemons.current;
    const sent: AcquireRequest = { ...request, attempt };
    if (wait > 0) sent.waitTimeout = durationOf(wait);
    const tried = await tryOnce(ports, daemon, sent, wait, rule.tryTimeout(now + wait), signal);
    const end = { leaseId: request.leaseId, unresolved };
    if (tried.lease) {
      const earlier = tried.offer ?? tried.lease;
      const message = Object.assign(tried.lease, { previousLeaseExpired: earlier.previousLeaseExpired });
      const waited = msOf(earlier.waited) + (waitTimeout > 0 ? now - begin : 0);
      return { ...end, granted: { message, sent: tried.sent, waited, link: tried.link } };
    }
    if (tried.contention) return { ...end, contention: contentionOf(tried.contention, waitTimeout > 0) };
    const error = tried.error!;
    if (attempt > 1 && error.reason === 'LEASE_ENDED' && isOurId) {
      request.leaseId = newLeaseId();
      attempt = 0;
      unresolved = false;  // The old lease id can no longer get a grant.
      continue;
    }
    if (tried.offer || !leftNothing(error)) unresolved = true;
    const delay = rule.delayAfter(error, now, clock.now());
    if (delay === null) return { ...end, unresolved, error };
    if (!tried.offerLapsed) daemons.failed(daemon, error);
    await sleep(delay, signal);
    if (signal?.aborted) return { ...end, unresolved, error: cancelledByCaller() };
  }
}
