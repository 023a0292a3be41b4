import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkQueue } from '../../src/queue/connect.ts';
import { queueAccess } from '../../src/queue/queue-access.ts';

/** Tests install no server. */
const SERVER = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);

/** For the title of tests, which say so when they are skipped. */
export const redis = SERVER
  ? { title: `with ${SERVER}`, isThere: true }
  : { title: 'with Redis or Valkey (skipped: neither is installed)', isThere: false };

export interface RedisServer {
  readonly address: string;
  /** What those who may use it have in their environment. */
  readonly environment: { readonly WARPSMITH_QUEUE_PASSWORD: string; readonly WARPSMITH_QUEUE_KEY: string };
  /** Kills it. */
  kill(): Promise<void>;
  /** Starts it again, at the same address, with nothing in it. */
  start(): Promise<void>;
  /** Kills it and removes its folder. */
  close(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** A server of its own, which keeps nothing. @param password empty for one that lets in everybody. */
export async function startRedis(password = 'only for this test'): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-redis-'));
  const port = await freePort();
  const address = `redis://127.0.0.1:${port}`;
  const environment = { WARPSMITH_QUEUE_PASSWORD: password || 'any', WARPSMITH_QUEUE_KEY: 'k'.repeat(40) };
  const settings = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
  let server: ReturnType<typeof spawn> | undefined;
  const kill = async (): Promise<void> => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    server.kill('SIGKILL');
    await once(server, 'exit');
  };
  const start = async (): Promise<void> => {
    server = spawn(SERVER!, [...settings, ...(password ? ['--requirepass', password] : [])], { stdio: 'ignore' });
    for (let attempt = 0; ; attempt += 1) {
      const error = await checkQueue(queueAccess(address, environment)).then(
        () => undefined,
        (reason: { details?: { code: string } }) => reason.details?.code,
      );
      if (error !== 'queue-unreachable') return;
      if (attempt === 100) throw new Error(`${SERVER} does not start`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await start();
  return {
    ...{ address, environment, kill, start },
    async close() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
