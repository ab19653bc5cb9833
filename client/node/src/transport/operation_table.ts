// SPDX-License-Identifier: Apache-2.0
//
// The operations of a session that are not answered yet, by number. A number is a place in an array, and how often that place was used.
//
// A Map would do the same, but makes itself anew after as many entries as it holds. Its old tables lie in old memory by then, and keep the
// operations that they point to alive until the next full collection: that took four tenths of the processor time of a busy client.
import type { Operation } from './operation';

const PLACES = 2 ** 20;
const NUMBERS_END = 2 ** 53;

export class OperationTable {
  readonly #operations: (Operation | null)[] = [];
  readonly #numbers: number[] = [];  // The last one of each place.
  readonly #free: number[] = [];  // Places.

  get size(): number {
    return this.#operations.length - this.#free.length;
  }

  get isFull(): boolean {
    return this.size === PLACES;
  }

  /** Gives it a number that no operation has, and that none had for long. Requires: not full. */
  add(operation: Operation): void {
    const place = this.#free.pop() ?? this.#operations.length;
    const number = (this.#numbers[place] ?? place) + PLACES;
    operation.number = number < NUMBERS_END ? number : place + PLACES;
    this.#numbers[place] = operation.number;
    this.#operations[place] = operation;
  }

  get(number: number): Operation | null {
    const place = number % PLACES;
    return this.#numbers[place] === number ? this.#operations[place]! : null;
  }

  /** Requires: the table has it. */
  remove({ number }: Operation): void {
    const place = number % PLACES;
    this.#operations[place] = null;
    this.#free.push(place);
  }

  /** All operations as they are now, in no order. */
  all(): Operation[] {
    return this.#operations.filter((operation) => operation !== null);
  }

  clear(): void {
    this.#operations.length = 0;
    this.#numbers.length = 0;
    this.#free.length = 0;
  }
}
