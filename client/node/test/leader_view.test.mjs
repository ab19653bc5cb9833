// SPDX-License-Identifier: Apache-2.0
//
// Who leads by what events and looks tell: the rules of an observer as pure code.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import leaderView from '../dist/leader_view.js';

const { LeaderView, LOOK_AGAIN_MIN, LOOK_EVERY } = leaderView;
const OF_LEASES = ['GRANTED', 'OFFERED', 'EXTENDED', 'RELEASED', 'EXPIRED', 'LOST', 'FORCED', 'TAKEN_BACK'];
const lease = (fencingToken) => ({ fencingToken, owner: fencingToken === 0 ? '' : 'somebody', principal: '' });

// A view, and what is asked of it.
function observe() {
  const view = new LeaderView();
  const self = {
    view,
    event: (kind, token = 0) => view.onEvent(kind, lease(token)),
    look(state = '', token = 0, left = null) {
      view.lookSent();
      return view.onLook(state, lease(token), left);
    },
    // This one leads, and that is new; null: that nobody does.
    told(token) {
      assert.ok(view.takeChange(), 'nothing is new');
      self.leads(token);
    },
    leads(token) {
      assert.equal(view.takeChange(), false, 'something is new');
      assert.deepEqual(view.leader, token === null ? null : lease(token));
    },
    lead(token) {
      assert.equal(self.event('GRANTED', token), false);
      self.told(token);
    },
  };
  return self;
}

test('nothing is known before the first look, and then it is told also that nobody leads', () => {
  const { view, event, look, told, leads } = observe();
  assert.ok(event('STARTED'));
  assert.equal(view.isKnown, false);
  leads(null);
  assert.equal(look(), LOOK_EVERY);
  assert.ok(view.isKnown);
  told(null);
  look();
  leads(null);
});

test('the first look tells the holder', () => {
  const { look, told } = observe();
  assert.equal(look('HELD', 5), LOOK_EVERY);
  told(5);
});

test('what cannot be placed, or has no token, needs a look; what waiters do does not', () => {
  const { event, lead, leads } = observe();
  lead(5);
  for (const kind of ['STARTED', 'GAP', 'QUARANTINE_ENDED', '', 'UNSPECIFIED']) assert.ok(event(kind), kind);
  for (const kind of OF_LEASES) assert.ok(event(kind, 0), kind);
  for (const kind of ['WAITING', 'LEFT', 'QUARANTINE_BEGAN']) assert.equal(event(kind, 9), false, kind);
  leads(5);
});

test('a granted lease leads, and is told once', () => {
  const { event, lead, leads } = observe();
  lead(5);
  event('GRANTED', 5);
  leads(5);
  lead(6);
});

test('while an offer is not claimed nobody leads', () => {
  const { event, lead, told, leads } = observe();
  lead(5);
  assert.equal(event('OFFERED', 6), false);
  told(null);
  lead(6);
  event('OFFERED', 6);
  leads(6);
});

test('after an end nobody leads until a higher token is granted', () => {
  const { event, lead, told, leads } = observe();
  for (const [i, kind] of ['RELEASED', 'EXPIRED', 'TAKEN_BACK', 'FORCED'].entries()) {
    lead(5 + i);
    assert.equal(event(kind, 5 + i), false);
    told(null);
    event(kind, 5 + i);
    event('GRANTED', 5 + i);
    leads(null);
  }
});

test('an end by force tells a higher token', () => {
  const { event, lead, told, leads } = observe();
  lead(5);
  event('FORCED', 6);
  told(null);
  event('GRANTED', 5);
  event('GRANTED', 6);
  leads(null);
  lead(7);
});

test('a lease whose end comes before its grant does not lead', () => {
  const { event, lead, told, leads } = observe();
  lead(5);
  event('EXPIRED', 6);
  told(null);
  event('GRANTED', 6);
  leads(null);
});

test('a lower token is old', () => {
  const { event, look, lead, leads } = observe();
  lead(5);
  for (const kind of OF_LEASES) assert.equal(event(kind, 4), false, kind);
  look('HELD', 4);
  leads(5);
});

test('a renewal of the leader says nothing, one of another lease needs a look', () => {
  const { event, look, lead, told, leads } = observe();
  lead(5);
  assert.equal(event('EXTENDED', 5), false);
  assert.ok(event('EXTENDED', 6));
  event('RELEASED', 5);
  leads(5);  // Old: the newer lease says so.
  look('HELD', 6);
  told(6);
});

test('a renewal of a lease that was not proved needs a look', () => {
  const { event, look } = observe();
  look('UNPROVEN', 5, 3_000);
  assert.ok(event('EXTENDED', 5));
});

test('a refused renewal needs a look, and its token is not believed', () => {
  const { event, look, lead, told, leads } = observe();
  lead(5);
  assert.ok(event('LOST', 5));
  assert.ok(event('LOST', Number.MAX_SAFE_INTEGER));
  leads(5);
  look('HELD', 6);
  told(6);
  lead(7);
});

test('a look without a lease tells that nobody leads, whatever the token', () => {
  for (const [state, token] of [['ENDED', 9], ['OFFERED', 9], ['ENDED', 3], ['OFFERED', 3], ['', 0], ['OF_A_NEWER_DAEMON', 5]]) {
    const { look, lead, told } = observe();
    lead(5);
    assert.equal(look(state, token), LOOK_EVERY);
    told(null);
  }
});

test('an old grant after a look brings no leader back', () => {
  for (const [state, token] of [['ENDED', 5], ['ENDED', 7], ['', 0]]) {
    const { event, look, lead, told, leads } = observe();
    lead(5);
    look(state, token);
    told(null);
    event('GRANTED', 5);
    event('GRANTED', token);
    leads(null);
    lead(8);
  }
});

test('an offer that a look has seen may be granted', () => {
  const { look, lead, told } = observe();
  look('OFFERED', 5);
  told(null);
  lead(5);
});

test('a lease that came back leads again', () => {
  const { event, look, lead, told } = observe();
  lead(5);
  event('EXPIRED', 5);
  told(null);
  look('HELD', 5);
  told(5);
  event('RELEASED', 5);
  told(null);
});

test('a look from before a newer token does not count', () => {
  for (const [kind, leading] of [['GRANTED', 6], ['OFFERED', null], ['EXTENDED', 5], ['RELEASED', null]]) {
    const { view, event, look, lead, told, leads } = observe();
    lead(5);
    view.lookSent();
    event(kind, 6);
    view.takeChange();
    assert.equal(view.onLook('ENDED', lease(5), null), 0, kind);
    leads(leading);
    assert.equal(look('HELD', 7), LOOK_EVERY);
    told(7);
  }
});

test('a look from before the end of the lease does not count', () => {
  const { view, event, lead, told, leads } = observe();
  lead(5);
  view.lookSent();
  event('RELEASED', 5);
  told(null);
  assert.equal(view.onLook('HELD', lease(5), null), 0);
  leads(null);
});

test('what is old or says nothing does not spoil a look', () => {
  const { view, event, lead, told } = observe();
  lead(5);
  view.lookSent();
  for (const [kind, token] of [['GRANTED', 5], ['EXTENDED', 5], ['RELEASED', 4], ['LOST', 9], ['WAITING', 0], ['GAP', 0]]) event(kind, token);
  assert.equal(view.onLook('HELD', lease(6), null), LOOK_EVERY);
  told(6);
});

test('a leader that is not proved stays until the quarantine is over', () => {
  const { look, lead, told, leads } = observe();
  lead(5);
  assert.equal(look('UNPROVEN', 5, 4_000), 4_000);
  assert.equal(look('', 0, 3_000), 3_000);
  assert.equal(look('ENDED', 5, 2_000), 2_000);
  assert.equal(look('OFFERED', 6, 1_000), 1_000);
  assert.equal(look('UNPROVEN', 5, 60_000), LOOK_EVERY);
  assert.equal(look('UNPROVEN', 5, 0), LOOK_AGAIN_MIN);
  assert.equal(look('UNPROVEN', 5), LOOK_EVERY);
  leads(5);
  look('ENDED', 6);
  told(null);
});

test('a holder that is not proved is not known, and one that is held in a quarantine is', () => {
  const { view, look, told, leads } = observe();
  look('UNPROVEN', 5, 4_000);
  assert.equal(view.isKnown, false);
  leads(null);
  assert.equal(look('HELD', 5, 1_000), LOOK_EVERY);
  told(5);
});

test('a grant without an owner is looked up', () => {
  const { view, look, lead, told, leads } = observe();
  const nameless = { fencingToken: 6, owner: '', principal: '' };
  lead(5);
  assert.equal(view.onEvent('GRANTED', nameless), true);
  leads(5);
  look('HELD', 6);
  told(6);
  assert.equal(view.onEvent('GRANTED', nameless), false);
});

test('a grant overtakes a look at its offer', () => {
  const { view, event, lead, told } = observe();
  lead(5);
  event('OFFERED', 6);
  told(null);
  view.lookSent();
  event('GRANTED', 6);
  assert.equal(view.onLook('OFFERED', lease(6), null), 0);
  told(6);
});
