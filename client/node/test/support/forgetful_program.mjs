// SPDX-License-Identifier: Apache-2.0
//
// forgetful_program.mjs ADDRESS HOW: holds the lock `forgotten` and does not release it. `ends`: has nothing more to do. `stays`: goes on
// until a signal, with `releaseOnSignals`. `own`: the same, and has a handler of its own that takes its time.
import { Client } from '../../dist/index.mjs';

const [address, how] = process.argv.slice(2);
const client = new Client({ address, releaseOnSignals: how !== 'ends' });
const lease = await client.acquire('forgotten', { ttl: 60_000 });
console.log(lease.fencingToken);
if (how !== 'ends') setInterval(() => {}, 1_000);
if (how === 'own') process.on('SIGTERM', () => setTimeout(() => process.exit(7), 300));
