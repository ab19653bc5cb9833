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
  #slept = 0;
  #base: number | null = null;
  #readAt = -Infinity;

  now(): number {
    const monotonic = performance.now();
    if (monotonic - this.#readAt >= UPTIME_EVERY && process.platform === 'linux') this.#readUptime();
    return monotonic + this.#slept;
  }

  #readUptime(): void {
    for (let tries = 0; tries < 3; ++tries) {
      const before = performance.now();
      const ahead = uptime() * 1000 - before;
      this.#readAt = performance.now();
      if (this.#readAt - before > 1) continue;  // Paused in between: the difference says nothing.
      this.#base ??= ahead;
      if (ahead - this.#base > this.#slept + UPTIME_NOISE) this.#slept = ahead - this.#base;
      return;
    }
  }
}
