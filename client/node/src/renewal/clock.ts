// SPDX-License-Identifier: Apache-2.0
//
// Time that goes on while the machine sleeps, in milliseconds. Node has no call for CLOCK_BOOTTIME. Its monotonic clock stands still during
// a suspend on Linux (elsewhere it goes on), so the time that the machine slept is taken from os.uptime() and added. That costs 10 µs, and
// is done at most every 5 ms.
import { uptime } from 'node:os';

export interface Clock {
  now(): number;
}

const UPTIME_EVERY = 5;
// os.uptime() has a resolution of 10 ms.
const UPTIME_NOISE = 25;

export class BootClock implements Clock {
  readonly #monotonic: () => number;
  readonly #sinceBoot: () => number;
  #slept = 0;
  #base: number | null = null;
  #readAt = -Infinity;

  // Both in milliseconds; of this machine unless a test says otherwise.
  constructor(monotonic = () => performance.now(), sinceBoot = () => uptime() * 1000) {
    this.#monotonic = monotonic;
    this.#sinceBoot = sinceBoot;
  }

  now(): number {
    const monotonic = this.#monotonic();
    if (monotonic - this.#readAt >= UPTIME_EVERY && process.platform === 'linux') this.#readUptime();
    return monotonic + this.#slept;
  }

  #readUptime(): void {
    for (let tries = 0; tries < 3; ++tries) {
      const before = this.#monotonic();
      const ahead = this.#sinceBoot() - before;
      this.#readAt = this.#monotonic();
      if (this.#readAt - before > 1) continue;  // Paused in between: the difference says nothing.
      this.#base ??= ahead;
      if (ahead - this.#base > this.#slept + UPTIME_NOISE) this.#slept = ahead - this.#base;
      return;
    }
  }
}
