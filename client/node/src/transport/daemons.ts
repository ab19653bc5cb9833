// SPDX-License-Identifier: Apache-2.0
//
// The daemons of one service, and which of them is in use.
import { isUnanswered, type LockkeeperError } from '../errors';
import type { Clock } from '../renewal/clock';
import { Daemon, type DaemonEvents, type DaemonSettings } from './daemon';
import type { OperationRequest, OperationResult } from './messages';
import { Operation } from './operation';
import { cancelledByCaller } from './problems';
import { RetryRule } from './retry_rule';
import { sleep } from './sleep';

export type OnUnserved = (why: LockkeeperError) => void;

export class Daemons {
  readonly all: readonly Daemon[];
  readonly #clock: Clock;
  readonly #onUnserved: OnUnserved | undefined;
  #current = 0;

  constructor(addresses: readonly string[], settings: Omit<DaemonSettings, 'address'>, onUnserved: OnUnserved | undefined) {
    this.#clock = settings.clock;
    this.#onUnserved = onUnserved;
    const events: DaemonEvents = {
      ...settings.events,
      onDraining: (daemon) => {
        this.#moveOn(daemon);
        settings.events.onDraining(daemon);
      },
    };
    this.all = addresses.map((address) => new Daemon({ ...settings, address, events }));
  }

  get current(): Daemon {
    return this.all[this.#current]!;
  }

  /** `daemon` did not serve. Moves on to the next one, unless that was already done. */
  failed(daemon: Daemon, why: LockkeeperError): void {
    this.#moveOn(daemon);
    this.#onUnserved?.(why);
  }

  /** One attempt; resolves to the operation with its answer. */
  runOnce(daemon: Daemon, request: OperationRequest, timeout: number, signal?: AbortSignal): Promise<Operation> {
    if (signal) return this.#runCancellable(daemon, request, timeout, signal);
    return new Promise((resolve) => daemon.run(new Operation(request, this.#clock.now(), timeout, resolve)));
  }

  /** Sends the operation again until it is answered, for at most `timeout`. */
  async runUntilAnswered(request: OperationRequest, timeout: number): Promise<Operation> {
    const rule = new RetryRule(this.#clock.now() + timeout, this.all.length);
    for (;;) {
      const daemon = this.current;
      const began = this.#clock.now();
      const answer = await this.runOnce(daemon, request, rule.tryTimeout(began));
      const delay = answer.error && rule.delayAfter(answer.error, began, this.#clock.now());
      if (delay === null) return answer;
      this.failed(daemon, answer.error!);
      await sleep(delay);
    }
  }

  /** One attempt, told to a callback. Moves on if there is no answer. */
  run(request: OperationRequest, timeout: number, done: (error: LockkeeperError | null, result: OperationResult | null) => void): void {
    const daemon = this.current;
    daemon.run(new Operation(request, this.#clock.now(), timeout, ({ error, result }) => {
      if (error && isUnanswered(error)) this.failed(daemon, error);
      done(error, result);
    }));
  }

  #runCancellable(daemon: Daemon, request: OperationRequest, timeout: number, signal: AbortSignal): Promise<Operation> {
    return new Promise((resolve) => {
      const onAbort = () => daemon.cancel(operation);
      const operation = new Operation(request, this.#clock.now(), timeout, (answered) => {
        signal.removeEventListener('abort', onAbort);
        resolve(answered);
      });
      if (signal.aborted) {
        operation.done(cancelledByCaller(), null);
        return;
      }
      signal.addEventListener('abort', onAbort);
      daemon.run(operation);
    });
  }

  #moveOn(daemon: Daemon): void {
    if (this.current === daemon) this.#current = (this.#current + 1) % this.all.length;
  }
}
