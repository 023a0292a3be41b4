import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOKEN_VARIABLE, tokenOf } from '../../src/mcp/http.ts';
import { smallRowSum } from '../support/small-row-sum.ts';
import { COMMAND, callsOf, ENVIRONMENT } from './client.ts';

const folder = mkdtempSync(join(tmpdir(), 'warpsmith-mcp-http-'));
const WORDS = [
  ...[smallRowSum(folder), '--device', 'virtual:l4', '--workload', 'rows=256,columns=64', '--http', '0'],
  ...['--store', join(folder, 'store'), '--max-evaluations', '4'],
];

let server: ChildProcess;
let [url, token] = ['', ''];

beforeAll(async () => {
  const [command, ...args] = [...COMMAND, ...WORDS];
  server = spawn(command!, args, { env: ENVIRONMENT, stdio: ['ignore', 'ignore', 'pipe'] });
  let told = '';
  for await (const text of server.stderr!.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    told += text;
    url = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(told)?.[0] ?? '';
    token = /Bearer (\S+)\n/.exec(told)?.[1] ?? '';
    if (url && token) return;
  }
  throw new Error(told);
});

afterAll(async () => {
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  const [code] = await ended;
  rmSync(folder, { recursive: true, force: true });
  expect(code).toBe(0);
});

async function connect(options: ClientOptions = {}, sent = token) {
  const requestInit = { headers: { authorization: `Bearer ${sent}` } };
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' }, ...options });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return callsOf(client);
}

/** With any headers: fetch sets the host by itself. */
async function statusOf(headers: Record<string, string>, path = '/mcp'): Promise<number | undefined> {
  const asked = request({ host: '127.0.0.1', port: new URL(url).port, path, method: 'POST', headers });
  asked.end('{}');
  const [answer] = await once(asked, 'response');
  answer.resume();
  return answer.statusCode;
}

describe('an author over HTTP', () => {
  it('has a kernel judged; the same files sent twice at once cost one evaluation', async () => {
    await using agent = await connect();
    expect((await agent.client.listTools()).tools.map(({ name }) => name)).toContain('submit');
    const files = {
      parent: 'start',
      edits: [
        { file: 'kernel.json', search: '"steps"', replace: '"limits": ["rows <= 512", "columns <= 512"], "steps"' },
      ],
      hypothesis: 'the same for small sizes',
    };
    const both = await Promise.all([agent.call('submit', files), agent.call('submit', files)]);
    expect(both.map(({ data }) => data.isNew).toSorted()).toEqual([false, true]);
    expect(new Set(both.map(({ data }) => data.id)).size).toBe(1);
    const judged = await agent.call('wait', { id: both[0].data.id });
    expect(judged.data).toMatchObject({ state: 'judged', budget: { evaluationsLeft: 3 } });
  });

  it('shares turn and budget with other clients, also of an older protocol', async () => {
    await using old = await connect({ versionNegotiation: { mode: 'legacy' } });
    const history = await old.call('history');
    expect(history.data).toMatchObject({ budget: { evaluationsLeft: 3 } });
    expect(history.text).toContain('the same for small sizes');
  });

  it('refuses who has no token, who has another, pages of other sites, and other addresses', async () => {
    const authorization = `Bearer ${token}`;
    expect(await statusOf({})).toBe(401);
    expect(await statusOf({ authorization: `Bearer ${token.slice(1)}x` })).toBe(401);
    expect(await statusOf({ authorization, host: 'evil.example' })).toBe(403);
    expect(await statusOf({ authorization, origin: 'https://evil.example' })).toBe(403);
    expect(await statusOf({ authorization }, '/')).toBe(404);
    await expect(connect({}, 'another')).rejects.toThrow();
  });
});

describe('the token', () => {
  it('is drawn anew where none is given, and may not be short', () => {
    const drawn = [tokenOf({}), tokenOf({})];
    expect(drawn.every(({ isDrawn }) => isDrawn)).toBe(true);
    expect(drawn[0]!.token).not.toBe(drawn[1]!.token);
    expect(tokenOf({ [TOKEN_VARIABLE]: 'a-token-of-my-own' })).toEqual({ token: 'a-token-of-my-own', isDrawn: false });
    expect(() => tokenOf({ [TOKEN_VARIABLE]: 'short' })).toThrow('too short');
  });
});
