// SPDX-License-Identifier: Apache-2.0
//
// Leader election over acquire and lease: who holds the lock leads, and its fencing token is the number of the term.
import { invalidOption, type LeaseLostError, LockkeeperError } from './errors';
import { askClockFirst, type Lease } from './lease';
import type { AcquireOptions } from './options';
import { backoffDelay } from './renewal/backoff';
import { report } from './report';

// How long one acquire of a campaign stands in line. Its errors are told when it ends, so it must end.
export const CAMPAIGN_WAIT = 30_000;

// Those that the campaign sets itself.
const NOT_OPTIONS = ['wait', 'signal', 'leaseId', 'onContention'] as const;

export interface LeadOptions extends Omit<AcquireOptions, typeof NOT_OPTIONS[number]> {
  /**
   * Called at the beginning of each term; `lease.fencingToken` is the term's number. `signal` is aborted when the term ends: the lease is
   * lost, or you resign. When it returns, the term goes on. If it throws, or its promise rejects, that is told to `onError`, and this
   * candidate resigns and campaigns again after one ttl.
   */
  onElected: (lease: Lease, signal: AbortSignal) => unknown;
  /** Called when the lease is lost, before it ends. Not after `resign` or `close`. */
  onLost?: (why: LeaseLostError) => void;
  /** Called with each error of the campaign, which then goes on, and with what `onElected` throws. Default: a warning of the process. */
  onError?: (why: unknown) => void;
}

export interface LeadershipPorts {
  acquire(signal: AbortSignal): Promise<Lease | null>;
  onClosed(leadership: Leadership): void;
}

interface Term {
  lease: Lease;
  /** Ends the term and releases. */
  resign(why: LockkeeperError): Promise<void>;
}

/**
 * A candidate: it stands in line for the lock, leads while it holds the lease, and campaigns again when the term is over and `onElected` has
 * ended, until it is closed. A campaign keeps the process alive; to lead does not.
 */
export class Leadership {
  readonly name: string;
  readonly #ports: LeadershipPorts;
  readonly #options: LeadOptions;
  readonly #stop = new AbortController();
  #term: Term | null = null;
  #campaign: Promise<Lease | null> | null = null;

  /** For the client. */
  constructor(name: string, ports: LeadershipPorts, options: LeadOptions) {
    if (typeof options.onElected !== 'function') throw invalidOption('onElected', 'must be a function');
    for (const field of NOT_OPTIONS) if (field in options) throw invalidOption(field, 'is no option of `lead`');
    this.name = name;
    this.#ports = ports;
    this.#options = options;
    void this.#run();
  }

  /** Whether this candidate leads now. Looks at the clock. */
  get isLeader(): boolean {
    return this.#term?.lease.held ?? false;
  }

  /** The fencing token of this candidate's term; null while it does not lead. */
  get term(): number | null {
    return this.isLeader ? this.#term!.lease.fencingToken : null;
  }

  /**
   * Ends the term: aborts its signal and releases the lock, so that the next candidate in line takes over. This one campaigns again, behind
   * those who wait. Stop the work first: the next leader begins at once.
   */
  async resign(): Promise<void> {
    await this.#term?.resign(new LockkeeperError(`the leadership of \`${this.name}\` was resigned`, { code: 'CANCELLED' }));
  }

  /** Resigns, or ends the campaign. Does not wait for `onElected`. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#ports.onClosed(this);
    await this.#campaign?.catch(() => {});
    await this.resign();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      let lease: Lease | null;
      try {
        this.#campaign = this.#ports.acquire(this.#stop.signal);
        lease = await this.#campaign;
        failures = 0;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#report(error);
        await this.#pause(Math.max(backoffDelay(++failures), (error as LockkeeperError).retryDelay ?? 0));
        continue;
      }
      const failed = lease !== null && await this.#lead(lease);
      if (failed) await this.#pause(lease!.ttl);
    }
  }

  // Resolves when the term and `onElected` are over: whether `onElected` failed.
  async #lead(lease: Lease): Promise<boolean> {
    const controller = new AbortController();
    const { signal } = controller;
    const { lost } = lease;
    askClockFirst(signal, () => { lease.held; });
    let failed = false;
    const over = new Promise<void>((resolve) => {
      const end = (why: LockkeeperError) => {
        lost.removeEventListener('abort', onLost);
        this.#term = null;
        controller.abort(why);
        resolve();
      };
      const onLost = () => {
        end(lost.reason as LeaseLostError);
        this.#callBack(() => this.#options.onLost?.(lost.reason as LeaseLostError));
        lease.release().catch(() => {});  // An extend without an answer may have prolonged it at the server.
      };
      this.#term = {
        lease,
        resign: async (why) => {
          const released = lease.release();
          end(why);
          await released.catch((error: unknown) => this.#report(error));
        },
      };
      lost.addEventListener('abort', onLost);
      if (lost.aborted) onLost();
    });
    if (!signal.aborted && !this.#stop.signal.aborted) {
      try {
        await this.#options.onElected(lease, signal);
      } catch (error) {
        const wasStopped = signal.aborted && (error === signal.reason || (error as Error | null)?.name === 'AbortError');
        if (!wasStopped) this.#report(error);
        failed = !signal.aborted;
        await this.resign();
      }
    }
    await over;
    return failed;
  }

  #callBack(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#report(error);
    }
  }

  #report(error: unknown): void {
    report(this.#options.onError, error);
  }

  #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      signal.addEventListener('abort', done);
    });
  }
}
