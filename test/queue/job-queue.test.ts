import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { sha256 } from '../../src/process/sha256.ts';
import { checkQueue, errorTeller, openConnection } from '../../src/queue/connect.ts';
import { type Ask, JobFailed, JobQueue } from '../../src/queue/job-queue.ts';
import { JobWorker, type JobWorkerOptions } from '../../src/queue/job-worker.ts';
import { whoIsThere } from '../../src/queue/presence.ts';
import { type QueueAccess, queueAccess } from '../../src/queue/queue-access.ts';
import { Seal } from '../../src/queue/seal.ts';
import { getFile, putFiles } from '../../src/queue/shared-files.ts';
import { type RedisServer, redis, startRedis } from '../support/redis.ts';

const code = (expected: string) => expect.objectContaining({ details: expect.objectContaining({ code: expected }) });

/** Three looks in one do not take whole milliseconds, as in the default. */
const LEASE_MS = 700;

describe('the address of a queue', () => {
  const environment = { WARPSMITH_QUEUE_PASSWORD: 'secret', WARPSMITH_QUEUE_KEY: 'k'.repeat(32) };
  const refusal = (address: string, changes: Record<string, string | undefined> = {}) => {
    try {
      queueAccess(address, { ...environment, ...changes });
    } catch (error) {
      return (error as { details: { code: string } }).details;
    }
    return undefined;
  };

  it('is read with the password from the environment, and shown without', () => {
    const { shown, connection } = queueAccess('rediss://ana@host:7000/3', environment);
    expect(shown).toBe('rediss://ana@host:7000/3');
    expect(connection).toEqual({ host: 'host', port: 7000, username: 'ana', password: 'secret', db: 3, tls: {} });
    expect(queueAccess('redis://[::1]', environment).connection).toMatchObject({ host: '::1', port: 6379, db: 0 });
  });

  it.each([
    ['host:6379', {}, 'bad-queue-address'],
    ['http://host', {}, 'bad-queue-address'],
    ['redis://host/queue', {}, 'bad-queue-address'],
    ['redis://:secret@host', {}, 'password-in-address'],
    ['redis://host', { WARPSMITH_QUEUE_PASSWORD: undefined }, 'queue-password-missing'],
    ['redis://host', { WARPSMITH_QUEUE_KEY: '' }, 'queue-key-missing'],
    ['redis://host', { WARPSMITH_QUEUE_KEY: 'short' }, 'queue-key-missing'],
  ])('%s with %o is refused: %s', (address, changes, code) => {
    const details = refusal(address, changes);
    expect(details).toMatchObject({ code });
    expect(JSON.stringify(details)).not.toContain('secret');
  });
});

describe('a seal', () => {
  const seal = new Seal('one key');
  const sealed = seal.close('job a', 'body');

  it('opens what it closed for the same purpose', () => expect(seal.open('job a', sealed)).toBe('body'));

  it.each([
    ['another purpose', 'job b', sealed],
    ['another body', 'job a', { ...sealed, body: 'bodY' }],
    ['another key', 'job a', new Seal('another').close('job a', 'body')],
    ['half a signature', 'job a', { ...sealed, mac: sealed.mac.slice(0, 32) }],
    ['no signature', 'job a', { body: 'body' }],
    ['no object', 'job a', 'body'],
    ['nothing', 'job a', null],
  ])('refuses %s', (_what, purpose, other) => expect(seal.open(purpose, other)).toBeUndefined());
});

describe('an error of a queue', () => {
  const toldOf = (...errors: Error[]): string[] => {
    const told: string[] = [];
    const tell = errorTeller((text) => void told.push(text));
    for (const error of errors) tell(error);
    return told;
  };
  const withCode = (message: string, code: string): Error => Object.assign(new Error(message), { code });

  it('is told once', () => {
    const error = new Error('ERR value is not an integer or out of range');
    expect(toldOf(error, error)).toEqual([`the queue reports: ${error.message}`]);
    expect(toldOf(withCode('it expired', 'CERT_HAS_EXPIRED'))).toHaveLength(1);
  });

  it('is not told if only the connection is lost', () => {
    const lost = [withCode('read ECONNRESET', 'ECONNRESET'), withCode('', 'EAI_AGAIN')];
    expect(toldOf(...lost, new Error('Connection is closed.'))).toEqual([]);
  });
});

describe.skipIf(!redis.isThere)(`a queue ${redis.title}`, () => {
  let server: RedisServer;
  let access: QueueAccess;
  let number = 0;
  let name = '';
  const open: { close(graceMs: number): Promise<void> }[] = [];
  const troubles: string[] = [];
  beforeAll(async () => {
    server = await startRedis();
    access = queueAccess(server.address, server.environment);
  });
  afterAll(() => server.close());
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close(0);
    troubles.length = 0;
  });

  const queueOf = (): JobQueue => {
    number += 1;
    name = `test-${number}`;
    const queue = new JobQueue(access, name, (text) => void troubles.push(text));
    open.push(queue);
    return queue;
  };
  const workerOf = (answer: JobWorkerOptions['answer'], more: Partial<JobWorkerOptions> = {}): JobWorker => {
    const worker = new JobWorker({ access, queue: name, said: '{}', answer, leaseMs: LEASE_MS, ...more });
    open.push(worker);
    return worker;
  };
  const ask = (id: string, more: Partial<Ask> = {}): Ask => ({
    ...{ id, body: `body of ${id}`, files: new Map(), priority: 1, refuse: () => undefined },
    ...more,
  });
  const counting = () => {
    const bodies: string[] = [];
    const numbered = async (body: string): Promise<string> => `${bodies.push(body)}: ${body}`;
    return { bodies, numbered };
  };
  const upper = async (body: string): Promise<string> => body.toUpperCase();

  it('hands jobs to workers, each once, and brings the answers back', async () => {
    const queue = queueOf();
    const done: string[] = [];
    for (const worker of ['one', 'other'])
      workerOf(async (body) => {
        done.push(body);
        return `${worker}: ${body}`;
      });
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((id) => queue.ask(ask(id))));
    expect(answers.map((answer) => answer.replace(/^\w+: /, ''))).toEqual(
      ['a', 'b', 'c', 'd'].map((id) => `body of ${id}`),
    );
    expect(done.toSorted()).toEqual(['a', 'b', 'c', 'd'].map((id) => `body of ${id}`));
  });

  it('hands the job of a killed worker to another', async () => {
    const queue = queueOf();
    const file = join(import.meta.dirname, 'fixtures/hanging-worker.ts');
    const hanging = fork(file, [server.address, name, `${LEASE_MS}`], {
      env: { ...process.env, ...server.environment },
    });
    onTestFinished(() => void hanging.kill('SIGKILL'));
    const answer = queue.ask(ask('a'));
    expect(await once(hanging, 'message')).toEqual(['body of a', undefined]);
    hanging.kill('SIGKILL');
    const { numbered, bodies } = counting();
    workerOf(numbered);
    expect(await answer).toBe('1: body of a');
    expect(bodies).toEqual(['body of a']);
  });

  it('asks again when the queue comes back without its jobs', async () => {
    const queue = queueOf();
    const answer = queue.ask(ask('a'));
    await expect.poll(() => queue.redis.exists(`warpsmith:${name}:a`)).toBe(1);
    await server.kill();
    await expect
      .poll(() => troubles, { timeout: 10_000 })
      .toContainEqual(expect.stringContaining('is gone; waiting for it'));
    await server.start();
    workerOf(upper);
    expect(await answer).toBe('BODY OF A');
    // A connection that is lost is no error of its own.
    expect(troubles).toEqual([expect.stringContaining('is gone; waiting for it'), expect.stringContaining('is back')]);
  });

  it('tells what the queue refuses, each text once', async () => {
    const queue = queueOf();
    const told: string[] = [];
    const worker = workerOf(upper, { onTrouble: (text) => void told.push(text) });
    await queue.ask(ask('a'));
    await queue.redis.config('SET', 'maxmemory', '1');
    try {
      await expect.poll(() => told, { timeout: 10_000 }).toContainEqual(expect.stringContaining('OOM'));
      await expect(queue.ask(ask('b'))).rejects.toEqual(code('queue-refuses'));
    } finally {
      await queue.redis.config('SET', 'maxmemory', '0');
    }
    await worker.close(0);
    expect(new Set(told).size).toBe(told.length);
  });

  it('runs no job that was not signed with the key, nor one that was signed for another name', async () => {
    const queue = queueOf();
    const run: string[] = [];
    const refused: string[] = [];
    const forger = new Queue(name, { connection: openConnection(access, () => {}), prefix: 'warpsmith' });
    open.push({ close: async () => void (await forger.close()) });
    const forged = new Seal('another key of forty characters or so....').close(`job ${name} forged`, 'rm -rf');
    const copied = access.seal.close(`job ${name} original`, 'body of original');
    await forger.add('evaluation', forged, { jobId: 'forged' });
    await forger.add('evaluation', copied, { jobId: 'copied' });
    await forger.add('evaluation', { body: 'rm -rf' }, { jobId: 'bare' });
    workerOf(
      async (body) => {
        run.push(body);
        return body;
      },
      { onTrouble: (reason) => void refused.push(reason) },
    );
    await queue.ask(ask('a'));
    expect(run).toEqual(['body of a']);
    expect(refused.map((reason) => reason.split(' ')[1]).toSorted()).toEqual(['bare', 'copied', 'forged']);
  });

  it('takes no answer that was not signed for its job, says so, and gives up after three', async () => {
    const queue = queueOf();
    const forger = queueAccess(server.address, { ...server.environment, WARPSMITH_QUEUE_KEY: 'x'.repeat(40) });
    // Reads jobs as if it had the key, and signs with its own.
    const seal = { open: access.seal.open.bind(access.seal), close: forger.seal.close.bind(forger.seal) } as Seal;
    workerOf(upper, { access: { ...access, seal } });
    await expect(queue.ask(ask('a'))).rejects.toThrow(JobFailed);
    expect(troubles).toEqual(Array(3).fill('job a: its answer was not signed with our key, and is refused'));
  });

  it('refuses what the coordinator refuses, until another worker answers', async () => {
    const queue = queueOf();
    workerOf(counting().numbered);
    const refuse = (answer: string) => (answer.startsWith('2') ? undefined : `refused ${answer}`);
    expect(await queue.ask(ask('a', { refuse }))).toBe('2: body of a');
    expect(troubles).toEqual(['job a: refused 1: body of a']);
  });

  it('answers once, whoever asks twice; asking for the same id again takes what was answered meanwhile', async () => {
    const queue = queueOf();
    const { numbered, bodies } = counting();
    const first = queue.ask(ask('a'));
    await expect.poll(() => queue.redis.exists(`warpsmith:${name}:a`)).toBe(1);
    // A coordinator that was killed, and resumes.
    const again = new JobQueue(access, name);
    open.push(again);
    workerOf(numbered);
    expect(await Promise.race([first, again.ask(ask('a'))])).toBe('1: body of a');
    expect(bodies).toEqual(['body of a']);
  });

  it('says what failed in a worker', async () => {
    const queue = queueOf();
    workerOf(() => Promise.reject(new Error('no such file')));
    await expect(queue.ask(ask('a'))).rejects.toThrow('no answer: no such file');
  });

  it('takes back what nobody works on when it is aborted, and ends its waits when it is closed', async () => {
    const queue = queueOf();
    const stop = new AbortController();
    const aborted = queue.ask(ask('a', { signal: stop.signal }));
    await expect.poll(() => queue.redis.exists(`warpsmith:${name}:a`)).toBe(1);
    stop.abort(new Error('Ctrl-C'));
    await expect(aborted).rejects.toThrow('Ctrl-C');
    await expect.poll(() => queue.redis.exists(`warpsmith:${name}:a`)).toBe(0);
    const waiting = expect(queue.ask(ask('b'))).rejects.toThrow('closed');
    await queue.close();
    await waiting;
  });

  it('knows which workers are there, and believes none without the key', async () => {
    const queue = queueOf();
    const worker = workerOf(upper, { said: '{"device":"one"}' });
    const forger = { ...access, seal: new Seal('another') };
    open.push(new JobWorker({ access: forger, queue: name, said: '{"device":"forged"}', answer: upper }));
    await expect.poll(() => queue.workers()).toContain('{"device":"one"}');
    expect(await queue.workers()).not.toContain('{"device":"forged"}');
    expect(await whoIsThere(queue.redis, forger.seal)).toEqual(['{"device":"forged"}']);
    await worker.close(0);
    expect(await queue.workers()).not.toContain('{"device":"one"}');
  });

  it('holds files by their contents, and gives no other', async () => {
    const { redis: connection } = queueOf();
    const hash = sha256('text');
    await putFiles(connection, new Map([[hash, () => Buffer.from('text')]]));
    expect((await getFile(connection, hash)).toString()).toBe('text');
    await connection.set(`warpsmith:file:${hash}`, 'TEXT');
    await expect(getFile(connection, hash)).rejects.toThrow('is another one');
    await expect(getFile(connection, sha256('x'))).rejects.toThrow('is not in the queue');
  });
});

describe.skipIf(!redis.isThere)(`a queue that can't be used, ${redis.title}`, () => {
  it('knows another password, lets in everybody, or does not answer', async () => {
    const open = await startRedis('');
    const closed = await startRedis();
    try {
      const environment = { ...closed.environment, WARPSMITH_QUEUE_PASSWORD: 'x' };
      await expect(checkQueue(queueAccess(closed.address, environment))).rejects.toEqual(code('queue-refuses'));
      await expect(checkQueue(queueAccess(open.address, environment))).rejects.toEqual(code('queue-open-to-all'));
      await closed.kill();
      await expect(checkQueue(queueAccess(closed.address, environment))).rejects.toEqual(code('queue-unreachable'));
    } finally {
      await open.close();
      await closed.close();
    }
  });
});
