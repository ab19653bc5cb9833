// SPDX-License-Identifier: Apache-2.0
//
// build.mjs: builds the package into dist/. The messages come from the protos of the repository, as a module, so that the package
// reads no file at run time and bundlers can take it in.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const protos = process.env.LOCKKEEPER_PROTOS ?? path.join(here, '../../proto');

const root = new protobuf.Root();
root.resolvePath = (_origin, target) => (protobuf.common.get(target) ? target : path.join(protos, target));
root.loadSync([
  'lockkeeper/v1/lock_service.proto', 'lockkeeper/admin/v1/admin_service.proto', 'google/rpc/status.proto', 'google/rpc/error_details.proto',
]);
// What the client does not read of a grant is skipped when it is decoded.
for (const unread of ['name', 'leaseId', 'expireTime']) {
  const lease = root.lookupType('lockkeeper.v1.Lease');
  lease.remove(lease.fields[unread]);
}
mkdirSync(path.join(here, 'src/generated'), { recursive: true });
writeFileSync(path.join(here, 'src/generated/protos.ts'),
  `// SPDX-License-Identifier: Apache-2.0\n//\n// Made by build.mjs from the protos.\nexport const protos: object = ${JSON.stringify(root.toJSON())};\n`);

rmSync(path.join(here, 'dist'), { recursive: true, force: true });
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '--project', here], { stdio: 'inherit' });
