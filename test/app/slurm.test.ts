import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { slurm } from '../../src/app/slurm.ts';
import { openConnection } from '../../src/queue/connect.ts';
import { whoIsThere } from '../../src/queue/presence.ts';
import { queueAccess } from '../../src/queue/queue-access.ts';
import { type RedisServer, redis, startRedis } from '../support/redis.ts';
import { type Slurm, slurmHere, startSlurm } from '../support/slurm.ts';

const code = (expected: string) => expect.objectContaining({ details: expect.objectContaining({ code: expected }) });

describe.skipIf(!slurmHere.isThere || !redis.isThere)(`workers ${slurmHere.title}, a queue ${redis.title}`, () => {
  let server: RedisServer;
  let cluster: Slurm;
  beforeAll(async () => {
    server = await startRedis();
    cluster = await startSlurm(2);
  });
  afterAll(async () => {
    await cluster?.close();
    await server.close();
  });
  const surroundings = () => ({
    environment: { ...process.env, ...server.environment, ...cluster.environment, TMPDIR: '/tmp' },
  });

  it('are started as an array, take candidates, are listed, and end', async () => {
    // Fake GPUs judge nothing, so the workers of the array have virtual ones. They take a fake GPU all the same.
    const asked = { action: 'up', queue: server.address, gpus: 2, device: 'virtual:l4' } as const;
    const words = ['--gres=gpu:1', '--output=/dev/null', '--chdir=/'];
    const started = await slurm({ ...asked, words }, surroundings());
    expect(started.jobs).toEqual([expect.stringMatching(/^\d+$/)]);
    const access = queueAccess(server.address, server.environment);
    const connection = openConnection(access, () => {});
    await expect
      .poll(async () => (await whoIsThere(connection, access.seal)).length, { timeout: 60_000, interval: 500 })
      .toBe(2);
    connection.disconnect();
    const { workers } = await slurm({ action: 'status', words: [] }, surroundings());
    expect(workers.map(({ task, state }) => [task, state]).toSorted()).toEqual(
      [0, 1].map((index) => [`${started.jobs[0]}_${index}`, 'RUNNING']),
    );
    const ended = await slurm({ action: 'down', words: [] }, surroundings());
    expect(ended.jobs).toEqual(started.jobs);
    const left = async () => (await slurm({ action: 'status', words: [] }, surroundings())).workers.length;
    await expect.poll(left, { timeout: 60_000, interval: 500 }).toBe(0);
  });

  it('are not started if sbatch refuses, or the queue can not be used', async () => {
    const asked = { action: 'up', queue: server.address, gpus: 2, words: ['--partition=nowhere'] } as const;
    await expect(slurm(asked, surroundings())).rejects.toEqual(code('slurm-refuses'));
    const { environment } = surroundings();
    const withoutKey = { environment: { ...environment, WARPSMITH_QUEUE_KEY: undefined } };
    await expect(slurm(asked, withoutKey)).rejects.toEqual(code('queue-key-missing'));
  });
});

describe('slurm', () => {
  it.each([
    [{ action: 'restart' as 'up' }, 'unknown-action'],
    [{ action: 'up' as const }, 'option-missing'],
    [{ action: 'up' as const, queue: 'redis://host' }, 'option-missing'],
    [{ action: 'down' as const, words: ['--me'] }, 'not-a-job'],
  ])('refuses %o: %s', async (request, expected) => {
    await expect(slurm({ words: [], ...request }, { environment: {} })).rejects.toEqual(code(expected));
  });
});
