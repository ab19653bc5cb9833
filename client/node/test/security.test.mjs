// SPDX-License-Identifier: Apache-2.0
//
// TLS, client certificates and bearer tokens, with a real daemon; and what a call carries in its metadata.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import grpc from '@grpc/grpc-js';
import { Client } from '../dist/index.mjs';
import { ownFolder, startDaemon, until } from './support/daemon.mjs';

const { folder, remove } = ownFolder();
const file = (name) => path.join(folder, name);
let daemon;

function openssl(...args) {
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc', '-days', '2', ...args],
               { cwd: folder, stdio: 'pipe' });
}

before(async () => {
  openssl('-subj', '/CN=my CA', '-keyout', 'ca-key.pem', '-out', 'ca.pem');
  openssl('-subj', '/CN=other CA', '-keyout', 'other-key.pem', '-out', 'other.pem');
  for (const [name, ...more] of [['daemon', '-addext', 'subjectAltName=DNS:locks.example'], ['report']]) {
    openssl('-subj', `/CN=${name}`, ...more, '-addext', 'basicConstraints=critical,CA:FALSE', '-CA', 'ca.pem', '-CAkey', 'ca-key.pem',
            '-keyout', `${name}-key.pem`, '-out', `${name}.pem`);
  }
  const entry = execFileSync(process.env.LOCKKEEPER, ['token', 'create', '--name', 'ci', '--out', file('ci.token')], { encoding: 'utf8' });
  writeFileSync(file('tokens.yaml'), `tokens:\n${entry}`);
  writeFileSync(file('policy.yaml'), `
roles:
  worker: {rules: [{verbs: [acquire, extend, release, fence], prefixes: ["{principal}/"]}]}
bindings:
  - {roles: worker, principals: [report, ci]}
`);
  daemon = await startDaemon({
    listen: ['tls://127.0.0.1:0', 'mtls://127.0.0.1:0'],
    args: ['--tls-cert', file('daemon.pem'), '--tls-key', file('daemon-key.pem'), '--tls-client-ca', file('ca.pem'),
           '--policy', file('policy.yaml'), '--tokens', file('tokens.yaml')],
  });
});

after(async () => {
  await daemon?.stop();
  remove();
});

const tls = () => ({ caFile: file('ca.pem'), serverName: 'locks.example' });

test('a token over TLS proves who the program is, and a changed one is read again', async () => {
  copyFileSync(file('ci.token'), file('my.token'));
  const client = new Client({ address: daemon.address, tls: tls(), tokenFile: file('my.token') });
  await (await client.acquire('ci/deploy')).release();
  await assert.rejects(client.acquire('report/daily'), { reason: 'PERMISSION_DENIED' });
  writeFileSync(file('my.token'), 'nobody knows this one\n');
  const isRejected = (error) => error.reason === 'UNAUTHENTICATED';
  await until(() => client.fence('ci/deploy', 1).then(() => false, isRejected), 'the new token is used');
  await client.close();
});

test('an observer connects as its client does, and is told that it may not look', async () => {
  const client = new Client({ address: daemon.address, tls: tls(), tokenFile: file('ci.token') });
  const why = await new Promise((resolve) => { client.observe('ci/deploy', { onError: resolve }); });
  assert.equal(why.reason, 'PERMISSION_DENIED');
  await client.close();
});

test('a certificate proves who the program is', async () => {
  const [, address] = daemon.addresses;
  const client = new Client({ address, tls: { ...tls(), certificateFile: file('report.pem'), keyFile: file('report-key.pem') } });
  await (await client.acquire('report/daily')).release();
  await assert.rejects(client.acquire('ci/deploy'), { reason: 'PERMISSION_DENIED' });
  await client.close();
  const nobody = new Client({ address, tls: tls(), callTimeout: 2_000 });
  await assert.rejects(nobody.acquire('report/daily'), { code: 'UNAVAILABLE' });
  await nobody.close();
});

test('a daemon that another CA signed, or with another name, gets nothing', async () => {
  for (const wrong of [{ caFile: file('other.pem') }, { serverName: 'elsewhere.example' }]) {
    const client = new Client({ address: daemon.address, tls: { ...tls(), ...wrong }, callTimeout: 2_000 });
    await assert.rejects(client.acquire('ci/deploy'), { code: 'UNAVAILABLE' });
    await client.close();
  }
});

test('there is no way back to a connection without TLS', async () => {
  const client = new Client({ address: daemon.address, callTimeout: 2_000 });
  await assert.rejects(client.acquire('ci/deploy'), { code: 'UNAVAILABLE' });
  await client.close();
});

test('files that are missing or no PEM are named', () => {
  assert.throws(() => new Client({ tls: { caFile: file('none.pem') } }), { field: 'tls.caFile' });
  assert.throws(() => new Client({ tls: { caFile: file('policy.yaml') } }), { field: 'tls.caFile' });
  assert.throws(() => new Client({ tls: { certificateFile: file('report.pem') } }), { field: 'tls.certificateFile' });
  assert.throws(() => new Client({ tls: { certificateFile: file('report.pem'), keyFile: file('ca-key.pem') } }), { field: 'tls' });
  writeFileSync(file('two.token'), 'a\nb\n');
  assert.throws(() => new Client({ tokenFile: file('two.token') }), { field: 'tokenFile' });
});

test('each operation of a session passes the trace context of its caller on', async () => {
  const { propagation, ROOT_CONTEXT } = createRequire(import.meta.url)('@opentelemetry/api');
  const contexts = ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '00-11111111111111111111111111111111-2222222222222222-00', ''];
  let active = '';
  propagation.setGlobalPropagator({
    inject: (_context, carrier, setter) => {
      if (active === '') return;
      setter.set(carrier, 'traceparent', active);
      setter.set(carrier, 'tracestate', 'rojo=1');
    },
    extract: () => ROOT_CONTEXT,
    fields: () => [],
  });
  const { messages } = await import('../dist/transport/messages.js');
  const seen = new Map();
  const server = new grpc.Server();
  server.register('/lockkeeper.v1.LockService/Session', (stream) => {
    stream.on('data', (request) => {
      if (request.open) stream.write({ opened: { sessionId: 's', maxOutstandingOperations: 100 } });
      for (const { id, fence, traceparent, tracestate } of request.batch?.operations ?? []) {
        seen.set(fence.name, [traceparent, tracestate]);
        stream.write({ results: { results: [{ operationId: id, fence: { verdict: 1, newestFencingToken: 1 } }] } });
      }
      if (request.close) stream.end();
    });
  }, (message) => messages.sessionResponse.encode(message).finish(), (bytes) => messages.sessionRequest.decode(bytes), 'bidi');
  const port = await new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound))));
  const client = new Client({ address: `127.0.0.1:${port}` });
  const fences = contexts.map((context, number) => {
    active = context;
    return client.fence(`lock${number}`, 1);
  });
  active = '';
  await Promise.all(fences);
  assert.deepEqual(seen.get('lock0'), [contexts[0], 'rojo=1']);
  assert.deepEqual(seen.get('lock1'), [contexts[1], 'rojo=1']);
  assert.deepEqual(seen.get('lock2'), ['', '']);
  await client.close();
  server.forceShutdown();
  propagation.disable();
});

test('a unary call passes the trace context of the program on', async () => {
  const { propagation, ROOT_CONTEXT } = createRequire(import.meta.url)('@opentelemetry/api');
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  propagation.setGlobalPropagator({ inject: (_context, carrier, setter) => setter.set(carrier, 'traceparent', traceparent), extract: () => ROOT_CONTEXT, fields: () => [] });
  const server = new grpc.Server();
  let seen;
  server.register('/lockkeeper.v1.LockService/Fence', (call, answer) => {
    seen = call.metadata.get('traceparent');
    answer(null, Buffer.alloc(0));
  }, (bytes) => bytes, (bytes) => bytes, 'unary');
  const port = await new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound))));
  const client = new Client({ address: `127.0.0.1:${port}`, useSessions: false });
  assert.equal((await client.fence('x', 1)).verdict, 'UNKNOWN');
  assert.deepEqual(seen, [traceparent]);
  await client.close();
  server.forceShutdown();
  propagation.disable();
});
