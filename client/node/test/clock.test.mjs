// SPDX-License-Identifier: Apache-2.0
//
// The clock of the leases goes on while the machine sleeps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import clock from '../dist/renewal/clock.js';

const HOUR = 3_600_000;

class Machine {
  monotonic = 7_000;
  sinceBoot = 1_000_000;
  reads = 0;
  pausedReads = new Set();
  clock = new clock.BootClock(
    () => this.monotonic,
    () => {
      if (this.pausedReads.has(++this.reads)) this.pass(10_000, 0);
      return this.sinceBoot;
    },
  );

  constructor() {
    this.start = this.clock.now();
  }

  pass(awake, asleep) {
    this.monotonic += awake;
    this.sinceBoot += awake + asleep;
  }

  passed() {
    return this.clock.now() - this.start;
  }
}

const onLinux = { skip: process.platform !== 'linux' };

test('the time that the machine slept is counted', onLinux, () => {
  const machine = new Machine();
  machine.pass(1_000, 0);
  assert.equal(machine.passed(), 1_000);
  machine.pass(5, HOUR);
  assert.equal(machine.passed(), 1_005 + HOUR);
  machine.pass(1_000, 5_000);
  assert.equal(machine.passed(), 2_005 + HOUR + 5_000);
});

test('what the coarse clock is off by is no sleep, and time never goes back', onLinux, () => {
  const machine = new Machine();
  machine.pass(1_000, 25);
  assert.equal(machine.passed(), 1_000);
  machine.pass(1_000, 5_000);
  const before = machine.passed();
  machine.pass(1_000, -25);
  assert.equal(machine.passed(), before + 1_000);
});

test('a pause between the looks at both clocks is no sleep', onLinux, () => {
  const machine = new Machine();
  machine.pass(1_000, 0);
  machine.pausedReads.add(machine.reads + 1);
  assert.equal(machine.passed(), 1_000);
  assert.equal(machine.reads, 3, 'it looked again');
});

test('the kernel is asked every 5 ms at most', onLinux, () => {
  const machine = new Machine();
  machine.pass(1_000, 0);
  for (let i = 0; i < 1_000; ++i) machine.clock.now();
  assert.equal(machine.reads, 2);
});

test('this machine is awake', () => {
  assert.ok(Math.abs(new clock.BootClock().now() - performance.now()) < 100);
});
