// SPDX-License-Identifier: Apache-2.0
//
// A lease that this client keeps: what renewing it needs.
import type { LockkeeperError, LossCause } from '../errors';
import type { SessionLink } from '../transport/session';
import type { LeaseLife } from './life';

export class KeptLease {
  readonly name: string;
  readonly leaseId: string;
  readonly fencingToken: number;
  /** Given with each extend. Undefined: the ttl as granted. */
  readonly extendTtl: number | undefined;
  readonly life: LeaseLife;
  /** The newest proof of the lease. */
  reassertion: string;
  /** The session whose heartbeat extends it. */
  link: SessionLink | null;
  /** Whether a heartbeat may count as its renewal: it extends by the ttl as granted, and a max_hold would cut that without telling. */
  heartbeatable: boolean;
  /** The last heartbeat did not extend it: the next renewal is its own. */
  needsOwnExtend = false;
  state: 'held' | 'lost' | 'dropped' = 'held';
  lossCause: LossCause | null = null;
  /** Of the last renewal. */
  lastError: LockkeeperError | null = null;
  onLost: (() => void) | null = null;
  /** Its numbers with the client and with the keeper; 0: not there. */
  inClient = 0;
  inKeeper = 0;

  constructor(facts: {
    name: string; leaseId: string; fencingToken: number; reassertion: string; life: LeaseLife;
    extendTtl?: number | undefined; link: SessionLink | null; heartbeatable: boolean;
  }) {
    this.name = facts.name;
    this.leaseId = facts.leaseId;
    this.fencingToken = facts.fencingToken;
    this.reassertion = facts.reassertion;
    this.life = facts.life;
    this.extendTtl = facts.extendTtl;
    this.link = facts.link;
    this.heartbeatable = facts.heartbeatable;
  }

  lose(cause: LossCause): void {
    this.state = 'lost';
    this.lossCause = cause;
    this.onLost?.();
  }

  /** Why the lease is lost whose time is up. */
  get causeInTime(): LossCause {
    if (this.life.capped) return 'MAX_HOLD';
    return this.lastError || this.life.asking ? 'RENEWALS_FAILED' : 'PAUSED';
  }
}
