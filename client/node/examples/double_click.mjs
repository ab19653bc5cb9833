#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// double_click.mjs: an impatient customer clicks "pay" four times. The card has to be charged once.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@lockkeeper/client';

const address = process.env.LOCKKEEPER_SERVER;  // default: 127.0.0.1:7600
const client = new Client({ address, owner: 'shop' });
const order = { number: 4711, isPaid: false, charges: 0 };

async function pay() {
  await sleep(10);  // looks into the database
  if (order.isPaid) return 'refused: the order is paid';
  await sleep(300);  // charges the card
  ++order.charges;
  order.isPaid = true;
  return 'charged 30 euros';
}

// A click that finds the lock held does not wait: somebody is charging already.
async function payUnderLock() {
  const lease = await client.acquire(`order/${order.number}`, { ttl: 10_000 });
  if (!lease) return 'refused: a payment is under way';
  try {
    return await pay();
  } finally {
    await lease.release();
  }
}

async function clickFourTimes(handle) {
  Object.assign(order, { isPaid: false, charges: 0 });
  await Promise.all([1, 2, 3, 4].map(async (click) => {
    await sleep(20 * click);
    console.log(`click ${click}: ${await handle()}`);
  }));
  console.log(`The card was charged ${order.charges} time${order.charges === 1 ? '' : 's'}.`);
}

console.log('Without a lock:');
await clickFourTimes(pay);
console.log('\nWith a lock:');
await clickFourTimes(payUnderLock);
await client.close();
