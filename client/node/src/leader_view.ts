// SPDX-License-Identifier: Apache-2.0
//
// Who leads, by what a watch tells and what looks find: the rules of an observer. Pure: takes what was told, does no I/O.

/** Who holds a lock, as an observer knows it. */
export interface Leader {
  /** The term. */
  fencingToken: number;
  /** Owner text of the holder, for people. */
  owner: string;
  /** Authenticated identity of the holder. Empty: anonymous. */
  principal: string;
}

/** Milliseconds between two looks without another reason. */
export const LOOK_EVERY = 10_000;
// While the last moments of a quarantine pass.
export const LOOK_AGAIN_MIN = 50;

const SAYS_NOTHING = new Set(['WAITING', 'LEFT', 'QUARANTINE_BEGAN']);
const ENDS = new Set(['RELEASED', 'EXPIRED', 'TAKEN_BACK', 'FORCED']);
const OF_LEASES = new Set(['GRANTED', 'OFFERED', 'EXTENDED', 'LOST', ...ENDS]);

const termOf = (leader: Leader | null) => leader?.fencingToken ?? 0;

export class LeaderView {
  leader: Leader | null = null;
  /** Whether that nobody leads is known, too. */
  isKnown = false;
  #token = 0;  // The newest that an event or a look has told.
  #hasEnded = false;  // Its lease.
  #news = 0;  // How often an event has changed what is known.
  #newsAtLook = 0;
  #hasChanged = false;

  /** Whether to look. Only a look can place what is new, or has no token. */
  onEvent(kind: string, about: Leader): boolean {
    const token = about.fencingToken;
    if (SAYS_NOTHING.has(kind)) return false;
    if (!OF_LEASES.has(kind) || token === 0) return true;
    if (token < this.#token) return false;
    if (kind === 'LOST') return true;  // Its token is what a client has sent, which may be anything.
    if (token > this.#token) {
      this.#raise(token);
      ++this.#news;
      if (kind === 'OFFERED') this.#know(null);
    }
    if (ENDS.has(kind)) {
      if (!this.#hasEnded) ++this.#news;
      this.#hasEnded = true;
      this.#know(null);
    } else if (kind === 'GRANTED' && !this.#hasEnded && token !== termOf(this.leader)) {
      ++this.#news;  // A look may have seen its offer.
      if (about.owner === '') return true;  // Its daemon has not seen the acquire; the store knows.
      this.#know(about);
    }
    return kind === 'EXTENDED' && token !== termOf(this.leader);
  }

  lookSent(): void {
    this.#newsAtLook = this.#news;
  }

  /** `state` is empty if there is no record. Returns the time until the next look. */
  onLook(state: string, about: Leader, quarantineLeft: number | null): number {
    if (this.#news !== this.#newsAtLook) return 0;
    const token = about.fencingToken;
    if (state === 'HELD') {
      if (token >= this.#token) {
        this.#raise(token);
        this.#know(about);
      }
      return LOOK_EVERY;
    }
    if (token > this.#token) this.#raise(token);
    if (state === 'UNPROVEN' || quarantineLeft !== null) {
      // The lease may come back with its next extend.
      return Math.min(Math.max(quarantineLeft ?? LOOK_EVERY, LOOK_AGAIN_MIN), LOOK_EVERY);
    }
    if (state !== 'OFFERED' || token < this.#token) this.#hasEnded = true;
    this.#know(null);
    return LOOK_EVERY;
  }

  /** Whether another one leads than at the last call, or it is known for the first time. */
  takeChange(): boolean {
    const hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    return hasChanged;
  }

  #raise(token: number): void {
    this.#token = token;
    this.#hasEnded = false;
  }

  #know(leader: Leader | null): void {
    if (this.isKnown && termOf(leader) === termOf(this.leader)) return;
    this.leader = leader;
    this.isKnown = true;
    this.#hasChanged = true;
  }
}
