// SPDX-License-Identifier: Apache-2.0
//
// Decides when a lease is renewed and when it counts as lost. Pure: takes the time as an argument. Times are milliseconds.
import { backoffDelay, BACKOFF_MAX } from './backoff';

const MARGIN_FIXED = 50;

/** How much earlier than the store the client counts a lease as over. */
export function leaseMargin(remainingTtl: number): number {
  return remainingTtl / 100 + MARGIN_FIXED;
}

/** Largest stopMargin: at least a twentieth of the ttl must lie between the regular renewal and the loss. */
export function stopMarginMax(ttl: number): number {
  return Math.max(0, ttl - leaseMargin(ttl) - ttl / 3 - ttl / 20);
}

/** When a lease ends whose request was sent at `sent` and answered with `remainingTtl`. */
export function leaseEnd(sent: number, remainingTtl: number): number {
  return sent + remainingTtl - leaseMargin(remainingTtl);
}

/** extended: an answer with the lease. noAnswer: none in time, or UNAVAILABLE; it may have taken effect. refused: another error. */
export type ExtendOutcome = 'extended' | 'leaseLost' | 'noAnswer' | 'refused';

export interface LeaseTerms {
  ttl: number;
  maxHold: number;
  stopMargin: number;
}

// The tenth allows for rounding.
function isCut(remainingTtl: number, ttl: number): boolean {
  return remainingTtl < ttl - ttl / 10;
}

// A heartbeat extends only leases with less than two thirds of their ttl left: it comes a little later than a third after the grant.
function lag(ttl: number): number {
  return Math.min(ttl / 100, 20);
}

// Renewals are due on a grid, so that those of many leases go together: at most ttl/40 late.
function gridOf(ttl: number): number {
  return Math.min(Math.max(ttl / 40, 1), 1_000);
}

function onGrid(time: number, step: number): number {
  return Math.ceil(time / step) * step;
}

export class LeaseLife {
  readonly terms: LeaseTerms;
  end: number;
  /** When the next renewal is due. */
  renewAt: number;
  /** Whether a renewal is in flight. */
  asking = false;
  /** Whether the lease has reached its max_hold, beyond which no extend moves the end. */
  capped: boolean;
  lost = false;
  #failures = 0;
  #skipped = 0;  // Heartbeats in a row.

  constructor(terms: LeaseTerms, sent: number, remainingTtl: number) {
    this.terms = terms;
    this.end = leaseEnd(sent, remainingTtl);
    // The lease of a repeated acquire may be old already. Then it is extended at once.
    this.renewAt = isCut(remainingTtl, terms.ttl) ? sent : this.#regular(sent);
    this.capped = terms.maxHold > 0 && terms.maxHold <= terms.ttl;
  }

  get lostAt(): number {
    return this.end - this.terms.stopMargin;
  }

  /** When something is due next: a renewal, or the loss. Infinity once it is lost. */
  get nextAt(): number {
    if (this.lost) return Infinity;
    if (this.asking || this.capped) return this.lostAt;
    return Math.min(this.renewAt, this.lostAt);
  }

  renewalIsDue(now: number): boolean {
    return !this.lost && !this.asking && !this.capped && this.renewAt <= now;
  }

  /** Call when a renewal is sent. Returns how long to wait for its answer: half of the time that is left. */
  extendSent(now: number): number {
    this.asking = true;
    return Math.max((this.lostAt - now) / 2, 1);
  }

  /** Call when the renewal that was sent at `sent` is answered. An answer that comes after the loss changes nothing. */
  extendAnswered(now: number, sent: number, outcome: ExtendOutcome, remainingTtl = 0): void {
    this.asking = false;
    if (this.lost || now >= this.lostAt) return;
    const { ttl } = this.terms;
    switch (outcome) {
      case 'extended':
        this.#failures = 0;
        this.#skipped = 0;
        this.end = Math.max(this.end, leaseEnd(sent, remainingTtl));
        this.renewAt = Math.max(now, this.#regular(sent));
        this.capped = isCut(remainingTtl, ttl);
        return;
      case 'leaseLost':
        this.lost = true;
        this.end = Math.min(this.end, now);
        return;
      case 'noAnswer':
        ++this.#failures;
        this.renewAt = onGrid(now + backoffDelay(this.#failures, Math.min(BACKOFF_MAX, ttl / 10)), Math.min(Math.max(ttl / 300, 1), 20));
        return;
      case 'refused':
        this.renewAt = this.#regular(now);
        return;
    }
  }

  /**
   * Call when a heartbeat was answered, but did not extend this lease. It may have had more than two thirds left, so another one follows
   * soon. Returns whether the lease has to be extended by itself instead, at once.
   */
  extendSkipped(now: number): boolean {
    this.asking = false;
    const again = onGrid(now + this.terms.ttl / 20, gridOf(this.terms.ttl));
    const mayBeatAgain = this.#skipped++ === 0 && again < (now + this.lostAt) / 2;
    this.renewAt = mayBeatAgain ? again : now;
    return !mayBeatAgain;
  }

  /** The next renewal is due at once. */
  renewAtOnce(now: number): void {
    this.asking = false;
    this.renewAt = now;
  }

  loseIfDue(now: number): boolean {
    if (now >= this.lostAt) this.lost = true;
    return this.lost;
  }

  remaining(now: number): number {
    return Math.max(0, this.end - now);
  }

  #regular(sent: number): number {
    const { ttl } = this.terms;
    return onGrid(sent + ttl / 3 + lag(ttl), gridOf(ttl));
  }
}
