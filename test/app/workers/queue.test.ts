import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { optimizeProblem } from '../../../src/app/optimize.ts';
import { resumeRun } from '../../../src/app/resume.ts';
import { createProblemFetcher } from '../../../src/app/workers/fetch-problem.ts';
import { readEventLog } from '../../../src/store/event-log.ts';
import { ofType, type RecordedEvent } from '../../../src/store/events.ts';
import { eventsPath, findRun, listRuns } from '../../../src/store/run-folder.ts';
import { repository } from '../../cli/run-cli.ts';
import { type RedisServer, redis, startRedis } from '../../support/redis.ts';
import { interrupted } from '../../support/sampling/long-tests.ts';
import { smallRowSum } from '../../support/small-row-sum.ts';

const EVALUATIONS = 6;

describe.skipIf(!redis.isThere)(`a run that asks workers of a queue, ${redis.title}`, () => {
  let server: RedisServer;
  let folder: string;
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    server = await startRedis();
    folder = mkdtempSync(join(tmpdir(), 'warpsmith-queue-'));
    for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value);
  });
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await server.close();
    rmSync(folder, { recursive: true, force: true });
    vi.unstubAllEnvs();
  });

  const warpsmith = (...args: string[]): ChildProcess => {
    const child = spawn(process.execPath, [join(repository, 'bin/warpsmith.mjs'), ...args], {
      ...{ cwd: repository, stdio: ['ignore', 'ignore', 'pipe'] },
    });
    children.push(child);
    return child;
  };
  const worker = () =>
    warpsmith('worker', '--queue', server.address, '--device', 'virtual:l4', '--threads', '1', '--fresh');
  const store = () => join(folder, 'store');
  const logged = (): readonly RecordedEvent[] => {
    const [run] = existsSync(store()) ? listRuns(store()) : [];
    const path = run && eventsPath(findRun(store(), run));
    return path && existsSync(path) ? readEventLog(path).events : [];
  };
  const finished = () => ofType([...logged()], 'evaluation-finished');
  const killed = async (child: ChildProcess): Promise<void> => {
    expect(child.exitCode, 'it ended by itself').toBeNull();
    child.kill('SIGKILL');
    await once(child, 'exit');
  };

  interrupted('coordinator and worker of a queue')(
    'goes on when coordinator and worker are killed: nothing is lost, and nothing counted twice',
    async () => {
      const first = worker();
      const where = ['--queue', server.address, '--workers', 'virtual:l4', '--store', store(), '--trust'];
      const how = ['--max-evaluations', `${EVALUATIONS}`, '--no-ablation', '--seed', '5'];
      const coordinator = warpsmith('optimize', smallRowSum(folder), ...where, ...how);
      await expect.poll(() => finished().length, { timeout: 60_000 }).toBeGreaterThan(1);
      await killed(coordinator);
      await killed(first);
      const before = finished().length;
      expect(before).toBeLessThan(EVALUATIONS);
      worker();
      const { result } = await resumeRun({ store: store(), trust: true });
      expect(result.evaluationsUsed).toBe(EVALUATIONS);
      const evaluations = finished().map(({ evaluation }) => evaluation);
      expect(evaluations.map(({ id }) => id)).toEqual(Array.from({ length: EVALUATIONS }, (_, i) => `e${i + 1}`));
      expect(evaluations.map(({ status }) => status)).not.toContain('device-failed');
      const searched = evaluations.slice(0, -1).map(({ candidate }) => candidate.id);
      expect(new Set(searched).size).toBe(searched.length);
      // Neither password nor key is kept, nor a place of the worker's machine.
      const text = JSON.stringify(logged());
      for (const secret of Object.values(server.environment)) expect(text).not.toContain(secret);
      expect(evaluations[0]!.candidate.folder.startsWith(folder)).toBe(true);
    },
  );

  it('ends a worker that has nothing to do, and releases its GPU at once', async () => {
    vi.stubEnv('XDG_STATE_HOME', folder);
    const mark = join(folder, 'released');
    const release = ['--release-after', '0.02', '--release-command', JSON.stringify(['touch', mark])];
    const child = warpsmith('worker', '--queue', server.address, '--device', 'virtual:l4', ...release);
    let said = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const [exitCode] = await once(child, 'close');
    // The idle time has passed already: nothing more is waited for.
    expect(said).toMatch(
      /nothing to do for 0\.02 minutes: the worker ends\nThe GPU is released: touch exited with 0\./,
    );
    expect([exitCode, existsSync(mark)]).toEqual([0, true]);
  });

  const refused = async (changes: object, code: string): Promise<void> => {
    const request = { target: smallRowSum(folder), store: join(folder, 'refused'), trust: true, device: 'queue' };
    const asked = { ...request, queue: server.address, workers: 'virtual:l4', ...changes };
    await expect(optimizeProblem(asked)).rejects.toEqual(
      expect.objectContaining({ details: expect.objectContaining({ code }) }),
    );
  };

  it.each([
    [{ workers: undefined }, 'option-missing'],
    [{ workers: '2' }, 'option-missing'],
    [{ threads: 2 }, 'conflicting-options'],
    [{ record: 'x.jsonl.gz' }, 'conflicting-options'],
    [{ author: ['my-agent'] }, 'conflicting-options'],
  ])('is refused with %o: %s', refused);
});

describe('the problem of a job', () => {
  it.each(['../x', '/x', 'a/../../x', ''])('can write no file %j', async (name) => {
    const fetcher = createProblemFetcher('/nonexistent');
    await expect(fetcher({ [name]: 'hash' }, async () => new Uint8Array())).rejects.toThrow('lies outside its folder');
  });
});
