// SPDX-License-Identifier: Apache-2.0
//
// The table of what comes and goes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import table from '../dist/table.js';

const { Table } = table;

test('a thing is found by its number until it is removed', () => {
  const things = new Table();
  const some = Array.from({ length: 100 }, () => ({}));
  const numbers = some.map((each) => things.add(each));
  assert.equal(new Set(numbers).size, 100);
  assert.ok(numbers.every((number, i) => number > 0 && things.get(number) === some[i]));
  assert.equal(things.size, 100);

  things.remove(numbers[7]);
  things.remove(numbers[7]);

  assert.equal(things.get(numbers[7]), null);
  assert.equal(things.size, 99);
  assert.deepEqual(new Set(things.all()), new Set(some.filter((each) => each !== some[7])));
});

test('a late answer to a number meets nobody who came later', () => {
  const things = new Table();
  const numbers = new Set();
  for (let i = 0; i < 1_000; ++i) {
    const number = things.add({});
    things.remove(number);
    numbers.add(number);
  }
  assert.equal(numbers.size, 1_000);
  const last = {};
  const number = things.add(last);
  for (const earlier of numbers) assert.equal(things.get(earlier), null);
  for (const earlier of numbers) things.remove(earlier);
  assert.equal(things.get(number), last);
});

test('numbers that are not of this table are nobody', () => {
  const things = new Table();
  assert.equal(things.get(0), null);
  things.add({});
  for (const number of [0, 1, 2 ** 24 + 1, 2 ** 53, Number.NaN]) assert.equal(things.get(number), null, String(number));
});
