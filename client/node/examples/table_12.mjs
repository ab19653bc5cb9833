#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// table_12.mjs: two guests book table 12 for the same evening at the same moment, at two servers. One of them gets it.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@lockkeeper/client';

const address = process.env.LOCKKEEPER_SERVER;  // default: 127.0.0.1:7600
const guests = ['Ada', 'Bob'];
let bookings = [];

async function book(guest) {
  await sleep(20);  // looks into the book
  if (bookings.length > 0) return `${guest}: table 12 is taken`;
  await sleep(200);  // writes it down
  bookings.push(guest);
  return `${guest}: table 12 is yours`;
}

// The second guest waits in line and hears a true answer, instead of "try again".
async function bookUnderLock(guest) {
  const client = new Client({ address, owner: `server of ${guest}` });
  try {
    return await client.using('table/12/friday', { ttl: 10_000, wait: 10_000 }, () => book(guest));
  } finally {
    await client.close();
  }
}

async function friday(handle) {
  bookings = [];
  await Promise.all(guests.map(async (guest) => console.log(await handle(guest))));
  console.log(`Table 12 is booked by ${bookings.sort().join(' and ')}.`);
}

console.log('Without a lock:');
await friday(book);
console.log('\nWith a lock:');
await friday(bookUnderLock);
