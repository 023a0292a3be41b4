import type { KernelFile, StepDeclaration, WorkspaceDeclaration } from '../../../src/core/kernel.ts';

/** A launch sequence with what it must leave in `y` for any `x`: the problem's only input and output, both of u32 words. */
export interface LaunchPlanCase {
  readonly title: string;
  /** In kernels/. */
  readonly source: string;
  /** How many words x has, and y. */
  readonly words: readonly [x: number, y: number];
  readonly workspaces?: Readonly<Record<string, WorkspaceDeclaration>>;
  readonly steps: readonly StepDeclaration[];
  readonly expected: (x: Uint32Array) => Uint32Array;
  /** Sequences of one replay; each has memory of its own. */
  readonly slotCount?: number;
  /** Replays, with everything drawn anew between them. */
  readonly replayCount?: number;
}

const launch = (step: Partial<Extract<StepDeclaration, { function: string }>> & { function: string }) => ({
  grid: [1],
  block: [256],
  arguments: [],
  ...step,
});
const X = { buffer: 'x' };
const Y = { buffer: 'y' };
const u32 = (scalar: string | number) => ({ scalar, dtype: 'u32' as const });
const words = (count: number, value: (i: number) => number) => Uint32Array.from({ length: count }, (_, i) => value(i));

const clusters = (size: number): LaunchPlanCase => ({
  title: `a cluster of ${size} CTAs passes its tiles on through distributed shared memory`,
  source: 'clusters.cu',
  words: [3 * size * 256, 3 * size * 256],
  steps: [launch({ function: 'pass_on', grid: [3 * size], cluster: [size], sharedBytes: 4 * 256, arguments: [X, Y] })],
  expected: (x) =>
    x.map((_, i) => {
      const [cta, thread] = [Math.floor(i / 256), i % 256];
      const next = cta - (cta % size) + ((cta + 1) % size);
      return x[next * 256 + thread]! + size;
    }),
});

const BOX = { rows: 16, columns: 64 };

/** Boxes of a matrix of 24 rows × 96 columns of two-byte elements, the outer ones partly outside. */
const tensorMap = (swizzle: 'none' | '128B'): LaunchPlanCase => ({
  title: `tensor maps: boxes loaded by TMA, swizzle ${swizzle}, zeros outside`,
  source: 'tensor-map.cu',
  words: [(24 * 96) / 2, (4 * BOX.rows * BOX.columns) / 2],
  steps: [
    launch({
      function: 'load_box',
      grid: [2, 2],
      block: [128],
      arguments: [
        {
          tensorMap: {
            buffer: 'x',
            dtype: 'f16',
            globalDim: [96, 24],
            globalStridesBytes: [2 * 96],
            boxDim: [BOX.columns, BOX.rows],
            swizzle,
            l2Promotion: '128B',
          },
        },
        Y,
      ],
    }),
  ],
  expected: (x) => {
    const matrix = new Uint16Array(x.slice().buffer);
    const boxes = new Uint16Array(4 * BOX.rows * BOX.columns);
    for (let box = 0; box < 4; box++)
      for (let row = 0; row < BOX.rows; row++)
        for (let column = 0; column < BOX.columns; column++) {
          const from = { row: (box >> 1) * BOX.rows + row, column: (box & 1) * BOX.columns + column };
          const isInside = from.row < 24 && from.column < 96;
          // Eight 16-byte chunks make a row of 128 bytes; the swizzle XORs a chunk's number with the row's, modulo 8.
          const chunk = (column >> 3) ^ (swizzle === '128B' ? row & 7 : 0);
          const at = (box * BOX.rows + row) * BOX.columns + chunk * 8 + (column & 7);
          boxes[at] = isInside ? matrix[from.row * 96 + from.column]! : 0;
        }
    return new Uint32Array(boxes.buffer);
  },
});

const sharedMemory = (bytes: number, carveOut?: number): LaunchPlanCase => ({
  title: `${bytes} bytes of dynamic shared memory${carveOut === undefined ? '' : `, carve-out ${carveOut} %`}`,
  source: 'shared-memory.cu',
  words: [256, 4 * 128],
  steps: [
    launch({
      function: 'mirror',
      grid: [4],
      block: [128],
      sharedBytes: bytes,
      ...(carveOut !== undefined && { carveOut }),
      arguments: [X, u32(bytes / 4), Y],
    }),
  ],
  expected: (x) =>
    words(4 * 128, (i) => {
      const cta = i >> 7;
      let sum = 0;
      for (let k = i & 127; k < bytes / 4; k += 128) {
        const mirrored = bytes / 4 - 1 - k;
        sum = (Math.imul(sum, 5) + x[mirrored % 256]! + mirrored * (cta + 1)) >>> 0;
      }
      return sum;
    }),
});

const tripled = (x: Uint32Array) => x.map((value) => Math.imul(value, 3) + 1);

export const LAUNCH_PLAN_CASES: readonly LaunchPlanCase[] = [
  clusters(2),
  clusters(8),
  clusters(16),
  {
    title: 'a cooperative launch of as many CTAs as the GPU holds meets at grid barriers',
    source: 'cooperative.cu',
    words: [4096, 4096],
    workspaces: { partial: { bytes: '4 * 128 * device.smCount * kernel.ctasPerSm', init: 'undefined' } },
    steps: [
      launch({
        function: 'sum_all',
        grid: ['device.smCount * kernel.ctasPerSm'],
        block: [128],
        cooperative: true,
        arguments: [X, u32(4096), { buffer: 'partial' }, Y],
      }),
    ],
    expected: (x) => {
      const total = x.reduce((sum, value) => (sum + value) >>> 0, 0);
      return words(4096, (i) => total + i);
    },
  },
  {
    title: 'a dependent launch starts while the one before it runs, and reads what that one made',
    source: 'dependent-launches.cu',
    words: [4096, 4097],
    workspaces: {
      made: { bytes: 4 * 4096, init: 'undefined' },
      started: { bytes: 4, init: 'zero' },
    },
    steps: [
      launch({ function: 'produce', arguments: [X, { buffer: 'made' }, { buffer: 'started' }, Y] }),
      launch({
        function: 'consume',
        grid: [16],
        programmaticDependent: true,
        arguments: [{ buffer: 'made' }, { buffer: 'started' }, Y],
      }),
    ],
    expected: (x) => Uint32Array.of(...tripled(x).map((value) => value ^ 0x5a5a5a5a), 1),
    replayCount: 25,
  },
  {
    title: 'a sequence whose first launch is declared dependent does not start before the sequence in front of it ends',
    source: 'dependent-sequences.cu',
    words: [64, 64],
    steps: [launch({ function: 'linger', block: [32], programmaticDependent: true, arguments: [X, Y] })],
    expected: (x) => x,
  },
  {
    title: 'nor where the last launch of a sequence overtakes its first',
    source: 'dependent-sequences.cu',
    words: [64, 128],
    steps: [
      launch({ function: 'linger', block: [32], programmaticDependent: true, arguments: [X, Y] }),
      launch({ function: 'hurry', block: [64], programmaticDependent: true, arguments: [Y] }),
    ],
    expected: (x) => Uint32Array.of(...x, ...words(64, (i) => i)),
  },
  tensorMap('none'),
  tensorMap('128B'),
  {
    title: 'structs by value, raw bytes, null and a 16-bit scalar',
    source: 'arguments.cu',
    words: [1024, 1024],
    steps: [
      launch({
        function: 'take_structs',
        grid: [4],
        arguments: [
          X,
          {
            struct: [
              { dtype: 'u8', value: 200 },
              { dtype: 'f64', value: 1.25 },
              { dtype: 'i16', value: -3 },
              { dtype: 'u32', value: 1_000_003 },
              { dtype: 'u8', value: 17 },
            ],
          },
          { bytes: '0102030405060708090a0bfc' },
          { null: true },
          { scalar: 65_000, dtype: 'u16' },
          Y,
        ],
      }),
    ],
    expected: (x) =>
      x.map((value, i) => {
        const raw = i % 12 === 11 ? 0xfc : (i % 12) + 1;
        return Math.imul(value, 1_000_003) + 200 + 5 - 3 + 17 + 65_000 + raw;
      }),
  },
  {
    title: 'arrays of pointers, with offsets, to inputs and outputs',
    source: 'arguments.cu',
    words: [1024, 1024],
    steps: [
      launch({
        function: 'follow',
        grid: [4],
        arguments: [{ pointers: [X, { buffer: 'x', offsetBytes: '4 * 512' }, Y] }, u32(512)],
      }),
    ],
    expected: (x) => x.map((_, i) => x[(i + 512) % 1024]! + 7),
  },
  {
    title: 'several steps: a memset, a repeated launch, one that is left out, zeroed and undefined workspaces',
    source: 'several-steps.cu',
    words: [1024, 1024],
    workspaces: {
      sums: { bytes: 4 * 1024, init: 'zero' },
      filled: { bytes: 4 * 1024, init: 'undefined' },
      scratch: { bytes: 4 * 1024, init: 'undefined' },
    },
    steps: [
      { memset: { buffer: 'filled', byteValue: 3 } },
      launch({
        function: 'accumulate',
        grid: [4],
        repeat: 5,
        arguments: [X, u32('repeat.index'), { buffer: 'sums' }],
      }),
      launch({
        function: 'finish',
        grid: [4],
        arguments: [{ buffer: 'sums' }, { buffer: 'filled' }, { buffer: 'scratch' }, Y],
      }),
      launch({ function: 'spoil', when: 'XWords > 1024', arguments: [Y] }),
      { memset: { buffer: 'y', byteValue: 0 }, when: 'XWords != 1024' },
    ],
    expected: (x) =>
      x.map((value) => {
        let sum = 0;
        for (let index = 0; index < 5; index++) sum = (Math.imul(sum, 3) + Math.imul(value, index + 1)) >>> 0;
        return sum + 0x03030303;
      }),
  },
  {
    title: 'contents, copies, and repeated steps within repeated steps',
    source: 'several-steps.cu',
    words: [1024, 1024],
    workspaces: {
      first: { bytes: 4 * 1024, init: 'once', contents: { dtype: 'u32', from: 11, step: 3 } },
      sums: { bytes: 4 * 1024, init: 'undefined' },
      filled: { bytes: 4 * 1024, init: 'once', contents: { dtype: 'u32', values: [5, 'XWords'] } },
      scratch: { bytes: 4 * 1024, init: 'undefined' },
    },
    steps: [
      { copy: { from: { buffer: 'first' }, to: { buffer: 'sums' } } },
      {
        repeat: 2,
        index: 'round',
        steps: [
          launch({
            function: 'accumulate',
            grid: [4],
            repeat: 'round + 1',
            arguments: [X, u32('10 * round + repeat.index'), { buffer: 'sums' }],
          }),
        ],
      },
      launch({
        function: 'finish',
        grid: [4],
        arguments: [{ buffer: 'sums' }, { buffer: 'filled' }, { buffer: 'scratch' }, Y],
      }),
    ],
    expected: (x) =>
      x.map((value, i) => {
        const sum = [0, 10, 11].reduce(
          (before, index) => (Math.imul(before, 3) + Math.imul(value, index + 1)) >>> 0,
          11 + 3 * i,
        );
        return sum + (i % 2 === 0 ? 5 : 1024);
      }),
    replayCount: 3,
  },
  {
    title: 'a workspace that is zeroed once and kept valid by the kernel',
    source: 'several-steps.cu',
    words: [2048, 2048],
    workspaces: {
      partial: { bytes: 4 * 2048, init: 'undefined' },
      arrived: { bytes: 4, init: 'once' },
    },
    steps: [
      launch({
        function: 'last_adds_up',
        grid: [8],
        arguments: [X, { buffer: 'partial' }, { buffer: 'arrived' }, Y],
      }),
    ],
    expected: (x) => x.map((value, i) => (value >>> 8) + (x[2047 - i]! >>> 8)),
    replayCount: 4,
  },
  sharedMemory(48 * 1024),
  sharedMemory(48 * 1024 + 4),
  sharedMemory(100 * 1024, 100),
  sharedMemory(16 * 1024, 0),
  // The most that a CTA of compute capability 9.0 can have.
  sharedMemory(227 * 1024, 50),
  {
    title: 'a kernel written in PTX',
    source: 'triple.ptx',
    words: [1000, 1000],
    steps: [launch({ function: 'triple', grid: [4], arguments: [X, u32(1000), Y] })],
    expected: tripled,
  },
];

/** The same kernel, compiled before: the test makes the cubin. */
export const CUBIN_CASE: LaunchPlanCase = {
  title: 'a kernel that is a cubin',
  source: 'triple.cu',
  words: [1000, 1000],
  steps: [launch({ function: 'triple', grid: [4], arguments: [X, u32(1000), Y] })],
  expected: tripled,
};

const KIND: Readonly<Record<string, KernelFile['source']['kind']>> = { cu: 'cuda', ptx: 'ptx', cubin: 'cubin' };

/** kernel.json of a case whose source is this file. */
export const kernelFileOf = ({ title, workspaces, steps }: LaunchPlanCase, file: string): KernelFile => ({
  schemaVersion: 1,
  name: title,
  description: '',
  problem: '../problem.json',
  source: { kind: KIND[file.split('.').at(-1)!]!, files: [file] },
  ...(workspaces && { workspaces }),
  steps: [...steps],
});
