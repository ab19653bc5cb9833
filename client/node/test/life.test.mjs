// SPDX-License-Identifier: Apache-2.0
//
// When a lease is renewed and lost: the rules as pure code.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import life from '../dist/renewal/life.js';
import messages from '../dist/transport/messages.js';

const { LeaseLife, leaseEnd, stopMarginMax } = life;
const terms = { ttl: 10_000, maxHold: 0, stopMargin: 0 };

test('the end is counted from the send time, less 1 % and 50 ms', () => {
  assert.equal(leaseEnd(1_000, 10_000), 1_000 + 10_000 - 150);
});

test('a renewal is due after a third of the ttl, at most a twentieth late', () => {
  const { renewAt } = new LeaseLife(terms, 1_000, 10_000);
  assert.ok(renewAt >= 1_000 + 10_000 / 3 && renewAt < 1_000 + 10_000 / 3 + 500, String(renewAt));
});

test('leases of many moments are renewed at few moments', () => {
  const moments = new Set(Array.from({ length: 10_000 }, (_, i) => new LeaseLife(terms, i, 10_000).renewAt));
  assert.ok(moments.size <= 10_000 / 250 + 1, `${moments.size} moments`);
});

test('an extend moves the end, and never back', () => {
  const lease = new LeaseLife(terms, 0, 10_000);
  lease.extendSent(3_400);
  lease.extendAnswered(3_500, 3_400, 'extended', 10_000);
  assert.equal(lease.end, leaseEnd(3_400, 10_000));
  lease.extendAnswered(3_600, 3_550, 'extended', 500);
  assert.equal(lease.end, leaseEnd(3_400, 10_000));
});

test('an extend without an answer leaves the end, and is repeated within a tenth of the ttl', () => {
  const lease = new LeaseLife(terms, 0, 10_000);
  const { end } = lease;
  for (let now = lease.renewAt; now < 6_000; now = lease.renewAt) {
    assert.ok(lease.renewalIsDue(now));
    assert.ok(lease.extendSent(now) <= (lease.lostAt - now) / 2);
    assert.ok(!lease.renewalIsDue(now));
    lease.extendAnswered(now, now, 'noAnswer');
    assert.equal(lease.end, end);
    assert.ok(lease.renewAt > now && lease.renewAt <= now + 1_021, `${lease.renewAt - now}`);
  }
});

test('another error is repeated at the next regular time', () => {
  const lease = new LeaseLife(terms, 0, 10_000);
  lease.extendSent(3_400);
  lease.extendAnswered(3_450, 3_400, 'refused');
  assert.ok(lease.renewAt >= 3_450 + 10_000 / 3);
});

test('it is lost at its end less the stop margin, and for good', () => {
  const lease = new LeaseLife({ ...terms, stopMargin: 1_000 }, 0, 10_000);
  assert.equal(lease.lostAt, 10_000 - 150 - 1_000);
  assert.ok(!lease.loseIfDue(lease.lostAt - 1));
  assert.ok(lease.loseIfDue(lease.lostAt));
  lease.extendAnswered(lease.lostAt, 8_000, 'extended', 10_000);
  assert.ok(lease.lost);
});

test('an answer after the loss changes nothing', () => {
  const lease = new LeaseLife(terms, 0, 10_000);
  const { end } = lease;
  lease.extendAnswered(lease.lostAt, 3_400, 'extended', 10_000);
  assert.equal(lease.end, end);
});

test('LEASE_LOST ends it at once', () => {
  const lease = new LeaseLife(terms, 0, 10_000);
  lease.extendAnswered(3_500, 3_400, 'leaseLost');
  assert.ok(lease.lost);
  assert.equal(lease.remaining(3_500), 0);
});

test('a lease that a heartbeat left out gets another one soon, and then an extend of its own', () => {
  const lease = new LeaseLife(terms, 0, 10_000);
  assert.equal(lease.extendSkipped(3_400), false);
  assert.ok(lease.renewAt > 3_400 && lease.renewAt <= 3_400 + 10_000 / 20 + 250);
  assert.equal(lease.extendSkipped(4_000), true);
  assert.equal(lease.renewAt, 4_000);
  const late = new LeaseLife({ ...terms, stopMargin: 6_000 }, 0, 10_000);
  assert.equal(late.extendSkipped(3_400), true);
});

test('a short answer means max_hold: it is not renewed any more', () => {
  const lease = new LeaseLife(terms, 0, 10_000);
  lease.extendAnswered(3_500, 3_400, 'extended', 7_000);
  assert.ok(lease.capped);
  assert.equal(lease.nextAt, lease.lostAt);
});

test('the lease of a repeated acquire is extended at once if little is left of it', () => {
  assert.equal(new LeaseLife(terms, 500, 4_000).renewAt, 500);
});

test('every stop margin that is allowed leaves time for the regular renewal', () => {
  for (const ttl of [100, 500, 1_000, 3_000, 10_000, 30_000, 60_000]) {
    const stopMargin = stopMarginMax(ttl);
    for (let sent = 0; sent < ttl; sent += ttl / 17) {
      const lease = new LeaseLife({ ttl, maxHold: 0, stopMargin }, sent, ttl);
      assert.ok(stopMargin === 0 || lease.renewAt < lease.lostAt, `ttl ${ttl}`);
    }
  }
});

test('a duration has fewer than 10^9 nanoseconds, whatever floating point makes of it', () => {
  for (const ms of [999.9999999, 1_000, 0.0000001, 86_400_000, 1_999.99999999, 123.456]) {
    const { seconds, nanos } = messages.durationOf(ms);
    assert.ok(Number.isInteger(nanos) && nanos >= 0 && nanos < 1e9, `${ms}: ${nanos}`);
    assert.ok(Math.abs(seconds * 1000 + nanos / 1e6 - ms) < 1e-5);
  }
});
