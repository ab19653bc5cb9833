// SPDX-License-Identifier: Apache-2.0
//
// readme.mjs PROJECT: runs each program of the README in a project that has installed the package, against a daemon of its own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startDaemon } from './daemon.mjs';

const project = process.argv[2];
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const programs = [...readme.matchAll(/^```js\n(.*?)^```/gms)].map(([, program]) => program);
assert.ok(programs.length >= 2, 'the README has no programs');

const daemon = await startDaemon();
try {
  for (const program of programs) {
    const file = path.join(project, 'example.mjs');
    writeFileSync(file, program.replace('127.0.0.1:7600', daemon.address).replace('new Client()', `new Client({ address: '${daemon.address}' })`));
    const said = execFileSync(process.execPath, [file], { cwd: project, encoding: 'utf8', timeout: 30_000 });
    assert.match(said, /token \d{16}/);
  }
  const required = execFileSync(process.execPath, ['-e', "console.log(typeof require('@lockkeeper/client').Client)"], { cwd: project, encoding: 'utf8' });
  assert.equal(required, 'function\n');
} finally {
  await daemon.stop();
}
