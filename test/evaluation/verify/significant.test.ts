import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSession, type Session } from '../../../src/app/session.ts';
import { inProcess } from '../../../src/core/call-reference.ts';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { Evaluation } from '../../../src/core/evaluation.ts';
import type { KernelFile } from '../../../src/core/kernel.ts';
import type { Problem, ProblemFile, ReferenceFunction } from '../../../src/core/problem.ts';
import { checkProblem } from '../../../src/core/schemas/problem-checks.ts';
import { detailsOf } from '../../core/support/expect-error.ts';
import { longTests } from '../../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 3 });

let session: Session;
beforeAll(async () => {
  session = await openSession({ device: 'virtual:l4', threads: 1 });
});
afterAll(() => session[Symbol.asyncDispose]());

const BASE: Omit<ProblemFile, 'name' | 'dimensions' | 'inputs' | 'outputs' | 'workloads' | 'checkShapes'> = {
  schemaVersion: 1,
  description: 'Elements behind a length do not matter.',
  flop: 'N',
  minimumFlop: 'N',
  minimumReadBytes: '4 * N',
  determinism: 'bitwise',
  comparison: { kind: 'exact' },
  start: '01',
  rungs: ['01'],
};

/** Positive elements, in their order, and how many there are. */
const compaction: ProblemFile = {
  ...BASE,
  name: 'compaction',
  dimensions: { N: { description: 'Elements.', minimum: 1, maximum: 300 } },
  inputs: { x: { dtype: 'f32', shape: ['N'], access: 'in' } },
  outputs: {
    count: { dtype: 'i32', shape: [1], access: 'out' },
    y: { dtype: 'f32', shape: ['N'], access: 'out', significant: { first: 'count' } },
  },
  workloads: [{ name: 'main', dimensions: { N: 200 } }],
  checkShapes: [{ dimensions: { N: 33 } }],
};
const compacted: ReferenceFunction = ({ x }) => {
  const kept = x!.filter((value) => value > 0);
  const y = new Float64Array(x!.length);
  y.set(kept);
  return { count: Float64Array.of(kept.length), y };
};
const COMPACT = `__global__ void compact(const float* x, int* count, float* y, int n) {
  int kept = 0;
  for (int i = 0; i < n; i++)
    if (x[i] > 0.0f) y[kept++] = x[i];
  *count = kept;
}
`;

/** Twice the first \`lengths[r]\` elements of each row. */
const ragged: ProblemFile = {
  ...BASE,
  name: 'ragged',
  dimensions: { R: { description: 'Rows.', minimum: 1 }, N: { description: 'Columns.', minimum: 1 } },
  inputs: {
    x: { dtype: 'f32', shape: ['R', 'N'], access: 'in' },
    lengths: { dtype: 'i32', shape: ['R'], access: 'in', generator: { kind: 'index-range', low: 0, high: 'N' } },
  },
  outputs: { y: { dtype: 'f32', shape: ['R', 'N'], access: 'out', significant: { first: 'lengths', axis: 1 } } },
  workloads: [{ name: 'main', dimensions: { R: 9, N: 40 } }],
  checkShapes: [{ dimensions: { R: 5, N: 7 } }],
};
const doubled: ReferenceFunction = ({ x }) => ({ y: x!.map((value) => 2 * value) });
const DOUBLE = `__global__ void twice(const float* x, const int* lengths, float* y, int columns) {
  const int row = blockIdx.x;
  for (int c = threadIdx.x; c < lengths[row]; c += 32) y[row * columns + c] = 2.0f * x[row * columns + c];
}
`;

const problemOf = (file: ProblemFile, reference: ReferenceFunction): Problem => ({
  folder: 'significant',
  file: checkProblem(file, 'problem.json'),
  reference: inProcess(reference),
});

const kernelOf = (steps: KernelFile['steps']): KernelFile => ({
  schemaVersion: 1,
  name: '01',
  description: '',
  problem: '../problem.json',
  source: { kind: 'cuda', files: ['kernel.cu'] },
  steps,
});
const COMPACTION_STEPS: KernelFile['steps'] = [
  {
    function: 'compact',
    grid: [1],
    block: [1],
    arguments: [{ buffer: 'x' }, { buffer: 'count' }, { buffer: 'y' }, { scalar: 'N', dtype: 'i32' }],
  },
];
const RAGGED_STEPS: KernelFile['steps'] = [
  {
    function: 'twice',
    grid: ['R'],
    block: [32],
    arguments: [{ buffer: 'x' }, { buffer: 'lengths' }, { buffer: 'y' }, { scalar: 'N', dtype: 'i32' }],
  },
];

const judge = (problem: Problem, source: string, steps: KernelFile['steps']): Promise<Evaluation> =>
  session.evaluator.evaluate({
    problem,
    candidate: makeCandidate({ folder: '01', file: kernelOf(steps), sources: { 'kernel.cu': source } }, {}),
    workload: { ...problem.file.workloads[0]!, cache: 'hot' },
    seed: 1,
  });

describe('elements behind a length that is an output', () => {
  const problem = problemOf(compaction, compacted);
  const compact = (...edits: [string, string][]): Promise<Evaluation> => {
    const source = edits.reduce((text, [from, to]) => {
      expect(text).toContain(from);
      return text.replace(from, to);
    }, COMPACT);
    return judge(problem, source, COMPACTION_STEPS);
  };

  long('may hold anything', async () => {
    expect(await compact()).toMatchObject({ status: 'passed' });
    expect(
      await compact(['*count = kept;', '*count = kept;\n  for (int i = kept; i < n; i++) y[i] = x[i];']),
    ).toMatchObject({
      status: 'passed',
    });
  });

  it('those before it may not', async () => {
    const evaluation = await compact(['*count = kept;', '*count = kept;\n  if (kept > 0) y[kept - 1] = 7.0f;']);
    expect(evaluation).toMatchObject({ status: 'wrong' });
    expect(evaluation.reason).toContain('1 of');
  });

  it('a shorter length does not hide wrong elements: it is wrong itself', async () => {
    const evaluation = await compact(['*count = kept;', '*count = 0;'], ['y[kept++] = x[i];', 'kept++;']);
    expect(evaluation.status).toBe('wrong');
    expect(evaluation.reason).toContain('count');
  });

  it('matter where problem.json does not say otherwise', async () => {
    const { significant: _, ...y } = compaction.outputs.y!;
    const whole = problemOf({ ...compaction, outputs: { ...compaction.outputs, y } }, compacted);
    expect((await judge(whole, COMPACT, COMPACTION_STEPS)).status).toBe('wrong');
  });
});

describe('elements behind lengths that are an input, row by row', () => {
  const problem = problemOf(ragged, doubled);
  long('may hold anything, and those before may not', async () => {
    expect(await judge(problem, DOUBLE, RAGGED_STEPS)).toMatchObject({ status: 'passed' });
    const short = DOUBLE.replace('c < lengths[row]', 'c < lengths[row] - 1');
    expect((await judge(problem, short, RAGGED_STEPS)).status).toBe('wrong');
  });
});

describe('a number of elements', () => {
  long('is an expression of the dimensions', async () => {
    const outputs = { y: { ...ragged.outputs.y!, significant: { first: 'floor(N / 2)', axis: 1 } } };
    const problem = problemOf({ ...ragged, outputs }, doubled);
    const halved = (bound: string): string => DOUBLE.replace('c < lengths[row]', `c < ${bound}`);
    expect(await judge(problem, halved('columns / 2'), RAGGED_STEPS)).toMatchObject({ status: 'passed' });
    expect((await judge(problem, halved('columns / 2 - 1'), RAGGED_STEPS)).status).toBe('wrong');
  });
});

describe('mistakes in `significant`', () => {
  const withY = (changes: object, file = compaction): ProblemFile =>
    ({ ...file, outputs: { ...file.outputs, y: { ...file.outputs.y, ...changes } } }) as ProblemFile;
  const count = compaction.outputs.count!;
  it.each<[string, ProblemFile, string]>([
    ['no such axis', withY({ significant: { first: 'count', axis: 1 } }), 'outputs.y.significant.axis'],
    ['no such name', withY({ significant: { first: 'cuont' } }), 'outputs.y.significant.first'],
    ['floating-point lengths', withY({ significant: { first: 'x' } }), 'outputs.y.significant.first'],
    [
      'lengths that are not compared exactly',
      withY({}, { ...compaction, comparison: { kind: 'ulp', maximumUlps: 1 } }),
      'outputs.y.significant.first',
    ],
    [
      'lengths that are not always there',
      { ...compaction, outputs: { ...compaction.outputs, count: { ...count, when: 'N > 1' } } },
      'outputs.y.significant.first',
    ],
    [
      'too many numbers',
      { ...compaction, outputs: { ...compaction.outputs, count: { ...count, shape: ['N'] } } },
      'outputs.y.significant.first',
    ],
    ['more than there are', withY({ significant: { first: 'N + 1' } }), 'outputs.y.significant.first'],
    [
      'an input',
      { ...compaction, inputs: { x: { ...compaction.inputs.x!, significant: { first: 1 } } } },
      'inputs.x.significant',
    ],
  ])('%s', (_what, file, path) => {
    const details = detailsOf(() => checkProblem(file, 'problem.json'));
    expect(details).toMatchObject({ path, file: 'problem.json' });
    expect(details.expected).toBeTruthy();
  });
});
