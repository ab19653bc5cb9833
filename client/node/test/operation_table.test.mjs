// SPDX-License-Identifier: Apache-2.0
//
// The operations of a session, by number.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import table from '../dist/transport/operation_table.js';

const { OperationTable } = table;

test('an operation is found by its number until it is removed', () => {
  const operations = new OperationTable();
  const some = Array.from({ length: 100 }, () => ({}));
  for (const each of some) operations.add(each);
  assert.equal(new Set(some.map(({ number }) => number)).size, 100);
  assert.ok(some.every((each) => operations.get(each.number) === each));
  assert.equal(operations.size, 100);

  operations.remove(some[7]);

  assert.equal(operations.get(some[7].number), null);
  assert.equal(operations.size, 99);
  assert.deepEqual(operations.all(), some.filter((each) => each !== some[7]));
});

test('a late answer to a number meets nobody who came later', () => {
  const operations = new OperationTable();
  const numbers = new Set();
  for (let i = 0; i < 1_000; ++i) {
    const operation = {};
    operations.add(operation);
    operations.remove(operation);
    numbers.add(operation.number);
  }
  assert.equal(numbers.size, 1_000);
  const last = {};
  operations.add(last);
  for (const number of numbers) assert.equal(operations.get(number), null);
  assert.equal(operations.get(last.number), last);
});

test('numbers that are not of this table, or 0, are nobody', () => {
  const operations = new OperationTable();
  assert.equal(operations.get(0), null);
  operations.add({});
  for (const number of [0, 1, 2 ** 20 + 1, 2 ** 53, Number.NaN]) assert.equal(operations.get(number), null, String(number));
});
