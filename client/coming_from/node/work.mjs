// SPDX-License-Identifier: Apache-2.0
//
// The work that a program of docs/guides/coming_from does under its lock. It waits as work.py says.
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export async function writeReport(token) {
  const folder = process.env.WORK_FOLDER;
  if (folder) {
    writeFileSync(`${folder}/begun`, '');
    while (!existsSync(`${folder}/may_end`)) await sleep(10);
  }
  console.log(token ? `wrote the report with token ${token}` : 'wrote the report');
}
