import { inProcess } from '../../src/core/call-reference.ts';
import type {
  BufferDeclaration,
  DimensionDeclaration,
  GeneratorSet,
  Problem,
  ProblemFile,
  ReferenceFunction,
} from '../../src/core/problem.ts';

/** Small problems of many kinds; their kernels are in kernels/, one file a problem. */

const input = (dtype: BufferDeclaration['dtype'], ...shape: string[]): BufferDeclaration => ({
  dtype,
  shape,
  access: 'in',
});
const output = (dtype: BufferDeclaration['dtype'], ...shape: (string | number)[]): BufferDeclaration => ({
  dtype,
  shape,
  access: 'out',
});
const upTo = (maximum: number, minimum = 1): DimensionDeclaration => ({ description: '', minimum, maximum });

type Declared = Pick<ProblemFile, 'dimensions' | 'inputs' | 'outputs' | 'comparison'> &
  Partial<ProblemFile> & {
    /** Check shapes, the timed one first. */
    shapes: Record<string, number>[];
    reference: ReferenceFunction;
  };

const declare = (name: string, { shapes, reference, ...file }: Declared): Problem => ({
  folder: `test/honest/${name}`,
  reference: inProcess(reference),
  file: {
    schemaVersion: 1,
    name,
    description: '',
    flop: 1,
    minimumFlop: 0,
    minimumReadBytes: 0,
    workloads: [{ name: 'main', dimensions: shapes[0]! }],
    checkShapes: shapes.slice(1).map((dimensions) => ({ dimensions })),
    determinism: 'bitwise',
    start: '01',
    rungs: ['01'],
    ...file,
  },
});

const ROWS = { R: upTo(6), N: upTo(300) };
const ROW_SHAPES = [
  { R: 2, N: 64 },
  { R: 5, N: 259 },
  { R: 3, N: 31 },
];
const POSITIVE_OR_NOT = { normal: {}, positive: { x: { kind: 'positive' } } } as const;

/** y[r] = of the row. */
const byRow =
  (of: (row: Float64Array, round: (value: number) => number) => number): ReferenceFunction =>
  ({ x }, { R, N }, round) => ({
    y: Float64Array.from({ length: R! }, (_, r) => round(of(x!.subarray(r * N!, (r + 1) * N!), round))),
  });

const sumOf = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0);

const softmaxOf = (row: Float64Array): Float64Array => {
  const maximum = Math.max(...row);
  const weights = row.map((value) => Math.exp(value - maximum));
  const sum = sumOf(weights);
  return weights.map((weight) => weight / sum);
};

/** Each row of x replaced. */
const eachRow =
  (of: (row: Float64Array) => Float64Array): ReferenceFunction =>
  ({ x }, { R, N }, round) => {
    const y = new Float64Array(x!.length);
    for (let r = 0; r < R!; r++)
      y.set(
        of(x!.subarray(r * N!, (r + 1) * N!)).map((value) => round(value)),
        r * N!,
      );
    return { y };
  };

const product: ReferenceFunction = ({ A, B }, { M, N, K }, round) => {
  const C = new Float64Array(M! * N!);
  for (let i = 0; i < C.length; i++) {
    let sum = 0;
    for (let k = 0; k < K!; k++) sum += A![Math.floor(i / N!) * K! + k]! * B![k * N! + (i % N!)]!;
    C[i] = round(sum);
  }
  return { C };
};

const matrices = (dtype: 'f16' | 'f32') => ({
  inputs: { A: input(dtype, 'M', 'K'), B: input(dtype, 'K', 'N') },
  outputs: { C: output(dtype, 'M', 'N') },
  reference: product,
});

const HEAD = 32;
const attend: ReferenceFunction = ({ Q, K, V }, { S }, round) => {
  const O = new Float64Array(Q!.length);
  const scale = Math.fround(1 / Math.sqrt(HEAD));
  for (let i = 0; i < S!; i++) {
    const scores = Float64Array.from({ length: S! }, (_, j) => {
      let sum = 0;
      for (let d = 0; d < HEAD; d++) sum += Q![i * HEAD + d]! * K![j * HEAD + d]!;
      return round(scale * sum);
    });
    const weights = softmaxOf(scores).map((weight) => round(weight, 'P'));
    for (let d = 0; d < HEAD; d++) {
      let sum = 0;
      for (let j = 0; j < S!; j++) sum += weights[j]! * V![j * HEAD + d]!;
      O[i * HEAD + d] = round(sum);
    }
  }
  return { O };
};

const attention = (dtype: 'f16' | 'bf16'): Problem =>
  declare(`attention-${dtype}`, {
    dimensions: { S: upTo(70) },
    inputs: {
      Q: { dtype, shape: ['S', HEAD], access: 'in' },
      K: { dtype, shape: ['S', HEAD], access: 'in' },
      V: { dtype, shape: ['S', HEAD], access: 'in' },
    },
    outputs: { O: output(dtype, 'S', HEAD) },
    comparison: { kind: 'calibrated', storage: dtype, accumulate: 'f32' },
    shapes: [{ S: 16 }, { S: 67 }, { S: 33 }, { S: 2 }],
    reference: attend,
  });

const EPS = Math.fround(1e-5);
/** fp32 constants as the kernel has them. */
const [LR, B1, B2, DECAY] = [1e-3, 0.9, 0.999, 0.01].map(Math.fround) as [number, number, number, number];
const [ONE_MINUS_B1, ONE_MINUS_B2] = [Math.fround(1 - B1), Math.fround(1 - B2)];
const [CORRECTION1, CORRECTION2] = [0.6513215599, 0.0099551202].map(Math.fround) as [number, number];

export const adamwReference: ReferenceFunction = ({ p, g, m, v }, _, round) => {
  const m_next = m!.map((value, i) => round(B1 * value + ONE_MINUS_B1 * g![i]!));
  const v_next = v!.map((value, i) => round(B2 * value + ONE_MINUS_B2 * g![i]! ** 2));
  const next = p!.map((value, i) => {
    const root = Math.sqrt(v_next[i]! / CORRECTION2) + 1e-8;
    return round(value - LR * DECAY * value - (LR * (m_next[i]! / CORRECTION1)) / root);
  });
  return { next, m_next, v_next };
};

const RADIUS = 3;

export const PROBLEMS = {
  'row-sum': declare('row-sum', {
    dimensions: ROWS,
    inputs: { x: input('f32', 'R', 'N') },
    outputs: { y: output('f32', 'R') },
    comparison: { kind: 'conditioned', constant: 2, unit: 'f32', terms: 'N' },
    generatorSets: POSITIVE_OR_NOT,
    shapes: ROW_SHAPES,
    reference: byRow(sumOf),
  }),
  total: declare('total', {
    dimensions: { N: upTo(600) },
    inputs: { x: input('f32', 'N') },
    outputs: { y: output('f32', 1) },
    comparison: { kind: 'conditioned', constant: 2, unit: 'f32', terms: 'N' },
    determinism: 'tolerance',
    generatorSets: POSITIVE_OR_NOT,
    shapes: [{ N: 64 }, { N: 517 }],
    reference: ({ x }) => ({ y: Float64Array.of(sumOf(x!)) }),
  }),
  variance: declare('variance', {
    dimensions: { R: upTo(6), N: upTo(300, 16) },
    inputs: { x: input('f32', 'R', 'N') },
    outputs: { y: output('f32', 'R') },
    comparison: { kind: 'conditioned', constant: 2, unit: 'f32', terms: 'N' },
    generatorSets: { normal: {}, largeMean: { x: { kind: 'normal', mean: 1000 } } },
    shapes: ROW_SHAPES,
    reference: byRow((row) => {
      const mean = sumOf(row) / row.length;
      return sumOf(row.map((value) => (value - mean) ** 2)) / row.length;
    }),
  }),
  softmax: declare('softmax', {
    dimensions: ROWS,
    inputs: { x: input('f32', 'R', 'N') },
    outputs: { y: output('f32', 'R', 'N') },
    comparison: { kind: 'conditioned', constant: 4, unit: 'f32', terms: 'N + 8' },
    generatorSets: { normal: {}, large: { x: { kind: 'normal', mean: 200, standardDeviation: 8 } } } satisfies Record<
      string,
      GeneratorSet
    >,
    shapes: ROW_SHAPES,
    reference: eachRow(softmaxOf),
  }),
  'gemm-f16': declare('gemm-f16', {
    dimensions: { M: upTo(16), N: upTo(16), K: upTo(80) },
    ...matrices('f16'),
    comparison: { kind: 'calibrated', storage: 'f16', accumulate: 'f32', terms: 'K' },
    shapes: [
      { M: 8, N: 8, K: 16 },
      { M: 11, N: 13, K: 67 },
    ],
  }),
  'gemm-f32': declare('gemm-f32', {
    dimensions: { M: upTo(16), N: upTo(16), K: upTo(80) },
    ...matrices('f32'),
    comparison: { kind: 'conditioned', constant: 2, unit: 'f32', terms: 'K' },
    shapes: [
      { M: 8, N: 8, K: 16 },
      { M: 11, N: 13, K: 67 },
    ],
  }),
  'attention-f16': attention('f16'),
  'attention-bf16': attention('bf16'),
  'rms-norm': declare('rms-norm', {
    dimensions: { R: upTo(6), N: { description: '', values: [64, 256] } },
    inputs: { x: input('f16', 'R', 'N'), w: input('f16', 'N') },
    outputs: { y: output('f16', 'R', 'N') },
    comparison: { kind: 'calibrated', storage: 'f16', accumulate: 'f32', roundings: {}, terms: 'N' },
    shapes: [
      { R: 2, N: 64 },
      { R: 6, N: 256 },
    ],
    // Rounds at every operation, as references do: that loosens nothing.
    reference: ({ x, w }, { R, N }, round) => {
      const y = new Float64Array(x!.length);
      for (let r = 0; r < R!; r++) {
        let squares = 0;
        for (let c = 0; c < N!; c++) squares = round(squares + round(x![r * N! + c]! ** 2));
        const inverse = 1 / Math.sqrt(squares / N! + EPS);
        for (let c = 0; c < N!; c++) y[r * N! + c] = round(round(x![r * N! + c]! * inverse) * w![c]!);
      }
      return { y };
    },
  }),
  'dot-i8': declare('dot-i8', {
    dimensions: { R: upTo(6), N: { description: '', values: [4, 32, 200] } },
    inputs: {
      a: { ...input('i8', 'R', 'N'), generator: { kind: 'index-range', low: -128, high: 128 } },
      b: { ...input('i8', 'R', 'N'), generator: { kind: 'index-range', low: -128, high: 128 } },
    },
    outputs: { y: output('i32', 'R') },
    comparison: { kind: 'exact' },
    shapes: [
      { R: 2, N: 32 },
      { R: 5, N: 200 },
      { R: 3, N: 4 },
    ],
    reference: ({ a, b }, { R, N }) => ({
      y: Float64Array.from({ length: R! }, (_, r) =>
        sumOf(a!.subarray(r * N!, (r + 1) * N!).map((value, c) => value * b![r * N! + c]!)),
      ),
    }),
  }),
  sort: declare('sort', {
    dimensions: { R: upTo(4), N: upTo(100) },
    inputs: { x: { ...input('u32', 'R', 'N'), generator: { kind: 'index-range', low: 0, high: 5000 } } },
    outputs: { y: output('u32', 'R', 'N') },
    comparison: { kind: 'exact' },
    shapes: [
      { R: 1, N: 32 },
      { R: 3, N: 93 },
    ],
    reference: eachRow((row) => row.slice().sort()),
  }),
  histogram: declare('histogram', {
    dimensions: { N: upTo(600) },
    inputs: { x: { ...input('u8', 'N'), generator: { kind: 'index-range', low: 0, high: 16 } } },
    outputs: { counts: output('i32', 16) },
    comparison: { kind: 'exact' },
    shapes: [{ N: 64 }, { N: 517 }],
    reference: ({ x }) => {
      const counts = new Float64Array(16);
      for (const bin of x!) counts[bin] = counts[bin]! + 1;
      return { counts };
    },
  }),
  scan: declare('scan', {
    dimensions: { N: upTo(256) },
    inputs: { x: { ...input('i32', 'N'), generator: { kind: 'index-range', low: -1000, high: 1001 } } },
    outputs: { y: output('i32', 'N') },
    comparison: { kind: 'exact' },
    shapes: [{ N: 64 }, { N: 229 }],
    reference: ({ x }) => {
      let sum = 0;
      return { y: x!.map((value) => (sum += value)) };
    },
  }),
  transpose: declare('transpose', {
    dimensions: { M: upTo(40), N: upTo(40) },
    inputs: { x: input('f32', 'M', 'N') },
    // Three elements of each row of the result lie between rows and stay untouched.
    outputs: { y: { ...output('f32', 'N', 'M'), strides: ['M + 3', 1] } },
    comparison: { kind: 'exact' },
    shapes: [
      { M: 16, N: 16 },
      { M: 19, N: 35 },
    ],
    reference: ({ x }, { M, N }) => ({
      y: Float64Array.from({ length: M! * N! }, (_, i) => x![(i % M!) * N! + Math.floor(i / M!)]!),
    }),
  }),
  axpy: declare('axpy', {
    dimensions: { N: upTo(300) },
    inputs: { x: input('f32', 'N'), y: { dtype: 'f32', shape: ['N'], access: 'inout' } },
    outputs: {},
    comparison: { kind: 'conditioned', constant: 2, unit: 'f32', terms: 2 },
    shapes: [{ N: 64 }, { N: 261 }],
    reference: ({ x, y }, _, round) => ({ y: y!.map((value, i) => round(0.75 * x![i]! + value)) }),
  }),
  'dot-f64': declare('dot-f64', {
    dimensions: ROWS,
    inputs: { a: input('f64', 'R', 'N'), b: input('f64', 'R', 'N') },
    outputs: { y: output('f64', 'R') },
    comparison: { kind: 'conditioned', constant: 4, unit: 'f64', terms: 'N' },
    shapes: ROW_SHAPES,
    reference: ({ a, b }, { R, N }) => ({
      y: Float64Array.from({ length: R! }, (_, r) =>
        sumOf(a!.subarray(r * N!, (r + 1) * N!).map((value, c) => value * b![r * N! + c]!)),
      ),
    }),
  }),
  gelu: declare('gelu', {
    dimensions: { N: upTo(300) },
    inputs: { x: input('f32', 'N') },
    outputs: { y: output('f32', 'N') },
    comparison: { kind: 'allclose', atol: 1e-5, rtol: 1e-5 },
    shapes: [{ N: 64 }, { N: 261 }],
    reference: ({ x }) => ({
      y: x!.map((u) => 0.5 * u * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (u + 0.044715 * u ** 3)))),
    }),
  }),
  adamw: declare('adamw', {
    dimensions: { N: upTo(600) },
    inputs: {
      p: input('f32', 'N'),
      g: input('f32', 'N'),
      m: input('f32', 'N'),
      v: { ...input('f32', 'N'), generator: { kind: 'positive', low: 0.001, high: 1 } },
    },
    outputs: { next: output('f32', 'N'), m_next: output('f32', 'N'), v_next: output('f32', 'N') },
    comparison: { kind: 'conditioned', constant: 2, unit: 'f32', terms: 12 },
    shapes: [{ N: 64 }, { N: 517 }],
    reference: adamwReference,
  }),
  blur: declare('blur', {
    dimensions: { R: upTo(6), N: upTo(300, 8) },
    inputs: { x: input('f32', 'R', 'N') },
    outputs: { y: output('f32', 'R', 'N') },
    // A running sum has done as many additions as the row is long.
    comparison: { kind: 'conditioned', constant: 2, unit: 'f32', terms: '2 * N' },
    shapes: ROW_SHAPES,
    reference: ({ x }, { N }, round) => ({
      y: x!.map((_, i) => {
        const c = i % N!;
        let sum = 0;
        for (let j = Math.max(0, c - RADIUS); j <= Math.min(N! - 1, c + RADIUS); j++) sum += x![i - c + j]!;
        return round(sum / (2 * RADIUS + 1));
      }),
    }),
  }),
} as const;

export type ProblemName = keyof typeof PROBLEMS;
