// SPDX-License-Identifier: Apache-2.0
//
// forgetful_observer.mjs ADDRESS: observes a lock until it knows who leads, and does not close anything.
import { Client } from '../../dist/index.mjs';

const client = new Client({ address: process.argv[2] });
await new Promise((resolve) => {
  const busy = setInterval(() => {}, 1_000);
  client.observe('observed', {
    onChange(leader) {
      console.log(leader ? `${leader.owner} leads` : 'nobody leads');
      clearInterval(busy);
      resolve();
    },
  });
});
