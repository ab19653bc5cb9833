// SPDX-License-Identifier: Apache-2.0
//
// Keeps all leases of a client with one timer. A lease that was granted in the open session is kept by the session's heartbeat; another one
// is adopted into the session, or extended by itself where there is no session. A heartbeat counts only for the leases whose new proof its
// answer has: for the others nothing is assumed.
import { isUnanswered, type LockkeeperError } from '../errors';
import { Table } from '../table';
import type { Daemons } from '../transport/daemons';
import {
  durationOf, type ExtendRequest, type LeaseLostMessage, type LeaseMessage, msOf, reasonName, type SessionResponse, toNumber,
} from '../transport/messages';
import type { SessionLink } from '../transport/session';
import type { Clock } from './clock';
import type { KeptLease } from './kept_lease';
import type { ExtendOutcome } from './life';
import { PauseWatch } from './pause_watch';

type HeartbeatResult = NonNullable<SessionResponse['heartbeatResult']>;

// Most leases that are extended one by one at a time. The others wait for the next look.
const OWN_EXTENDS_MAX = 512;
const LOOK_AGAIN = 10;
// How long the watch for pauses stays on after the last lease: turning it on and off costs more than a short pause saves.
const WATCH_LINGER = 1_000;

interface Beat {
  number: number;
  sent: number;
  leases: Set<KeptLease>;
  timer: NodeJS.Timeout;
}

interface Beats {
  inFlight: Beat[];
  /** Pages of an answer that has more. */
  pages: HeartbeatResult[];
}

function outcomeOf(error: LockkeeperError | null): ExtendOutcome {
  if (!error) return 'extended';
  if (error.code === 'FAILED_PRECONDITION' && error.reason === 'LEASE_LOST') return 'leaseLost';
  return isUnanswered(error) ? 'noAnswer' : 'refused';
}

export class Keeper {
  readonly #clock: Clock;
  readonly #daemons: () => Daemons;
  readonly #watch: PauseWatch | null;
  readonly #leases = new Table<KeptLease>();
  readonly #beats = new Map<SessionLink, Beats>();
  #ownExtends = 0;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Infinity;
  #emptySince = 0;
  // Not later than the moment at which the next lease counts as lost.
  #nextLoss = Infinity;

  constructor(clock: Clock, daemons: () => Daemons, watchForPauses: boolean) {
    this.#clock = clock;
    this.#daemons = daemons;
    this.#watch = watchForPauses ? new PauseWatch(() => {
      if (this.#clock.now() >= this.#nextLoss) this.#loseDue();
    }) : null;
  }

  get size(): number {
    return this.#leases.size;
  }

  keep(lease: KeptLease): void {
    lease.inKeeper = this.#leases.add(lease);
    this.#nextLoss = Math.min(this.#nextLoss, lease.life.lostAt);
    this.#watch?.on();
    this.#armTimer(lease.life.nextAt);
  }

  /** Stops keeping it. */
  drop(lease: KeptLease): void {
    this.loseIfDue(lease);
    this.#forget(lease);
    lease.state = 'dropped';
    lease.onLost = null;
  }

  /** Stops keeping it, without a release: it is to run out. */
  leave(lease: KeptLease): void {
    this.drop(lease);
    lease.link?.forget(lease.name, lease.leaseId);
  }

  /** Makes the loss of the lease known if its time is up. */
  loseIfDue(lease: KeptLease): void {
    if (lease.state === 'held' && lease.life.loseIfDue(this.#clock.now())) this.#lose(lease, false);
  }

  onSessionOpened(): void {
    // Adopt at once what was in the session before.
    const now = this.#clock.now();
    for (const lease of this.#leases.all()) {
      if (lease.link === null && lease.heartbeatable && !lease.life.asking) lease.life.renewAt = Math.min(lease.life.renewAt, now);
    }
    this.#armTimer(now);
  }

  onSessionOver(link: SessionLink): void {
    const { inFlight } = this.#beats.get(link) ?? { inFlight: [] };
    this.#beats.delete(link);
    const now = this.#clock.now();
    for (const beat of inFlight) this.#beatFailed(beat, now);
    let wasUsed = false;
    for (const lease of this.#leases.all()) {
      if (lease.link !== link) continue;
      lease.link = null;
      wasUsed = true;
    }
    if (!wasUsed) return;
    // Opens the next session, in which they are adopted.
    const next = this.#daemons().current.currentLink();
    if (next?.state === 'open') this.onSessionOpened();
    this.#armTimer(now + LOOK_AGAIN);
  }

  onLeaseLost(lost: LeaseLostMessage): void {
    const lease = this.#find(lost);
    if (lease && reasonName(lost.reason) === 'LEASE_LOST') this.#answeredWith(lease, this.#clock.now(), 'leaseLost', 0);
  }

  onHeartbeatResult(link: SessionLink, page: HeartbeatResult): void {
    const beats = this.#beats.get(link);
    if (!beats) return;
    beats.pages.push(page);
    if (page.more) return;
    const { pages } = beats;
    beats.pages = [];
    const number = toNumber(page.number);
    const answered = beats.inFlight.filter((beat) => beat.number <= number);
    beats.inFlight = beats.inFlight.filter((beat) => beat.number > number);
    const byId = new Map(this.#leases.all().filter(({ heartbeatable }) => heartbeatable).map((lease) => [lease.leaseId, lease]));
    this.#takeNotExtended(pages, answered, byId);
    // A beat whose answer was late is not known any more: its answer brings proofs, but no time.
    const sent = answered.at(-1)?.number === number ? answered.at(-1)!.sent : null;
    this.#takeProofs(link, pages, sent, byId);
    const now = this.#clock.now();
    for (const beat of answered) {
      clearTimeout(beat.timer);
      for (const lease of beat.leases) {
        if (lease.state !== 'held' || !lease.life.asking) continue;
        lease.needsOwnExtend = lease.life.extendSkipped(now);
        this.#armTimer(lease.life.nextAt);
      }
    }
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    for (const { inFlight } of this.#beats.values()) for (const { timer } of inFlight) clearTimeout(timer);
    this.#beats.clear();
    this.#watch?.off();
    this.#timerAt = -Infinity;
  }

  #takeNotExtended(pages: HeartbeatResult[], answered: Beat[], byId: Map<string, KeptLease>): void {
    const now = this.#clock.now();
    for (const { notExtended } of pages) {
      for (const named of notExtended) {
        const lease = this.#find(named, byId);
        if (!lease) continue;
        for (const page of pages) delete page.reassertions[lease.leaseId];
        for (const beat of answered) beat.leases.delete(lease);
        lease.needsOwnExtend = true;
        if (reasonName(named.reason) === 'LEASE_LOST') this.#answeredWith(lease, now, 'leaseLost', 0);
        else if (reasonName(named.reason) === 'LEASE_LIMIT') lease.life.renewAtOnce(now);
        else this.#answeredWith(lease, now, 'noAnswer', 0);
      }
    }
    this.#armTimer(now);
  }

  #takeProofs(link: SessionLink, pages: HeartbeatResult[], sent: number | null, byId: Map<string, KeptLease>): void {
    for (const { reassertions } of pages) {
      for (const leaseId in reassertions) {
        const lease = byId.get(leaseId);
        if (!lease || lease.link !== link || lease.state !== 'held') continue;
        lease.reassertion = reassertions[leaseId]!;
        if (sent === null) continue;
        lease.lastError = null;
        this.#answeredWith(lease, sent, 'extended', lease.life.terms.ttl);
      }
    }
  }

  #find({ name, leaseId }: LeaseLostMessage, byId?: Map<string, KeptLease>): KeptLease | undefined {
    const lease = byId?.get(leaseId);
    if (lease?.name === name) return lease;
    return this.#leases.all().find((each) => each.leaseId === leaseId && each.name === name);
  }

  #forget(lease: KeptLease): void {
    this.#leases.remove(lease.inKeeper);
    if (this.#leases.size > 0) return;
    this.#emptySince = this.#clock.now();
    this.#nextLoss = Infinity;
    this.#armTimer(this.#emptySince + WATCH_LINGER);
  }

  #lose(lease: KeptLease, byWord: boolean): void {
    this.#forget(lease);
    lease.link?.forget(lease.name, lease.leaseId);
    lease.lose(byWord ? 'LEASE_LOST' : lease.causeInTime);
  }

  #loseDue(): void {
    const now = this.#clock.now();
    let nextLoss = Infinity;
    for (const lease of this.#leases.all()) {
      if (lease.state !== 'held') continue;  // Who was told of another's loss has dropped it.
      if (lease.life.loseIfDue(now)) this.#lose(lease, false);
      else nextLoss = Math.min(nextLoss, lease.life.lostAt);
    }
    this.#nextLoss = nextLoss;
  }

  #onTimer(): void {
    this.#timer = null;
    this.#timerAt = Infinity;
    this.#loseDue();
    const now = this.#clock.now();
    if (this.#leases.size === 0) {
      if (now >= this.#emptySince + WATCH_LINGER) this.#watch?.off();
      else this.#armTimer(this.#emptySince + WATCH_LINGER);
      return;
    }
    const link = this.#daemons().current.openLink;
    const byBeat = new Set<KeptLease>();
    let next = Infinity;
    for (const lease of this.#leases.all()) {
      if (lease.life.renewalIsDue(now)) {
        if (link !== null && lease.link === link && lease.heartbeatable && !lease.needsOwnExtend) byBeat.add(lease);
        else if (this.#ownExtends < OWN_EXTENDS_MAX) this.#renewAlone(lease, link, now);
        else next = Math.min(next, now + LOOK_AGAIN);
      }
      if (!byBeat.has(lease) && !lease.life.renewalIsDue(now)) next = Math.min(next, lease.life.nextAt);
    }
    if (link !== null && byBeat.size > 0) next = Math.min(next, this.#beat(link, byBeat, now));
    this.#armTimer(next);
  }

  // Returns when the first of the leases counts as lost.
  #beat(link: SessionLink, leases: Set<KeptLease>, now: number): number {
    let timeout = Infinity;
    let nextLoss = Infinity;
    for (const lease of leases) {
      timeout = Math.min(timeout, lease.life.extendSent(now));
      nextLoss = Math.min(nextLoss, lease.life.lostAt);
    }
    const beats = this.#beats.get(link) ?? { inFlight: [], pages: [] };
    this.#beats.set(link, beats);
    const beat: Beat = {
      number: link.heartbeat(), sent: now, leases,
      timer: setTimeout(() => {
        link.heartbeatIsLate(beat.sent);
        beats.inFlight = beats.inFlight.filter((each) => each !== beat);
        this.#beatFailed(beat, this.#clock.now());
      }, timeout).unref(),
    };
    beats.inFlight.push(beat);
    return nextLoss;
  }

  #beatFailed(beat: Beat, now: number): void {
    clearTimeout(beat.timer);
    for (const lease of beat.leases) {
      if (lease.state !== 'held' || !lease.life.asking) continue;
      lease.needsOwnExtend = true;
      lease.life.extendAnswered(now, beat.sent, 'noAnswer');
      this.#armTimer(lease.life.nextAt);
    }
  }

  #renewAlone(lease: KeptLease, link: SessionLink | null, now: number): void {
    const timeout = lease.life.extendSent(now);
    const { name, leaseId, fencingToken, reassertion } = lease;
    ++this.#ownExtends;
    const isAdopted = link !== null && lease.link !== link && lease.heartbeatable &&
      link.adopt({ name, leaseId, fencingToken, reassertion }, now + timeout, (error, message) => {
        --this.#ownExtends;
        this.#adopted(lease, link, now, error, message);
      });
    if (isAdopted) return;
    const extend: ExtendRequest = { name, leaseId, fencingToken, reassertion };
    if (lease.extendTtl !== undefined) extend.ttl = durationOf(lease.extendTtl);
    this.#daemons().run({ extend }, timeout, (error, result) => {
      --this.#ownExtends;
      this.answered(lease, now, error, result?.extend?.lease);
    });
  }

  #adopted(lease: KeptLease, link: SessionLink, sent: number, error: LockkeeperError | null, message: LeaseMessage | null): void {
    if (outcomeOf(error) === 'refused') lease.heartbeatable = false;  // The session has no room for it: it is extended by itself.
    if (!error && link.state !== 'ended') lease.link = link;
    if (lease.state !== 'held') lease.link?.forget(lease.name, lease.leaseId);
    this.answered(lease, sent, error, message);
  }

  /** Takes the answer to an extend. */
  answered(lease: KeptLease, sent: number, error: LockkeeperError | null, message: LeaseMessage | null | undefined): void {
    if (lease.state !== 'held') return;
    const outcome = !error && !message ? 'noAnswer' : outcomeOf(error);
    lease.lastError = error;
    if (outcome === 'extended') {
      lease.needsOwnExtend = false;
      if (message!.reassertion) lease.reassertion = message!.reassertion;
    }
    this.#answeredWith(lease, sent, outcome, msOf(message?.remainingTtl));
  }

  #answeredWith(lease: KeptLease, sent: number, outcome: ExtendOutcome, remainingTtl: number): void {
    this.loseIfDue(lease);
    if (lease.state !== 'held') return;
    lease.life.extendAnswered(this.#clock.now(), sent, outcome, remainingTtl);
    if (lease.life.lost) {
      this.#lose(lease, true);
    } else {
      this.#armTimer(lease.life.nextAt);
    }
  }

  #armTimer(at: number): void {
    if (at >= this.#timerAt) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#onTimer(), Math.max(at - this.#clock.now(), 0)).unref();
  }
}
