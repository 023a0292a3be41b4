import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { openRecording } from '../../bench/recording-file.ts';
import { compareReadings } from '../../bench/referee/compare-readings.ts';
import { distinctCandidates } from '../../bench/referee/distinct-candidates.ts';
import { namesToDo, refereeOptions } from '../../bench/referee/referee-options.ts';
import { screenCandidates } from '../../bench/referee/screen-candidates.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../src/core/evaluation.ts';
import { UNSHARED } from '../../src/core/measuring-device.ts';
import type { Contender } from '../../src/evaluation/measure/contender.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'warpsmith-referee-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('a recording', () => {
  it('is written where it is told, and continued by the next program that opens it', async () => {
    const file = join(folder, 'new', 'recording.json');
    const begin = () => ({ entries: [] as string[] });
    const first = await openRecording(file, begin);
    first.recording.entries.push('a');
    await first.save();
    const second = await openRecording(
      file,
      (): ReturnType<typeof begin> => expect.unreachable('there is one already'),
    );
    second.recording.entries.push('b');
    await second.save();
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ entries: ['a', 'b'] });
  });

  it('that cannot be read is not overwritten', async () => {
    await expect(openRecording(folder, () => ({}))).rejects.toThrow('EISDIR');
  });
});

describe('what is done', () => {
  it('is everything that is not recorded, or what is asked for of it', () => {
    expect(namesToDo(['a', 'b', 'c'], [], ['b'])).toEqual(['a', 'c']);
    expect(namesToDo(['a', 'b', 'c'], ['c', 'b'], ['b'])).toEqual(['c']);
    expect(() => namesToDo(['a'], ['x'], [])).toThrow('there is no x; there are a');
  });

  it('is said by options', () => {
    expect(refereeOptions({ output: 'x.json', count: 200 }, [])).toEqual({
      device: 'cuda:0',
      output: 'x.json',
      only: [],
      count: 200,
      seconds: 0,
    });
    expect(refereeOptions({ output: 'x.json' }, ['--only', 'a,b', '--seconds', '7'])).toMatchObject({
      only: ['a', 'b'],
      seconds: 7,
    });
  });
});

const WORKLOAD = 'b1h8s512d64';

test('candidates are all settings of a kernel, the defaults first, none twice, always in the same order', async () => {
  const { candidates } = await distinctCandidates('problems/attention/03_rows', WORKLOAD);
  const again = await distinctCandidates('problems/attention/03_rows', WORKLOAD);
  const ids = candidates.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThan(50);
  expect(again.candidates.map(({ id }) => id)).toEqual(ids);
  const { parameters } = candidates[0]!.kernel.file;
  const defaults = Object.entries(parameters!).map(([name, declaration]) => [name, declaration.default]);
  expect(candidates[0]!.parameters).toEqual(Object.fromEntries(defaults));
});

describe('screening', () => {
  const evaluated: EvaluationRequest[] = [];
  const prepared: string[][] = [];
  const evaluator: Evaluator = {
    evaluate: async (request) => {
      evaluated.push(request);
      const { id, parameters } = request.candidate;
      return {
        status: 'wrong',
        reason: 'made up',
        candidate: { id, kernel: 'made-up', folder: '', parameters },
        elapsedMs: { compile: 1.04, verify: 2, time: 3, total: 6.06 },
      } as Evaluation;
    },
    prepare: (candidates) => {
      prepared.push(candidates.map(({ id }) => id));
    },
    close: async () => {},
  };

  it('goes through the candidates beside the best, with the next six prepared, and keeps how each ended', async () => {
    const { problem, workload, candidates } = await distinctCandidates('problems/attention/03_rows', WORKLOAD);
    const [best, ...rest] = candidates.slice(0, 10);
    const request = { problem, workload, seed: 3 };
    const run = await screenCandidates({ evaluator, request, candidates: rest, best: best!, limitMs: 60_000 });
    expect(evaluated.map(({ candidate }) => candidate.id)).toEqual(rest.map(({ id }) => id));
    for (const { tier, seed, against } of evaluated)
      expect({ tier, seed, against }).toEqual({
        tier: 'screen',
        seed: 3,
        against: [{ name: 'best', candidate: best }],
      });
    expect(prepared[0]).toEqual(rest.slice(1, 7).map(({ id }) => id));
    expect(prepared.at(-1)).toEqual([]);
    expect(run.evaluations).toHaveLength(9);
    expect(run.evaluations[0]).toEqual({
      kernel: 'made-up',
      parameters: rest[0]!.parameters,
      status: 'wrong',
      reason: 'made up',
      elapsedMs: { compile: 1, verify: 2, time: 3, total: 6.1 },
    });
    expect(run.evaluationsPerMinute).toBeGreaterThan(0);
  });

  it('begins none when the time is over', async () => {
    const { problem, workload, candidates } = await distinctCandidates('problems/attention/03_rows', WORKLOAD);
    const request = { problem, workload, seed: 3 };
    const run = await screenCandidates({ evaluator, request, candidates, best: candidates[0]!, limitMs: -1 });
    expect(run.evaluations).toEqual([]);
  });
});

describe('readings of two processes', () => {
  const contender = (name: string, ns: number): Contender => ({
    name,
    kind: 'kernel',
    slotBytes: 1024,
    estimateNs: async () => ({ ok: true, ns, eagerNs: ns + 2000 }),
    openBlock: async () => ({
      ok: true,
      block: {
        replayOverheadNs: 0,
        inputs: 'drawn-on-device',
        checkedSlotCount: 0,
        sample: async () => ({ ok: true, ns }),
        close: async () => ({ ok: true }),
        discard: async () => {},
      },
    }),
  });
  const compare = (ours: Contender, theirs: Contender) =>
    compareReadings({
      ours,
      theirs,
      cache: 'hot',
      measuring: { l2Bytes: 65_536, state: async () => ({}), use: UNSHARED },
      seed: 1,
    });

  it('are the same within one per cent, either way', async () => {
    const same = await compare(contender('warpsmith', 10_000), contender('python', 10_090));
    expect(same).toMatchObject({ withinOnePercent: true, comparison: { verdict: 'same', blockCount: 20 } });
    expect(same.comparison?.ratio).toBeCloseTo(1.009, 9);
    expect(same.measurements.python).toMatchObject({ summary: { medianNs: 10_090 }, eagerNs: 12_090 });
    for (const theirs of [9_880, 10_120])
      expect(await compare(contender('warpsmith', 10_000), contender('python', theirs))).toMatchObject({
        withinOnePercent: false,
      });
  });

  it('are missing when one process fails, and the failure is told', async () => {
    const broken: Contender = {
      ...contender('python', 1),
      estimateNs: async () => ({ ok: false, status: 'crashed', reason: 'gone' }),
    };
    expect(await compare(contender('warpsmith', 10_000), broken)).toEqual({
      withinOnePercent: false,
      measurements: {},
      discardedBlockCount: 0,
      failure: 'python: crashed: gone',
    });
  });
});
