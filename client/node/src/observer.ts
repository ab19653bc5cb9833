// SPDX-License-Identifier: Apache-2.0
//
// Observers: who leads, told at each change. One watch after the other, each at the next address, and looks at the same daemon.
import { LockkeeperError } from './errors';
import { type Leader, LeaderView } from './leader_view';
import { backoffDelay } from './renewal/backoff';
import { type OnError, report } from './report';
import type { Daemon } from './transport/daemon';
import type { Daemons } from './transport/daemons';
import { aboutLock, eventKindName, lockStateName, msOf, type GetLockResponse, type WatchLocksResponse } from './transport/messages';
import { TRY_TIMEOUT } from './transport/retry_rule';
import { sleep } from './transport/sleep';

// How long the first look waits for the stream to start. A daemon says within 2 s that it has; a proxy may pass no stream on.
const START_TIMEOUT = 5_000;

export interface ObserveOptions {
  /**
   * Called once it is known who leads, and at each change; with null while nobody leads. One call after the other: if it returns a promise,
   * the next one comes when that is settled. What it throws is told to `onError`.
   */
  onChange?: (leader: Leader | null) => unknown;
  /** Called with each error; none ends the observation. Default: a warning of the process. */
  onError?: OnError;
}

export interface ObserverPorts {
  daemons: Daemons;
  onClosed(observer: Observer): void;
  /** In milliseconds. For tests. */
  startTimeout?: number;
  lookTimeout?: number;
}

interface WatchEvents {
  onChange(leader: Leader | null): void;
  /** Settled when all changes are told; null if they are. */
  telling(): Promise<void> | null;
  onEnd(why: LockkeeperError): void;
}

/** One stream, and the looks at the same daemon, until it ends or is closed. */
class Watch {
  /** It serves: the next delay is short again. */
  hasLooked = false;
  readonly #daemon: Daemon;
  readonly #name: string;
  readonly #view: LeaderView;
  readonly #events: WatchEvents;
  readonly #lookTimeout: number;
  readonly #stream: ReturnType<Daemon['watch']>;
  #look: ReturnType<Daemon['look']> | null = null;
  #lookTimer: NodeJS.Timeout | null = null;
  #mustLook = false;
  #isOver = false;

  constructor(daemon: Daemon, name: string, view: LeaderView, events: WatchEvents, { startTimeout, lookTimeout }: ObserverPorts) {
    this.#daemon = daemon;
    this.#name = name;
    this.#view = view;
    this.#events = events;
    this.#lookTimeout = lookTimeout ?? TRY_TIMEOUT;
    this.#lookTimer = setTimeout(() => this.#lookNow(), startTimeout ?? START_TIMEOUT).unref();
    this.#stream = daemon.watch(name, (why) => this.#end(why));
    this.#stream.on('data', (message: WatchLocksResponse) => void this.#onMessage(message));
  }

  close(): void {
    this.#isOver = true;
    if (this.#lookTimer) clearTimeout(this.#lookTimer);
    this.#look?.cancel();
    this.#stream.cancel();
  }

  #end(why: LockkeeperError): void {
    if (this.#isOver) return;
    this.close();
    this.#events.onEnd(why);
  }

  async #onMessage(message: WatchLocksResponse): Promise<void> {
    for (const event of message.events) {
      if (this.#isOver) return;
      const kind = eventKindName(event.kind);
      if (this.#view.onEvent(kind, aboutLock(event))) this.#mustLook = true;
      this.#tell();
    }
    if (this.#mustLook) this.#lookNow();
    const telling = this.#events.telling();
    if (!telling) return;
    this.#stream.pause();  // What cannot be told is left to gRPC, and then to the daemon, which tells of a gap.
    await telling;
    this.#stream.resume();
  }

  #lookNow(): void {
    if (this.#look || this.#isOver) return;
    if (this.#lookTimer) clearTimeout(this.#lookTimer);
    this.#mustLook = false;
    this.#view.lookSent();
    this.#look = this.#daemon.look(this.#name, this.#lookTimeout, (error, answer) => void this.#onLook(error, answer));
  }

  async #onLook(error: LockkeeperError | null, answer: GetLockResponse | undefined): Promise<void> {
    this.#look = null;
    if (this.#isOver) return;
    if (error) {
      this.#end(error);
      return;
    }
    this.hasLooked = true;
    const { lock, quarantineLeft } = answer!;
    const state = lock ? lockStateName(lock.state) : '';
    const after = this.#view.onLook(state, aboutLock(lock ?? {}), quarantineLeft ? msOf(quarantineLeft) : null);
    this.#tell();
    await this.#events.telling();
    if (this.#isOver || this.#look) return;
    if (after === 0 || this.#mustLook) this.#lookNow();
    else this.#lookTimer = setTimeout(() => this.#lookNow(), after).unref();
  }

  #tell(): void {
    if (!this.#isOver && this.#view.takeChange()) this.#events.onChange(this.#view.leader);
  }
}

/**
 * Knows who leads, until it is closed. It does not keep the process alive.
 *
 * What it knows is a little late, always: a resource is protected by the fencing token, never by an observer.
 */
export class Observer {
  readonly name: string;
  readonly #ports: ObserverPorts;
  readonly #options: ObserveOptions;
  readonly #stop = new AbortController();
  readonly #view = new LeaderView();
  readonly #untold: (Leader | null)[] = [];
  #leader: Leader | null = null;
  #telling: Promise<void> | null = null;
  #watch: Watch | null = null;

  /** For the client. */
  constructor(name: string, ports: ObserverPorts, options: ObserveOptions) {
    this.name = name;
    this.#ports = ports;
    this.#options = options;
    void this.#run();
  }

  /** The leader as it is known now; null if nobody leads, or nothing is known yet. */
  get leader(): Leader | null {
    return this.#leader;
  }

  /** Ends it: `onChange` and `onError` are not called any more. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#watch?.close();
    this.#untold.length = 0;
    this.#ports.onClosed(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  // The client's own calls stay where they are: a watch that is refused says nothing about them.
  async #run(): Promise<void> {
    const { all, current } = this.#ports.daemons;
    let index = all.indexOf(current);
    let failures = 0;
    await null;  // So that nothing is told before `observe` has returned.
    while (!this.#stop.signal.aborted) {
      const { why, hasLooked } = await this.#follow(all[index]!);
      if (this.#stop.signal.aborted) return;
      failures = hasLooked ? 1 : failures + 1;
      report(this.#options.onError, why);
      await sleep(Math.max(backoffDelay(failures), why.retryDelay ?? 0), this.#stop.signal);
      await this.#telling;  // Changes that cannot be told are not to pile up.
      index = (index + 1) % all.length;
    }
  }

  // Never resolves if it is closed.
  #follow(daemon: Daemon): Promise<{ why: LockkeeperError; hasLooked: boolean }> {
    return new Promise((resolve) => {
      const watch = new Watch(daemon, this.name, this.#view, {
        onChange: (leader) => this.#changed(leader),
        telling: () => this.#telling,
        onEnd: (why) => resolve({ why, hasLooked: watch.hasLooked }),
      }, this.#ports);
      this.#watch = watch;
    });
  }

  #changed(leader: Leader | null): void {
    this.#leader = leader;
    this.#untold.push(leader);
    this.#telling ??= this.#tellAll();
  }

  async #tellAll(): Promise<void> {
    for (let leader = this.#untold.shift(); leader !== undefined; leader = this.#untold.shift()) await this.#tellOne(leader);
    this.#telling = null;
  }

  async #tellOne(leader: Leader | null): Promise<void> {
    try {
      await this.#options.onChange?.(leader);
    } catch (error) {
      if (!this.#stop.signal.aborted) report(this.#options.onError, error);
    }
  }
}
