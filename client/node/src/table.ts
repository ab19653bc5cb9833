// SPDX-License-Identifier: Apache-2.0
//
// Things that come and go all the time, by number: the operations of a session, the leases of a client. A number is a place in an array, and
// how often that place was used.
//
// A Map or a Set would do the same, but makes itself anew after as many entries as it holds. Its old tables lie in old memory by then, and
// keep what they point to alive until the next full collection: that took half of the processor time of a busy client.
const PLACES = 2 ** 24;  // More than fit into the memory of a process.
const NUMBERS_END = 2 ** 53;

export class Table<T extends object> {
  readonly #things: (T | null)[] = [];
  readonly #numbers: number[] = [];  // The last one of each place.
  readonly #free: number[] = [];  // Places.

  get size(): number {
    return this.#things.length - this.#free.length;
  }

  /** Returns a number above 0 that nothing else has, and nothing had for long. */
  add(thing: T): number {
    const place = this.#free.pop() ?? this.#things.length;
    let number = (this.#numbers[place] ?? place) + PLACES;
    if (number >= NUMBERS_END) number = place + PLACES;
    this.#numbers[place] = number;
    this.#things[place] = thing;
    return number;
  }

  get(number: number): T | null {
    const place = number % PLACES;
    return this.#numbers[place] === number ? this.#things[place]! : null;
  }

  /** Does nothing if nothing has the number. */
  remove(number: number): void {
    if (!this.get(number)) return;
    const place = number % PLACES;
    this.#things[place] = null;
    this.#free.push(place);
  }

  /** All as they are now, in no order. */
  all(): T[] {
    return this.#things.filter((thing) => thing !== null);
  }

  clear(): void {
    this.#things.length = 0;
    this.#numbers.length = 0;
    this.#free.length = 0;
  }
}
