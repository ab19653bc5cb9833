// SPDX-License-Identifier: Apache-2.0
//
// A PostgreSQL without a network, for one test file.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, readdirSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { ownFolder, until } from './daemon.mjs';

// The newest one that is installed, or POSTGRESQL_BIN.
function programs() {
  const versions = '/usr/lib/postgresql';
  return process.env.POSTGRESQL_BIN ?? path.join(versions, readdirSync(versions).sort((a, b) => a - b).at(-1), 'bin');
}

/** Resolves to the environment that reaches it as its superuser, and `stop`. */
export async function startPostgresql() {
  const { folder, remove } = ownFolder();
  // It refuses to run as root.
  const isRoot = process.getuid() === 0;
  const number = (flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  const user = isRoot ? { uid: number('-u'), gid: number('-g') } : {};
  if (isRoot) chownSync(folder, user.uid, user.gid);
  const data = path.join(folder, 'data');
  const options = ['--username', 'postgres', '--auth', 'trust', '--no-sync', '--encoding', 'UTF8', '--locale', 'C'];
  execFileSync(path.join(programs(), 'initdb'), ['--pgdata', data, ...options], { cwd: folder, stdio: 'ignore', ...user });
  const server = spawn(path.join(programs(), 'postgres'), ['-D', data, '-k', folder, '-c', 'listen_addresses=', '-c', 'fsync=off'],
    { cwd: folder, stdio: 'ignore', ...user });
  const environment = { PGHOST: folder, PGUSER: 'postgres', PGDATABASE: 'postgres' };
  await until(async () => {
    const database = new pg.Client({ host: folder, user: 'postgres', database: 'postgres' });
    try {
      await database.connect();
      await database.end();
      return true;
    } catch {
      return false;
    }
  }, 'a connection to PostgreSQL', 60_000);
  return {
    environment,
    async stop() {
      server.kill('SIGINT');
      await once(server, 'exit');
      remove();
    },
  };
}
