import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as attention from '../../../problems/attention/reference.ts';
import * as gemm from '../../../problems/gemm/reference.ts';
import * as layernorm from '../../../problems/layernorm/reference.ts';
import * as softmax from '../../../problems/softmax/reference.ts';
import * as transpose from '../../../problems/transpose/reference.ts';
import { loadProblem } from '../../../src/app/loading/load-problem.ts';
import { inProcess, type ReferenceModule } from '../../../src/core/call-reference.ts';
import type { DType } from '../../../src/core/dtype.ts';
import type { PlannedBuffer } from '../../../src/core/launch-plan.ts';
import { expandBuffers } from '../../../src/core/plan/expand-buffers.ts';
import type { Dimensions, Problem, ReferenceRowsFunction, Rows, Tolerance } from '../../../src/core/problem.ts';
import { lazilyMapped, type SparseTensor, type SparseTensors } from '../../../src/core/sparse-tensor.ts';
import { elementCountOf } from '../../../src/evaluation/launches/layout.ts';
import { DECLARED } from '../../../src/evaluation/oracle/check.ts';
import { expectationsOfRows, expectedRows } from '../../../src/evaluation/oracle/expected-rows.ts';
import { expectationsOfRowsOfSparse } from '../../../src/evaluation/oracle/expected-rows-of-sparse.ts';
import { nodeProgram } from '../../../src/evaluation/oracle/reference-process/node-program.ts';
import { hostReference } from '../../../src/evaluation/oracle/reference-process/reference-host.ts';
import type { Expectation } from '../../../src/evaluation/oracle/tolerances/tolerance.ts';
import { maps } from '../../support/maps.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const inputsOf = (buffers: readonly PlannedBuffer[]): PlannedBuffer[] => buffers.filter(({ role }) => role === 'in');

/** Of each input, pieces of so many elements: at the start, at the end and between, where the seed says. */
const piecesOf = (buffers: readonly PlannedBuffer[], elements: number, places: readonly number[]): SparseTensors =>
  Object.fromEntries(
    inputsOf(buffers).map((buffer, seed): [string, SparseTensor] => {
      const length = elementCountOf(buffer);
      const count = Math.min(elements, Math.floor(length / places.length));
      const pieces = places.map((place, number) => ({
        at: Math.floor(place * (length - count)),
        values: Float64Array.from({ length: count }, (_, i) => Math.fround(Math.sin(i + 100 * number + 1000 * seed))),
      }));
      return [buffer.name, { length, pieces }];
    }),
  );

interface Case {
  readonly name: string;
  readonly dtype?: DType;
  readonly module: ReferenceModule;
  readonly small: Dimensions;
  readonly rows: (sizes: Dimensions) => Rows;
}

const some = (...numbers: number[]): Uint32Array => Uint32Array.from(numbers);

/** Of each kind of comparison: exact, ulp, calibrated with all it names and without, conditioned. */
const CASES: readonly Case[] = [
  {
    name: 'transpose',
    module: transpose,
    small: { M: 400, N: 300 },
    rows: ({ N }) => ({ Y: some(0, 1, 150, N! - 1) }),
  },
  {
    name: 'softmax',
    module: softmax,
    small: { R: 300, N: 401 },
    rows: ({ R }) => ({ Y: some(0, 7, 150, R! - 1) }),
  },
  {
    name: 'layernorm',
    module: layernorm,
    small: { R: 300, N: 401 },
    rows: ({ R }) => ({ Y: some(0, 7, 150, R! - 1) }),
  },
  ...(['f32', 'f16'] as const).map(
    (dtype): Case => ({
      name: 'gemm',
      dtype,
      module: gemm,
      small: { M: 700, N: 90, K: 120 },
      rows: ({ M }) => ({ C: some(0, 7, 8, 9, 350, M! - 1) }),
    }),
  ),
  {
    name: 'attention',
    module: attention,
    small: { B: 2, H: 4, S: 200, D: 64, causal: 1, Hkv: 2, Skv: 200, bottomRight: 0, bshd: 0, lse: 1 },
    // All rows of no output, and other ones of each.
    rows: ({ B, H, S }) => ({ O: some(0, 5, 6, 7, 8, B! * H! * S! - 1), LSE: some(8, 300) }),
  },
];

async function requestFor({ name, dtype, rows }: Case, dimensions: Dimensions, places: readonly number[]) {
  const problem = await loadProblem(`problems/${name}`, { dtype });
  const buffers = expandBuffers(problem.file, dimensions);
  const sparse = piecesOf(buffers, 2 ** 14, places);
  return { problem, dimensions, buffers, sparse, generatorSet: DECLARED, rows: rows(dimensions) };
}

describe('what is expected of rows on sparse inputs', () => {
  it.each(CASES)('is what is expected on the same inputs as they are: $name $dtype', async (one) => {
    const request = await requestFor(one, one.small, [0, 0.4, 0.5, 1]);
    const { sparse, problem, ...rest } = request;
    const inputs = Object.fromEntries(Object.entries(sparse).map(([name, tensor]) => [name, lazilyMapped(tensor)]));
    // Elsewhere, rows of some problems are for sparse inputs only.
    const rowsOfAny = one.module.referenceRows ?? one.module.referenceRowsOfSparse;
    const here: Problem = { ...problem, reference: inProcess(one.module.reference, { referenceRows: rowsOfAny }) };
    for (const how of [{ isLeast: true }, {}, { sure: true }]) {
      const expected = await expectationsOfRows({ ...rest, ...how, problem: here, inputs });
      const got = await expectationsOfRowsOfSparse({ ...request, ...how });
      expect(got).toEqual(expected);
      expect(got!.rows).toBe(request.rows);
      // And in this process, which perturbs the pieces itself.
      expect(await expectationsOfRowsOfSparse({ ...request, ...how, problem: here })).toEqual(expected);
    }
  });

  it.each(CASES)('is all that some problems compute rows for: $name $dtype', async (one) => {
    const { sparse, problem, ...rest } = await requestFor(one, one.small, [0]);
    const inputs = Object.fromEntries(Object.entries(sparse).map(([name, tensor]) => [name, lazilyMapped(tensor)]));
    const reference = inProcess(one.module.reference, one.module);
    // Of so much work that a sample of rows would be compared.
    const file = { ...problem.file, flop: '1e9' };
    const expected = await expectedRows({ ...rest, problem: { ...problem, file, reference }, inputs, seed: 1 });
    expect(expected!.rows === undefined).toBe(one.module.referenceRows === undefined);
    const [[name, { want }]] = [...expected!.expectations] as [[string, Expectation]];
    const whole = elementCountOf(rest.buffers.find((buffer) => buffer.name === name)!);
    expect(want.length === whole).toBe(one.module.referenceRows === undefined);
  });

  it('is told of rows, though they are all rows of another output', async () => {
    const sizes = { ...CASES[5]!.small, B: 1, H: 1, Hkv: 1, S: 3, Skv: 3 };
    const request = await requestFor(CASES[5]!, sizes, [0]);
    const rows = { O: some(1), LSE: some(0, 1, 2) };
    const expected = await expectationsOfRowsOfSparse({ ...request, rows, isLeast: true });
    expect(expected!.rows).toBe(rows);
    expect(expected!.expectations.get('O')!.want).toHaveLength(64);
  });

  it('differs with how sure it is, where tolerances follow from perturbed runs', async () => {
    const request = await requestFor(CASES[3]!, CASES[3]!.small, [0, 1]);
    const [least, sure] = await Promise.all([
      expectationsOfRowsOfSparse({ ...request, isLeast: true }),
      expectationsOfRowsOfSparse({ ...request, sure: true }),
    ]);
    const sumOf = (one: typeof sure): number =>
      one!.expectations.get('C')!.tolerances.reduce((sum, tolerance) => sum + tolerance, 0);
    expect(sumOf(sure)).toBeGreaterThan(sumOf(least));
  });

  it('takes dense inputs beside sparse ones', async () => {
    const request = await requestFor(CASES[3]!, CASES[3]!.small, [0, 1]);
    const { A, B } = request.sparse;
    const mixed = { ...request, sparse: { A: A! }, inputs: { B: lazilyMapped(B!) } };
    for (const how of [{ isLeast: true }, { sure: true }])
      expect(await expectationsOfRowsOfSparse({ ...mixed, ...how })).toEqual(
        await expectationsOfRowsOfSparse({ ...request, ...how }),
      );
  });
});

/** Elements of a sparse input. */
function partOf({ pieces }: SparseTensor, from: number, to: number): Float64Array {
  return Float64Array.from({ length: to - from }, (_, i) => {
    const piece = pieces.find(({ at, values }) => from + i >= at && from + i < at + values.length);
    return piece?.values[from + i - piece.at] ?? 0;
  });
}

type OwnRow = (inputs: SparseTensors, sizes: Record<string, number>, row: number) => Float64Array;

/** A row of the output, from what it depends on alone. */
const transposedRow: OwnRow = ({ X }, { M, N }, row) =>
  Float64Array.from({ length: M! }, (_, m) => partOf(X!, m * N! + row, m * N! + row + 1)[0]!);

const productRow: OwnRow = ({ A, B }, { N, K }, row) => {
  const [a, b] = [partOf(A!, row * K!, (row + 1) * K!), partOf(B!, 0, K! * N!)];
  return Float64Array.from({ length: N! }, (_, n) => a.reduce((sum, x, k) => sum + x * b[k * N! + n]!, 0));
};

const attendedRow: OwnRow = ({ Q, K, V }, sizes, row) => {
  const { S, D } = sizes as Record<'S' | 'D', number>;
  // As many heads of keys as of queries; causal, so that later keys are not seen.
  const [head, keys] = [Math.floor(row / S) * S * D, (row % S) + 1];
  const own = { ...sizes, B: 1, H: 1, S: 1, causal: 0, Hkv: 1, Skv: keys };
  const [k, v] = [K!, V!].map((tensor) => partOf(tensor, head, head + keys * D)) as [Float64Array, Float64Array];
  return attention.reference({ Q: partOf(Q!, row * D, (row + 1) * D), K: k, V: v }, own, (x) => x).O!;
};

describe('inputs larger than 4 GiB', () => {
  const { small } = CASES[5]!;
  const LARGE = [
    { one: CASES[0]!, sizes: { M: 33_000, N: 40_000 }, ownRow: transposedRow },
    { one: CASES[3]!, sizes: { M: 2 ** 20, N: 24, K: 1100 }, ownRow: productRow },
    {
      one: CASES[5]!,
      sizes: { ...small, B: 4097, H: 4, S: 1024, Skv: 1024, Hkv: 4, lse: 0 } as Record<string, number>,
      ownRow: attendedRow,
    },
  ];

  it.for(LARGE)('have rows, in little memory: $one.name', async ({ one, sizes, ownRow }, context) => {
    const request = await requestFor(one, sizes, [0, 0.5, 1]);
    const longest = Math.max(...Object.values(request.sparse).map(({ length }) => length));
    expect(longest).toBeGreaterThan(2 ** 30);
    if (!maps(longest)) context.skip('this machine maps less');
    const file = request.problem.referenceFile!;
    const limits = { memoryBytes: 400 * 1024 ** 2 };
    const reference = hostReference({
      ...{ problem: one.name, file, folder: dirname(file), program: nodeProgram, limits },
    });
    const problem = { ...request.problem, reference };
    const residentBytes = process.memoryUsage.rss();
    const [least, sure] = await Promise.all([
      expectationsOfRowsOfSparse({ ...request, problem, isLeast: true }),
      expectationsOfRowsOfSparse({ ...request, problem, sure: true }),
    ]);
    expect(process.memoryUsage.rss() - residentBytes).toBeLessThan(limits.memoryBytes);
    const [[name, rows]] = Object.entries(request.rows) as [[string, Uint32Array]];
    const own = Array.from(rows, (row) => ownRow(request.sparse, sizes, row));
    // At both ends of the output.
    for (const row of [own[0]!, own.at(-1)!]) expect(row.some((value) => value !== 0)).toBe(true);
    for (const expected of [least, sure])
      expect(expected!.expectations.get(name)!.want).toEqual(Float64Array.from(own.flatMap((row) => [...row])));
  });
});

describe('what is expected of rows on sparse inputs can not be told', () => {
  const request = async (
    rowsFunction: ReferenceRowsFunction,
    comparison: Tolerance = { kind: 'exact' },
    change: (buffer: PlannedBuffer) => PlannedBuffer = (buffer) => buffer,
  ) => {
    const base = toyProblem({ comparison });
    const reference = inProcess(() => ({}), { referenceRowsOfSparse: rowsFunction });
    const dimensions = { R: 4, C: 3 };
    const buffers = expandBuffers(base.file, dimensions).map(change);
    const sparse = { X: { length: 12, pieces: [{ at: 0, values: Float64Array.of(1) }] } };
    const inputs = { W: new Float64Array(4) };
    const rows = { Y: some(0) };
    return { problem: { ...base, reference }, dimensions, buffers, sparse, inputs, generatorSet: DECLARED, rows };
  };
  const first: ReferenceRowsFunction = ({ X }) => ({ Y: X!.slice(0, 3) });

  it('where the reference takes none, or computes no single rows', async () => {
    const able = await request(first);
    expect(await expectationsOfRowsOfSparse(able)).toBeDefined();
    for (const reference of [async () => ({ Y: new Float64Array(3) }), inProcess(() => ({ Y: new Float64Array(12) }))])
      expect(await expectationsOfRowsOfSparse({ ...able, problem: { ...able.problem, reference } })).toBeUndefined();
  });

  it('where not every element of an output matters', async () => {
    const able = await request(first, { kind: 'exact' }, (buffer) =>
      buffer.role === 'out' ? { ...buffer, significant: { first: 2, axis: 0 } } : buffer,
    );
    expect(await expectationsOfRowsOfSparse(able)).toBeUndefined();
  });

  it('where no tolerance can be set', async () => {
    // Defined at 1 alone.
    const brittle: ReferenceRowsFunction = ({ X }) => ({ Y: Float64Array.of(X![0] === 1 ? 1 : Number.NaN, 0, 0) });
    const conditioned = { kind: 'conditioned', constant: 1, unit: 'f32', terms: 1 } as const;
    expect(await expectationsOfRowsOfSparse(await request(brittle, conditioned))).toBeUndefined();
    const least = await expectationsOfRowsOfSparse({ ...(await request(brittle, conditioned)), isLeast: true });
    expect(least!.expectations.get('Y')!.want).toEqual(Float64Array.of(1, 0, 0));
  });

  it('where the machine does not map so many elements', async () => {
    const sparse = { X: { length: 2 ** 50, pieces: [] } };
    expect(await expectationsOfRowsOfSparse({ ...(await request(first)), sparse })).toBeUndefined();
  });

  it('but a mistake of the reference is one', async () => {
    const throws = await request(() => {
      throw new TypeError('no');
    });
    await expect(expectationsOfRowsOfSparse(throws)).rejects.toThrow('throws TypeError: no');
    await expect(expectationsOfRowsOfSparse(await request(({ X }) => ({ Y: X!.slice(0, 2) })))).rejects.toMatchObject({
      details: { code: 'reference-output', received: '2 elements' },
    });
  });
});
