// SPDX-License-Identifier: Apache-2.0
//
// gateway.mjs [PORT]: leads each request to the replica that leads. Its owner text is its address:
// client.lead('billing', { owner: '10.0.0.7:8080', onElected: serve });
import { createServer } from 'node:http';
import { Client } from '@lockkeeper/client';

const client = new Client({ address: process.env.LOCKKEEPER_SERVER });
const observer = client.observe('billing', {
  onChange(leader) {
    if (leader) console.log(`${leader.owner} leads, with fencing token ${leader.fencingToken}`);
    else console.log('nobody leads');
  },
});

const server = createServer((request, response) => {
  const { leader } = observer;
  // A replica that leads no more refuses the request: it knows its own term.
  if (leader) response.writeHead(307, { Location: `http://${leader.owner}${request.url}` });
  else response.writeHead(503);
  response.end();
});
server.listen(process.argv[2] ?? 0, '127.0.0.1', () => {
  console.log(`listening on port ${server.address().port}`);
});
