// SPDX-License-Identifier: Apache-2.0
//
// Delays between attempts, in milliseconds: they double from 50 ms, with jitter over their upper half.
export const BACKOFF_MAX = 1_000;
const BACKOFF_FIRST = 50;

export function backoffDelay(failures: number, max = BACKOFF_MAX): number {
  const delay = Math.min(BACKOFF_FIRST * 2 ** Math.min(failures - 1, 20), max);
  return delay / 2 + (delay / 2) * Math.random();
}
