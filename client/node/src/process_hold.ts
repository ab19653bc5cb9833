// SPDX-License-Identifier: Apache-2.0
//
// When the process may end, and what happens then. A client does not keep it alive, except while a call of the program is in flight. When
// nothing is left to do, or a signal asks the process to end, the leases are released first.
const NEVER = 2 ** 31 - 1;

export class ProcessHold {
  readonly #close: () => Promise<void>;
  readonly #signals: readonly NodeJS.Signals[];
  readonly #timer = setInterval(() => {}, NEVER).unref();
  #calls = 0;

  constructor(close: () => Promise<void>, signals: boolean | readonly NodeJS.Signals[]) {
    this.#close = close;
    this.#signals = typeof signals === 'boolean' ? (signals ? ['SIGTERM', 'SIGINT'] : []) : signals;
    process.on('beforeExit', this.#onBeforeExit);
    for (const signal of this.#signals) process.on(signal, this.#onSignal);
  }

  /** A call of the program begins. */
  enter(): void {
    if (this.#calls++ === 0) this.#timer.ref();
  }

  leave(): void {
    if (--this.#calls === 0) this.#timer.unref();
  }

  async during<T>(call: () => Promise<T>): Promise<T> {
    this.enter();
    try {
      return await call();
    } finally {
      this.leave();
    }
  }

  close(): void {
    clearInterval(this.#timer);
    process.off('beforeExit', this.#onBeforeExit);
    for (const signal of this.#signals) process.off(signal, this.#onSignal);
  }

  readonly #onBeforeExit = () => {
    void this.#close();
  };

  readonly #onSignal = async (signal: NodeJS.Signals) => {
    await this.#close();
    // Without a listener of the program the signal ends the process, as it would have done without this client.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
}
