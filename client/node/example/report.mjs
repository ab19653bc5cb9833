// SPDX-License-Identifier: Apache-2.0
import { Client } from '@lockkeeper/client';

const client = new Client({ servers: ['127.0.0.1:7600'] });
const lease = await client.acquire('report/daily', { ttl: 30_000 });
if (lease) {
  console.log(`I write the report, with fencing token ${lease.fencingToken}`);
  await lease.release();
}
await client.close();
