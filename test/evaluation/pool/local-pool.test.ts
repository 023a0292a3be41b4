import { describe, expect, it } from 'vitest';
import type { DeviceIdentity } from '../../../src/core/device.ts';
import type { Evaluation, EvaluationRequest } from '../../../src/core/evaluation.ts';
import { LocalPool, type Seat } from '../../../src/evaluation/pool/local-pool.ts';
import { notJudged } from '../../../src/evaluation/recording/not-judged.ts';
import { WorkerProcessEnded } from '../../../src/process/worker-process.ts';

const request = (id: string, signal?: AbortSignal): EvaluationRequest =>
  ({
    id,
    signal,
    candidate: { id, kernel: { folder: '', file: { name: id } }, parameters: {} },
    workload: { name: 'n', dimensions: {} },
  }) as unknown as EvaluationRequest;

const device = (id: string): DeviceIdentity => ({ id, kind: 'cuda', name: 'GPU' });
const passed = (of: EvaluationRequest, on: DeviceIdentity): Evaluation => ({
  ...notJudged(of, on, ''),
  status: 'passed',
});
const killed = () => new WorkerProcessEnded({ reason: 'signaled', signal: 'SIGKILL', stderr: '' });

interface Scripted extends Seat {
  readonly asked: string[];
}

/** Does what the script says with each request, in its order; after that it judges. */
function seat(id: string, ...script: ((of: EvaluationRequest) => Promise<Evaluation>)[]): Scripted {
  const asked: string[] = [];
  const own = device(id);
  return {
    device: own,
    asked,
    close: async () => {},
    async evaluate(of) {
      asked.push(of.id!);
      await new Promise(setImmediate);
      return (script.shift() ?? (async () => passed(of, own)))(of);
    },
  };
}
const dies = () => Promise.reject(killed());
const failsOn = (id: string) => async (of: EvaluationRequest) => notJudged(of, device(id), 'Xid 79');

const all = (pool: LocalPool, ...ids: string[]) => Promise.all(ids.map((id) => pool.evaluate(request(id))));

it('judges as many at a time as it has workers, and a lone request always on the first', async () => {
  const [one, other] = [seat('cuda:0'), seat('cuda:1')];
  const pool = new LocalPool([one, other]);
  expect(pool.capacity).toBe(2);
  await all(pool, 'a', 'b', 'c', 'd');
  expect([one.asked, other.asked]).toEqual([
    ['a', 'c'],
    ['b', 'd'],
  ]);
  for (const id of ['e', 'f']) expect((await pool.evaluate(request(id))).device.id).toBe('cuda:0');
});

it('hands what a dead worker was judging to another: nothing is lost, nothing answered twice', async () => {
  const [one, other] = [seat('cuda:0', dies), seat('cuda:1')];
  const answers = await all(new LocalPool([one, other]), 'a', 'b', 'c');
  expect(answers.map(({ id, status }) => `${id} ${status}`)).toEqual(['a passed', 'b passed', 'c passed']);
  expect([...one.asked, ...other.asked].toSorted()).toEqual(['a', 'a', 'b', 'c']);
});

it('says so of a candidate over which two workers end, and blames the device, not it', async () => {
  const pool = new LocalPool([seat('cuda:0', dies, dies)]);
  expect(await pool.evaluate(request('a'))).toMatchObject({
    status: 'device-failed',
    reason: '2 workers ended over it; the worker process was ended by SIGKILL',
  });
  expect(await pool.evaluate(request('b'))).toMatchObject({ status: 'passed' });
});

it('gives up a device that fails twice in a row, and has the second judged elsewhere; the last one it keeps', async () => {
  const fails = failsOn('cuda:0');
  const bad = seat('cuda:0', fails, fails);
  const pool = new LocalPool([bad, seat('cuda:1', failsOn('cuda:1'), failsOn('cuda:1'))]);
  expect(await pool.evaluate(request('a'))).toMatchObject({ status: 'device-failed', device: { id: 'cuda:0' } });
  expect(await pool.evaluate(request('b'))).toMatchObject({ status: 'device-failed', device: { id: 'cuda:1' } });
  expect(pool.capacity).toBe(1);
  expect(await pool.evaluate(request('c'))).toMatchObject({ status: 'device-failed', device: { id: 'cuda:1' } });
  expect(await pool.evaluate(request('d'))).toMatchObject({ status: 'passed', device: { id: 'cuda:1' } });
  expect(bad.asked).toEqual(['a', 'b']);
});

it('hands nothing on that was aborted, and refuses what comes after its end', async () => {
  const stop = new AbortController();
  const aborted = () => {
    stop.abort(new Error('Ctrl-C'));
    return dies();
  };
  const other = seat('cuda:1');
  const pool = new LocalPool([seat('cuda:0', aborted), other]);
  await expect(pool.evaluate(request('a', stop.signal))).rejects.toThrow('SIGKILL');
  expect(other.asked).toEqual([]);
  const waiting = expect(all(pool, 'b', 'c', 'd')).rejects.toThrow('closed');
  await pool.close();
  await waiting;
  await expect(pool.evaluate(request('e'))).rejects.toThrow('closed');
});

it('lets a mistake of the user through', async () => {
  const mistake = async () => {
    throw new Error('problem-changed');
  };
  await expect(new LocalPool([seat('cuda:0', mistake)]).evaluate(request('a'))).rejects.toThrow('problem-changed');
});

it('lets all workers but the first rehearse: nothing comes of it, and what waits goes to who is idle first', async () => {
  const begun: (() => void)[] = [];
  const hangs = async (of: EvaluationRequest) => {
    await new Promise<void>((resolve) => begun.push(resolve));
    return passed(of, device('cuda:1'));
  };
  const [one, other, third] = [seat('cuda:0'), seat('cuda:1', hangs), seat('cuda:2', dies)];
  const pool = new LocalPool([one, other, third]);
  pool.rehearse(request('start'));
  expect((await pool.evaluate(request('start'))).device.id).toBe('cuda:0');
  const answers = await all(pool, 'a', 'b', 'c');
  // The one that died starts again with what it is asked next; the one that still rehearses gets nothing.
  expect(answers.map(({ status }) => status)).toEqual(['passed', 'passed', 'passed']);
  expect(other.asked).toEqual(['start']);
  expect(third.asked.slice(0, 1)).toEqual(['start']);
  for (const end of begun) end();
  await new Promise(setImmediate);
  await all(pool, 'd', 'e');
  expect(other.asked).toEqual(['start', 'e']);
});

it('lets no virtual worker rehearse: they share the cores', async () => {
  const virtual = { ...seat('virtual:l4'), device: { ...device('virtual:l4'), kind: 'virtual' as const } };
  new LocalPool([seat('virtual:l4'), virtual]).rehearse(request('start'));
  expect(virtual.asked).toEqual([]);
});

describe('what compiles ahead', () => {
  const named = (...ids: string[]) => ids.map((id) => ({ id }) as unknown as EvaluationRequest['candidate']);
  const ofProblem = { ...request('a'), problem: { folder: 'p' } as unknown as EvaluationRequest['problem'] };
  /** Takes all that it is given while its process runs. */
  const able = (scripted: Scripted, prepared: string[], isRunning = () => true): Seat => ({
    ...scripted,
    prepare(candidates) {
      if (isRunning()) prepared.push(...candidates.map((one) => `${scripted.device.id} ${one.id}`));
      return isRunning();
    },
  });

  it('is shared out, and those that can not are left out', async () => {
    const prepared: string[] = [];
    const pool = new LocalPool([able(seat('cuda:0'), prepared), seat('cuda:1'), able(seat('cuda:2'), prepared)]);
    // Nobody knows of which problem they are.
    pool.prepare(named('x', 'y', 'z'));
    expect(prepared).toEqual([]);
    await pool.evaluate(ofProblem);
    pool.prepare(named('x', 'y', 'z'));
    expect(prepared).toEqual(['cuda:0 x', 'cuda:0 z', 'cuda:2 y']);
    // Who looks ahead names most of them again, in other places: none compiles twice.
    pool.prepare(named('y', 'z', 'v', 'w'));
    expect(prepared.slice(3)).toEqual(['cuda:2 v', 'cuda:0 w']);
  });

  it('is given again if a worker did not take it', async () => {
    const prepared: string[] = [];
    let isRunning = false;
    const pool = new LocalPool([able(seat('cuda:0'), prepared), able(seat('cuda:1'), prepared, () => isRunning)]);
    await pool.evaluate(ofProblem);
    pool.prepare(named('x', 'y'));
    expect(prepared).toEqual(['cuda:0 x']);
    isRunning = true;
    pool.prepare(named('x', 'y'));
    expect(prepared.slice(1)).toEqual(['cuda:1 y']);
  });

  it.each(['judges', 'rehearses'])(
    'is given again if a worker ends while it %s, without what others have',
    async (how) => {
      const prepared: string[] = [];
      const [one, other] = [seat('cuda:0'), seat('cuda:1', dies)];
      const pool = new LocalPool([able(one, prepared), able(other, prepared)]);
      await pool.evaluate(ofProblem);
      pool.prepare(named('x', 'y'));
      expect(prepared).toEqual(['cuda:0 x', 'cuda:1 y']);
      if (how === 'judges') await all(pool, 'b', 'c');
      else {
        pool.rehearse(ofProblem);
        await new Promise(setImmediate);
        await new Promise(setImmediate);
      }
      expect(other.asked).toHaveLength(1);
      pool.prepare(named('x', 'y'));
      expect(prepared.slice(2)).toEqual(['cuda:1 y']);
    },
  );
});

it('a candidate that is judged once more goes to who knows it, if that one is idle', async () => {
  const [one, other] = [seat('cuda:0'), seat('cuda:1')];
  const pool = new LocalPool([one, other]);
  await all(pool, 'a', 'b');
  await all(pool, 'b');
  expect([one.asked, other.asked]).toEqual([['a'], ['b', 'b']]);
  await all(pool, 'b', 'b');
  expect([one.asked, other.asked]).toEqual([
    ['a', 'b'],
    ['b', 'b', 'b'],
  ]);
});

it('nobody rehearses on the GPU on which the start is judged', () => {
  const [one, same, other] = [seat('cuda:0'), seat('cuda:0'), seat('cuda:1')];
  new LocalPool([one, same, other]).rehearse(request('start'));
  expect([one.asked, same.asked, other.asked]).toEqual([[], [], ['start']]);
});
