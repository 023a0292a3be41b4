import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diagnoseKernel } from '../../src/app/diagnose.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import type { Kernel, ParameterValues } from '../../src/core/kernel.ts';
import { expandPlan } from '../../src/core/plan/expand-plan.ts';
import { failedLimit } from '../../src/core/plan/limits.ts';
import { completeParameters, validAssignments } from '../../src/core/plan/parameters.ts';
import { deviceRefusal } from '../../src/core/plan/runs-on.ts';
import type { Problem } from '../../src/core/problem.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { attentionShape, NARROW, narrowAttention } from '../support/attention-problem.ts';
import { nvccBuild } from '../support/sampling/long-tests.ts';
import { sampledOne } from '../support/sampling/matrix.ts';

// Rungs for sm_90a. What can be said without a GPU is said here.
const RUNGS = [
  ...['10_wgmma', '10_resident', '11_sums_first', '17_lean_turns', '18_ones_column', '19_whole_domain'],
  '23_split_keys',
  '24_resident_keys',
  '25_even_shares',
  '27_seen_keys',
];

/** Shared memory of a CTA, SMs. Source: the H200's data sheet in hardware/specs. */
const H200 = { smCount: 132, sharedBytesPerCta: 227 * 1024 };
const shape = (D: number) => attentionShape({ B: 2, H: 3, S: 200, D, causal: 1 });

const hasNvcc = spawnSync('nvcc', ['--version']).status === 0;

/** The sources are the same for both dtypes but for the instructions' names: one rung stands for bf16. */
const compiledTypes = (rung: string) => (rung === '11_sums_first' ? ['half', '__nv_bfloat16'] : ['half']);

/** Settings whose code is another; ptxas serialises products, or spills, for reasons that no source shows. */
const COMPILED_SETTINGS: Readonly<Record<string, readonly ParameterValues[]>> = {
  '10_resident': [
    {},
    { BLOCK_N: 64, CHUNKS: 2, TRY_ZERO: 1 },
    { SPLIT: 2, BLOCK_N: 64, CHUNKS: 2, TRY_ZERO: 1, COPY: 2 },
  ],
  '17_lean_turns': [{}, { TRY_ZERO: 1, PASS_EARLY: 0 }],
  '18_ones_column': [{}, { CONSUMERS: 3, BLOCK_N: 128, STAGES: 2, PASS_EARLY: 1 }],
  '19_whole_domain': [{}, { CONSUMERS: 2, STAGES: 2, TRY_ZERO: 1 }, { CONSUMERS: 4, TRY_ZERO: 1, PASS_EARLY: 0 }],
  '23_split_keys': [
    {},
    { CONSUMERS: 4, BLOCK_N: 64, SPLIT: 8 },
    { CONSUMERS: 3, BLOCK_N: 64, STAGES: 4, SPLIT: 4, CLUSTER: 0 },
  ],
  '24_resident_keys': [
    {},
    { CONSUMERS: 3, BLOCK_N: 128, KEY_PLACES: 1 },
    { BLOCK_N: 256, CONSUMERS: 2, KEY_PLACES: 1 },
  ],
  '27_seen_keys': [{}, { CONSUMERS: 2, BLOCK_N: 256, KEY_PLACES: 1 }, { CONSUMERS: 2, BLOCK_N: 192, QUERY_PLACES: 2 }],
  '25_even_shares': [
    {},
    { CONSUMERS: 3 },
    { CONSUMERS: 3, BLOCK_N: 128, STAGES: 2 },
    { CONSUMERS: 2, BLOCK_N: 128, STAGES: 2 },
    // D = 256 in earnest: a part that is read and the output are as many registers as there are.
    { CONSUMERS: 2, STAGES: 2 },
  ],
};

/** What is judged on a virtual GPU takes seconds. */
const JUDGED = [
  ...RUNGS,
  ...['10_resident', '13_decode_cluster', '14_decode_registers', '11_sums_first'].map((rung) => `${rung} in clusters`),
  '11_sums_first with ranks in its operands',
  '19_whole_domain at D = 256',
  '20_few_queries',
  '20_few_queries with two warpgroups',
  '21_swapped_operands',
  '15_decode_words beside each other',
  '22_one_launch beside each other',
  '23_split_keys beside each other',
  '24_resident_keys from head to head',
  '25_even_shares beside each other',
  '25_even_shares at D = 256',
  '26_one_stream beside each other',
  '27_seen_keys from head to head',
  '16_decode_stream',
  '09_lean on another device',
];
const judged = sampledOne('rungs for Hopper, judged', JUDGED, {
  oneIn: JUDGED.length,
  placeOf: (member) => `problems/attention/${member.split(' ')[0]}`,
});

/** Plans of every setting take half a second for each rung. */
const planned = sampledOne('rungs for Hopper, planned', RUNGS, {
  oneIn: RUNGS.length,
  placeOf: (rung) => `problems/attention/${rung}`,
});

describe.each(RUNGS)('%s', (rung) => {
  let problem: Problem;
  let kernel: Kernel;
  let headDims: readonly number[];
  beforeAll(async () => {
    ({ problem, kernel } = await loadKernel(`problems/attention/${rung}`));
    headDims = [32, 64, 96, 128, 256].filter((D) => failedLimit(kernel.file, shape(D)) === undefined);
  });

  it('is on the ladder, behind what runs everywhere', () => {
    const { rungs } = problem.file;
    expect(rungs.indexOf(rung)).toBeGreaterThan(rungs.indexOf('09_lean'));
    expect(headDims).toEqual(expect.arrayContaining(rung === '18_ones_column' ? [64] : [64, 128]));
  });

  it('is refused by devices that cannot run it, and not by an H200, virtual or not', () => {
    const refusalOn = (id: string, kind: 'virtual' | 'cuda') =>
      deviceRefusal(kernel.file, { identity: { id: `${kind}:${id}`, kind, name: id }, spec: DEVICE_SPECS.get(id)! });
    expect(refusalOn('l4', 'virtual')).toBe(`${rung} is for sm_90a; virtual:l4 is sm_89`);
    expect(refusalOn('l4', 'cuda')).toBe(`${rung} is for sm_90a; cuda:l4 is sm_89`);
    expect(refusalOn('h200', 'virtual')).toBeUndefined();
    expect(refusalOn('h200', 'cuda')).toBeUndefined();
  });

  planned(rung)('plans one launch within what an H200 has for every valid configuration', () => {
    for (const D of headDims) {
      const assignments = validAssignments(kernel.file, shape(D));
      // Without TRY_ZERO and PASS_EARLY, which 19 has, one setting fits D = 256.
      expect(assignments.length, `D = ${D}`).toBeGreaterThan(rung === '25_even_shares' && D === 256 ? 0 : 1);
      for (const parameters of assignments) {
        const plan = expandPlan({
          problem: problem.file,
          kernel: kernel.file,
          parameters,
          dimensions: shape(D),
          device: H200,
        });
        expect(plan.steps).toHaveLength(1);
        expect(plan.steps[0]).toMatchObject({
          kind: 'launch',
          functionName: headDims.length > 1 ? `attention<${D}>` : 'attention',
        });
      }
    }
  });

  for (const type of compiledTypes(rung))
    nvccBuild(`${rung} ${type}`)(
      `compiles with nvcc, for ${type}, without spills and with products that stay asynchronous`,
      { skip: !hasNvcc },
      async () => {
        for (const setting of COMPILED_SETTINGS[rung] ?? [{}]) {
          const report = await ptxasReport(kernel, completeParameters(kernel.file, setting), [`-DDTYPE=${type}`]);
          const spills = [...report.matchAll(/(\d+) bytes spill stores/g)].map(([, bytes]) => Number(bytes));
          expect(spills.length).toBeGreaterThanOrEqual(headDims.length);
          expect(Math.max(...spills)).toBe(0);
          // C7510 and its neighbours: ptxas waits after every wgmma.
          expect(report).not.toMatch(/wgmma.mma_async instructions are serialized/);
          // C7508: ptxas leaves setmaxnreg out.
          expect(report).not.toMatch(/setmaxnreg.*ignored/i);
        }
      },
    );
});

describe.each([
  ['13_decode_cluster', 256, [0, 0, 0, 0, 0]],
  ['14_decode_registers', 128, [0, 0]],
] as const)('%s', (rung, D, spills) => {
  const dimensions = attentionShape({ B: 2, H: 8, Hkv: 2, S: 1, Skv: 700, D });

  it('plans one launch of whole clusters within what an H200 has', async () => {
    const { problem, kernel } = await loadKernel(`problems/attention/${rung}`);
    for (const parameters of validAssignments(kernel.file, dimensions)) {
      const { steps } = expandPlan({
        problem: problem.file,
        kernel: kernel.file,
        parameters,
        dimensions,
        device: H200,
      });
      const ctas = parameters.SPLIT!;
      expect(steps).toMatchObject([{ functionName: `decode<${D}>`, grid: [ctas * 4, 1, 1], cluster: [ctas, 1, 1] }]);
      expect(steps[0]).toHaveProperty(
        'dynamicSharedBytes',
        expect.toSatisfy((bytes) => bytes <= 227 * 1024),
      );
    }
  });

  nvccBuild(rung)('compiles with nvcc without spills', { skip: !hasNvcc }, async () => {
    const { kernel } = await loadKernel(`problems/attention/${rung}`);
    const report = await ptxasReport(kernel, completeParameters(kernel.file, {}), ['-DDTYPE=half']);
    const bytes = [...report.matchAll(/(\d+) bytes spill stores/g)].map(([, number]) => Number(number));
    expect(bytes).toEqual(spills);
  });
});

describe('15_decode_words', () => {
  const cases = [
    ['decode<128>', { B: 2, H: 8, Hkv: 2, S: 1, Skv: 700, D: 128 }],
    ['decode<64>', { B: 2, H: 8, Hkv: 2, S: 1, Skv: 700, D: 64 }],
    ['decode<64>', { B: 1, H: 4, Hkv: 4, S: 1, Skv: 700, D: 64, bshd: 1 }],
    ['decode_ungrouped<64>', { B: 1, H: 4, Hkv: 4, S: 1, Skv: 700, D: 64 }],
  ] as const;

  it.each(cases)('plans one launch of %s without a cluster, of at most one CTA per SM', async (functionName, sizes) => {
    const dimensions = attentionShape(sizes);
    const { problem, kernel } = await loadKernel('problems/attention/15_decode_words');
    const assignments = validAssignments(kernel.file, dimensions);
    expect(assignments.map(({ SPLIT }) => SPLIT)).toEqual(expect.arrayContaining([1, 32]));
    for (const parameters of assignments) {
      const { steps } = expandPlan({
        problem: problem.file,
        kernel: kernel.file,
        parameters,
        dimensions,
        device: H200,
      });
      const ctas = parameters.SPLIT! * 4;
      expect(steps).toMatchObject([{ functionName, grid: [ctas, 1, 1], cluster: undefined }]);
      expect(ctas).toBeLessThanOrEqual(H200.smCount);
    }
  });

  it('does not split where CTAs that wait for each other might not run at once', async () => {
    const { kernel } = await loadKernel('problems/attention/15_decode_words');
    const large = attentionShape({ B: 16, H: 32, Hkv: 16, S: 1, Skv: 700, D: 64 });
    expect(new Set(validAssignments(kernel.file, large).map(({ SPLIT }) => SPLIT))).toEqual(new Set([1]));
  });

  for (const type of ['half', '__nv_bfloat16'])
    nvccBuild(`15_decode_words ${type}`)(
      `compiles with nvcc for ${type} without spills`,
      { skip: !hasNvcc },
      async () => {
        const { kernel } = await loadKernel('problems/attention/15_decode_words');
        const report = await ptxasReport(kernel, completeParameters(kernel.file, {}), [`-DDTYPE=${type}`]);
        const bytes = [...report.matchAll(/(\d+) bytes spill stores/g)].map(([, number]) => Number(number));
        expect(bytes).toEqual([0, 0, 0]);
      },
    );
});

describe('16_decode_stream', () => {
  const dimensions = attentionShape({ B: 2, H: 8, Hkv: 2, S: 1, Skv: 700, D: 128 });

  it('plans what several CTAs have as parts that a second launch merges, within what an H200 has', async () => {
    const { problem, kernel } = await loadKernel('problems/attention/16_decode_stream');
    const assignments = validAssignments(kernel.file, dimensions);
    expect(new Set(assignments.map(({ SPLIT }) => SPLIT))).toContain(1);
    for (const parameters of assignments) {
      const { steps } = expandPlan({
        problem: problem.file,
        kernel: kernel.file,
        parameters,
        dimensions,
        device: H200,
      });
      const decode = { functionName: 'decode<128>', grid: [parameters.SPLIT! * 4, 1, 1], cluster: undefined };
      expect(steps).toMatchObject(
        parameters.SPLIT === 1 ? [decode] : [decode, { functionName: 'merge<128>', grid: [16, 1, 1] }],
      );
      expect(steps[0]).toHaveProperty(
        'dynamicSharedBytes',
        expect.toSatisfy((bytes) => bytes <= H200.sharedBytesPerCta),
      );
    }
  });

  nvccBuild('16_decode_stream')('compiles with nvcc without spills', { skip: !hasNvcc }, async () => {
    const { kernel } = await loadKernel('problems/attention/16_decode_stream');
    const report = await ptxasReport(kernel, completeParameters(kernel.file, {}), ['-DDTYPE=half']);
    const bytes = [...report.matchAll(/(\d+) bytes spill stores/g)].map(([, number]) => Number(number));
    expect(bytes).toEqual([0, 0, 0, 0]);
  });
});

/** What fits 64 or ROWS rows, and where tests compile with nvcc. */
const FEW_QUERIES: readonly {
  readonly rung: string;
  readonly rowsOf: (p: ParameterValues) => number;
  readonly compiled: readonly ParameterValues[];
  readonly functions: number;
}[] = [
  {
    rung: '20_few_queries',
    rowsOf: () => 64,
    compiled: [
      {},
      { CTAS_PER_SM: 1 },
      { BLOCK_N: 128, STAGES: 4, CTAS_PER_SM: 1 },
      { STAGES: 6, CTAS_PER_SM: 2, WARPGROUPS: 2 },
    ],
    functions: 10,
  },
  {
    rung: '21_swapped_operands',
    rowsOf: ({ ROWS }) => ROWS!,
    compiled: [
      { ROWS: 8, CTAS_PER_SM: 2, STAGES: 4 },
      { ROWS: 64, BLOCK_N: 128, STAGES: 4, CTAS_PER_SM: 1 },
    ],
    functions: 4,
  },
];

describe.each(FEW_QUERIES)('$rung', ({ rung, rowsOf, compiled, functions }) => {
  const dimensions = attentionShape({ B: 2, H: 8, Hkv: 2, S: 20, Skv: 700, D: 128, causal: 1, bottomRight: 1 });

  it('plans the parts of row tiles of grouped heads, and a launch that merges them, within what an H200 has', async () => {
    const { problem, kernel } = await loadKernel(`problems/attention/${rung}`);
    const assignments = validAssignments(kernel.file, dimensions);
    expect(new Set(assignments.map(({ SPLIT }) => SPLIT))).toEqual(new Set([1, 2, 4, 8, 16, 32, 64]));
    for (const parameters of assignments) {
      const { steps } = expandPlan({
        problem: problem.file,
        kernel: kernel.file,
        parameters,
        dimensions,
        device: H200,
      });
      // Tiles hold 4 heads of as many queries as fit, for each of the 4 heads of K. No more parts than tiles of keys.
      const rows = rowsOf(parameters);
      const tiles = 4 * Math.ceil(20 / (rows / 4));
      const splits = Math.min(parameters.SPLIT!, Math.ceil(700 / parameters.BLOCK_N!));
      const attention = { functionName: 'attention<128>', grid: [tiles * splits, 1, 1] };
      const merge = {
        functionName: 'merge<128>',
        grid: [tiles, Math.ceil((((rows * 128) / 4) * Math.min(parameters.SPLIT!, 8)) / 128), 1],
      };
      expect(steps).toMatchObject(parameters.SPLIT === 1 ? [attention] : [attention, merge]);
      expect(steps[0]).toHaveProperty(
        'dynamicSharedBytes',
        expect.toSatisfy((bytes) => parameters.CTAS_PER_SM! * (bytes + 1024) <= 228 * 1024),
      );
    }
  });

  nvccBuild(rung)(
    'compiles with nvcc without spills, with products that stay asynchronous',
    { skip: !hasNvcc },
    async () => {
      const { kernel } = await loadKernel(`problems/attention/${rung}`);
      for (const setting of compiled) {
        const report = await ptxasReport(kernel, completeParameters(kernel.file, setting), ['-DDTYPE=half']);
        const bytes = [...report.matchAll(/(\d+) bytes spill stores/g)].map(([, number]) => Number(number));
        expect(bytes).toEqual(new Array(functions).fill(0));
        expect(report).not.toMatch(/wgmma.mma_async instructions are serialized/);
      }
    },
  );
});

describe('22_one_launch', () => {
  const sizes = { B: 2, H: 8, Hkv: 2, S: 20, Skv: 700, D: 128, causal: 1, bottomRight: 1 } as const;
  const compiled: readonly ParameterValues[] = [
    { ROWS: 8, SPLIT: 8, LANES: 8, STAGES: 4, CTAS_PER_SM: 2 },
    { ROWS: 32, SPLIT: 32, BLOCK_N: 128, STAGES: 4 },
  ];

  it('plans one launch of row tiles of grouped heads, of no more CTAs than an H200 holds at once', async () => {
    const dimensions = attentionShape(sizes);
    const { problem, kernel } = await loadKernel('problems/attention/22_one_launch');
    const assignments = validAssignments(kernel.file, dimensions);
    expect(assignments.length).toBeGreaterThanOrEqual(50);
    expect(new Set(assignments.map(({ SPLIT }) => SPLIT))).toEqual(new Set([1, 2, 4, 8, 16]));
    for (const parameters of assignments) {
      const { steps } = expandPlan({
        problem: problem.file,
        kernel: kernel.file,
        parameters,
        dimensions,
        device: H200,
      });
      // Tiles hold 4 heads of as many queries as fit, for each of the 4 heads of K. No more parts than tiles of keys.
      const tiles = 4 * Math.ceil(20 / (parameters.ROWS! / 4));
      const ctas = tiles * Math.min(parameters.SPLIT!, Math.ceil(700 / parameters.BLOCK_N!));
      expect(steps).toMatchObject([{ functionName: 'attention<128>', grid: [ctas, 1, 1] }]);
      expect(parameters.SPLIT === 1 || ctas <= parameters.CTAS_PER_SM! * H200.smCount).toBe(true);
      expect(steps[0]).toHaveProperty(
        'dynamicSharedBytes',
        expect.toSatisfy((bytes) => parameters.CTAS_PER_SM! * (bytes + 1024) <= 228 * 1024),
      );
    }
  });

  it('does not split where CTAs that wait for each other might not run at once', async () => {
    const { kernel } = await loadKernel('problems/attention/22_one_launch');
    const large = attentionShape({ ...sizes, B: 16, H: 32, Hkv: 16 });
    expect(new Set(validAssignments(kernel.file, large).map(({ SPLIT }) => SPLIT))).toEqual(new Set([1]));
  });

  for (const type of ['half', '__nv_bfloat16'])
    nvccBuild(`22_one_launch ${type}`)(
      `compiles with nvcc for ${type} without spills, with products that stay asynchronous`,
      { skip: !hasNvcc },
      async () => {
        const { kernel } = await loadKernel('problems/attention/22_one_launch');
        for (const setting of compiled) {
          const report = await ptxasReport(kernel, completeParameters(kernel.file, setting), [`-DDTYPE=${type}`]);
          const bytes = [...report.matchAll(/(\d+) bytes spill stores/g)].map(([, number]) => Number(number));
          expect(bytes).toEqual([0, 0]);
          expect(report).not.toMatch(/wgmma.mma_async instructions are serialized/);
        }
      },
    );
});

describe('26_one_stream', () => {
  const compiled: readonly ParameterValues[] = [
    { ROWS: 16, WARPGROUPS: 2, STAGES: 12 },
    { ROWS: 24 },
    { ROWS: 32 },
    { ROWS: 32, WARPGROUPS: 2 },
  ];
  const planOf = async (sizes: Partial<Record<string, number>>, parameters: ParameterValues) => {
    const { problem, kernel } = await loadKernel('problems/attention/26_one_stream');
    const dimensions = attentionShape({ D: 64, ...sizes });
    const complete = completeParameters(kernel.file, parameters);
    expect(validAssignments(kernel.file, dimensions)).toContainEqual(complete);
    return expandPlan({ problem: problem.file, kernel: kernel.file, parameters: complete, dimensions, device: H200 })
      .steps;
  };

  it('plans CTAs with whole units, or with equal parts of one', async () => {
    const grid = async (sizes: Partial<Record<string, number>>, parameters: ParameterValues) => {
      const steps = await planOf(sizes, parameters);
      expect(steps).toHaveLength(1);
      return (steps[0] as { readonly grid: readonly number[] }).grid[0];
    };
    // 40 heads that share one are a unit, of which two make a share. 100 are three units: 576 in five rounds.
    const many = { B: 24, H: 320, Hkv: 8, S: 1, Skv: 3000 };
    expect(await grid(many, { ROWS: 24, WARPGROUPS: 2 })).toBe(96);
    expect(await grid({ ...many, H: 800 }, { ROWS: 24, WARPGROUPS: 2 })).toBe(116);
    // 71 heads that share one are one unit of three warpgroups; no more CTAs than tiles of keys.
    const shared = { B: 32, H: 71, Hkv: 1, S: 1, Skv: 2048 };
    expect(await grid(shared, { ROWS: 24, WARPGROUPS: 3 })).toBe(128);
    expect(await grid(shared, { ROWS: 16, WARPGROUPS: 2 })).toBe(96);
    expect(await grid({ ...shared, B: 1, Skv: 130 }, { ROWS: 24, WARPGROUPS: 3 })).toBe(3);
  });

  it('has room on an H200 for what it plans', async () => {
    const { problem, kernel } = await loadKernel('problems/attention/26_one_stream');
    const dimensions = attentionShape({ B: 2, H: 8, Hkv: 2, S: 20, Skv: 700, D: 128, causal: 1, bottomRight: 1 });
    const assignments = validAssignments(kernel.file, dimensions);
    expect(assignments.length).toBeGreaterThanOrEqual(12);
    for (const parameters of assignments) {
      const { steps } = expandPlan({
        problem: problem.file,
        kernel: kernel.file,
        parameters,
        dimensions,
        device: H200,
      });
      expect(steps[0]).toHaveProperty(
        'dynamicSharedBytes',
        expect.toSatisfy((bytes) => bytes <= 227 * 1024),
      );
    }
  });

  nvccBuild('26_one_stream')(
    'compiles with nvcc without spills, with products that stay asynchronous',
    { skip: !hasNvcc },
    async () => {
      const { kernel } = await loadKernel('problems/attention/26_one_stream');
      for (const setting of compiled) {
        const report = await ptxasReport(kernel, completeParameters(kernel.file, setting), ['-DDTYPE=half']);
        const bytes = [...report.matchAll(/(\d+) bytes spill stores/g)].map(([, number]) => Number(number));
        expect(bytes).toEqual([0, 0]);
        expect(report).not.toMatch(/wgmma.mma_async instructions are serialized/);
      }
    },
  );
});

describe('on a virtual H200', () => {
  let place: string;
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'warpsmith-hopper-'));
  });
  afterAll(() => rm(place, { recursive: true }));

  for (const rung of RUNGS)
    judged(rung)(`${rung} is verified, races and all, and counted`, async () => {
      const { evaluation } = await diagnoseKernel({
        target: join(narrowAttention(place), rung),
        device: 'virtual:h200',
        workload: 'B=1,H=1,S=64,D=64',
        parameters: {},
        seed: 5,
      });
      expect(evaluation.status).toBe('passed');
      const [counters] = evaluation.counters!.launches;
      // Q K^T and P V of 64 rows and a tile of 64 or 128 keys; both products at 64 columns.
      expect(counters!.flop.tensor).toBeGreaterThanOrEqual(2 * 2 * 64 * 64 * 64);
      // Every byte of Q, K and V comes by bulk copies.
      expect(counters!.globalLoadSectors).toBeGreaterThanOrEqual((3 * 64 * 64 * 2) / 32);
    });

  judged('19_whole_domain at D = 256')(
    '19_whole_domain is verified at D = 256, where there is one place for queries',
    async () => {
      const limits = NARROW.filter((limit) => limit !== 'D <= 64');
      const { evaluation } = await diagnoseKernel({
        target: join(narrowAttention(await mkdtemp(join(place, 'wide-')), limits), '19_whole_domain'),
        device: 'virtual:h200',
        workload: 'B=1,H=2,Hkv=1,S=70,Skv=40,D=256,causal=1,bottomRight=1,bshd=1,lse=1',
        parameters: { CONSUMERS: 2, STAGES: 2 },
        seed: 5,
      });
      expect(evaluation.status).toBe('passed');
    },
  );

  const BEHIND_LONG_KEYS: readonly { readonly member: string; readonly parameters: ParameterValues }[] = [
    { member: '20_few_queries', parameters: { SPLIT: 4 } },
    { member: '20_few_queries with two warpgroups', parameters: { SPLIT: 2, STAGES: 6, WARPGROUPS: 2 } },
    { member: '21_swapped_operands', parameters: { SPLIT: 2, CTAS_PER_SM: 1 } },
  ];
  for (const { member, parameters } of BEHIND_LONG_KEYS)
    judged(member)(`${member} is verified, races and all, with parts of rows that a second launch merges`, async () => {
      const limits = ['S <= 32', 'Skv <= 300', 'B * H <= 6', 'D <= 64'];
      const { evaluation } = await diagnoseKernel({
        target: join(narrowAttention(await mkdtemp(join(place, 'few-')), limits), member.split(' ')[0]!),
        device: 'virtual:h200',
        workload: 'B=1,H=6,Hkv=2,S=5,Skv=300,D=64,causal=1,bottomRight=1,bshd=1,lse=1',
        parameters,
        seed: 5,
      });
      expect(evaluation.status).toBe('passed');
    });

  judged('15_decode_words beside each other')(
    '15_decode_words is verified, races and all, though its CTAs wait for later ones in an ordinary launch',
    async () => {
      const { evaluation } = await diagnoseKernel({
        target: join(narrowAttention(place), '15_decode_words'),
        device: 'virtual:h200',
        workload: 'B=1,H=2,Hkv=1,S=1,Skv=100,D=64',
        parameters: { SPLIT: 4 },
        seed: 5,
      });
      expect(evaluation.status).toBe('passed');
      expect(evaluation.counters!.launches[0]).toMatchObject({ ctaCount: 4 });
    },
  );

  /** Rungs whose CTAs share rows or keys, at a shape in which they do; `why` says what `ctaCount` is. */
  const SHARING: readonly {
    readonly member: string;
    readonly what: string;
    readonly limits: readonly string[];
    readonly workload: string;
    readonly parameters: ParameterValues;
    readonly ctaCount: number;
    readonly why: string;
  }[] = [
    {
      member: '22_one_launch beside each other',
      what: 'though its CTAs wait for later ones in an ordinary launch',
      limits: ['S <= 32', 'Skv <= 300', 'B * H <= 6', 'D <= 64'],
      workload: 'B=1,H=6,Hkv=2,S=5,Skv=300,D=64',
      parameters: { SPLIT: 4 },
      ctaCount: 8,
      why: 'two tiles of up to 16 rows: five queries of three heads; five tiles of keys',
    },
    {
      member: '23_split_keys beside each other',
      what: 'where its CTAs wait for later ones in an ordinary launch',
      limits: ['S <= 130', 'Skv <= 300', 'B * H <= 4', 'D <= 64'],
      workload: 'B=1,H=2,Hkv=1,S=130,Skv=300,D=64',
      parameters: { BLOCK_N: 64, SPLIT: 4, CLUSTER: 0 },
      ctaCount: 16,
      why: 'two tiles of each head, four parts each',
    },
    {
      member: '24_resident_keys from head to head',
      what: 'where a CTA goes on to heads whose keys take the place of others',
      limits: ['S <= 130', 'Skv <= 32', 'B * H <= 160', 'D <= 64'],
      workload: 'B=2,H=80,Hkv=40,S=130,Skv=20,D=32',
      parameters: { CONSUMERS: 2, BLOCK_N: 32, KEY_PLACES: 2 },
      ctaCount: 132,
      why: '480 query tiles, three or four for each CTA; three of a head, and two heads share keys',
    },
    {
      member: '25_even_shares beside each other',
      what: 'where several CTAs have parts of a query tile',
      limits: ['S <= 130', 'Skv <= 700', 'B * H <= 4', 'D <= 64'],
      workload: 'B=1,H=2,Hkv=1,S=130,Skv=700,D=64',
      parameters: { CONSUMERS: 2, BLOCK_N: 64, STAGES: 2 },
      ctaCount: 16,
      why: 'two tiles of each head, 11 steps of keys each: shares of 3 for 14 CTAs of the 16',
    },
    {
      member: '25_even_shares at D = 256',
      what: 'where there is one place for queries and a part is read in halves',
      limits: ['S <= 130', 'Skv <= 700', 'B * H <= 4'],
      workload: 'B=1,H=2,Hkv=1,S=130,Skv=700,D=256',
      parameters: { CONSUMERS: 2, BLOCK_N: 64, STAGES: 2 },
      ctaCount: 16,
      why: 'shares as at D = 64',
    },
    {
      member: '26_one_stream beside each other',
      what: 'where several CTAs have parts of a unit',
      limits: ['S <= 32', 'Skv <= 300', 'B * H <= 16', 'D <= 64'],
      workload: 'B=1,H=14,Hkv=2,S=5,Skv=300,D=64',
      parameters: { ROWS: 16, WARPGROUPS: 2, STAGES: 6 },
      ctaCount: 20,
      why: 'two units, of 32 and 3 rows, for each of two heads of K and V, five tiles of keys',
    },
    {
      member: '27_seen_keys from head to head',
      what: 'where tiles see one, two or three parts of the keys, and a CTA goes on to other heads',
      limits: ['S <= 190', 'Skv <= 180', 'B * H <= 160', 'D <= 64'],
      workload: 'B=1,H=80,Hkv=80,S=190,Skv=180,D=32',
      parameters: { CONSUMERS: 2, BLOCK_N: 192, KEY_PLACES: 1 },
      ctaCount: 132,
      why: '240 query tiles, one or two for each CTA; three of a head',
    },
  ];
  for (const { member, what, limits, workload, parameters, ctaCount, why } of SHARING)
    judged(member)(`${member} is verified, races and all, ${what}`, async () => {
      const { evaluation } = await diagnoseKernel({
        target: join(narrowAttention(await mkdtemp(join(place, 'sharing-')), limits), member.split(' ')[0]!),
        device: 'virtual:h200',
        workload: `${workload},causal=1,bottomRight=1,bshd=1,lse=1`,
        parameters,
        seed: 5,
      });
      expect(evaluation.status).toBe('passed');
      expect(evaluation.counters!.launches[0], why).toMatchObject({ ctaCount });
    });

  const SECTORS_PER_ROW = (64 * 2) / 32;

  judged('16_decode_stream')('16_decode_stream is verified, races and all, and reads each key once', async () => {
    const { evaluation } = await diagnoseKernel({
      target: join(narrowAttention(place), '16_decode_stream'),
      device: 'virtual:h200',
      workload: 'B=1,H=2,Hkv=1,S=1,Skv=100,D=64',
      parameters: { WARPS: 2, STAGES: 2 },
      seed: 5,
    });
    expect(evaluation.status).toBe('passed');
    const [counters] = evaluation.counters!.launches;
    const sectorsOfKeys = 2 * 100 * SECTORS_PER_ROW;
    const sectorsOfQueries = counters!.globalLoadSectors - sectorsOfKeys;
    expect(sectorsOfQueries).toBeGreaterThanOrEqual(2 * SECTORS_PER_ROW);
    // Each of two warps reads both, the last one for the six rows that are no head, too.
    expect(sectorsOfQueries).toBeLessThanOrEqual(2 * 8 * SECTORS_PER_ROW);
  });
  interface Clustered {
    readonly rung: string;
    readonly parameters: ParameterValues;
    readonly workload: string;
    /** Sectors that are loaded. */
    readonly least: number;
    readonly most: number;
  }
  const CLUSTERED: readonly Clustered[] = [
    // K and V are read once.
    ...['13_decode_cluster', '14_decode_registers'].map((rung) => ({
      rung,
      parameters: { SPLIT: 4 },
      workload: 'B=1,H=2,Hkv=1,S=1,Skv=100,D=64',
      least: 2 * 100 * SECTORS_PER_ROW,
      most: Infinity,
    })),
    // 64 and 36 queries; each pair of CTAs reads them twice, and K and V once.
    {
      rung: '10_resident',
      parameters: { SPLIT: 2, BLOCK_N: 64, CHUNKS: 2, TRY_ZERO: 1, COPY: 2 },
      workload: 'B=1,H=1,S=100,D=64',
      least: (2 * 100 + 2 * 2 * 100) * SECTORS_PER_ROW,
      most: (2 * 100 + 2 * 2 * 100) * SECTORS_PER_ROW,
    },
    // Two CTAs with 64 and 36 queries, the first of which reads the other one's too; K and V once for both.
    {
      rung: '11_sums_first',
      parameters: { CLUSTER: 2, CONSUMERS: 2 },
      workload: 'B=1,H=1,S=100,D=64',
      least: (100 + 36 + 2 * 100) * SECTORS_PER_ROW,
      most: (100 + 36 + 2 * 100) * SECTORS_PER_ROW,
    },
  ];
  for (const { rung, parameters, workload, least, most } of CLUSTERED)
    judged(`${rung} in clusters`)(`${rung} in clusters is verified, races and all, and counted`, async () => {
      const { evaluation } = await diagnoseKernel({
        target: join(narrowAttention(place), rung),
        device: 'virtual:h200',
        workload,
        parameters,
        seed: 5,
      });
      expect(evaluation.status).toBe('passed');
      const [counters] = evaluation.counters!.launches;
      expect(counters!.globalLoadSectors).toBeGreaterThanOrEqual(least);
      expect(counters!.globalLoadSectors).toBeLessThanOrEqual(most);
    });

  // 17_lean_turns was wrong so on an H200.
  judged('11_sums_first with ranks in its operands')(
    '11_sums_first in clusters is refused if its operands take addresses with the rank of their CTA',
    async () => {
      const limits = NARROW.filter((limit) => limit !== 'D <= 64');
      const folder = join(narrowAttention(await mkdtemp(join(place, 'ranks-')), limits), '11_sums_first');
      const source = join(folder, 'kernel.cu');
      const text = await readFile(source, 'utf8');
      expect(text).toContain('(panel & 0x3ffff) >> 4');
      await writeFile(source, text.replace('(panel & 0x3ffff) >> 4', 'panel >> 4'));
      const { evaluation } = await diagnoseKernel({
        target: folder,
        device: 'virtual:h200',
        workload: 'B=1,H=1,S=100,D=128',
        parameters: { CLUSTER: 2, CONSUMERS: 2 },
        seed: 5,
      });
      expect(evaluation.status).toBe('unsafe');
      expect(evaluation.reason).toMatch(/mask it \(& 0x3ffff\)/);
    },
  );
});

// Without a word they would be proposed first: they answer what 09_lean waits for.
describe('on a device that cannot run them', () => {
  let place: string;
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'warpsmith-narrow-'));
  });
  afterAll(() => rm(place, { recursive: true }));

  judged('09_lean on another device')('no diagnosis proposes one', async () => {
    const { evaluation, moves } = await diagnoseKernel({
      target: join(narrowAttention(place), '09_lean'),
      device: 'virtual:l4',
      workload: 'b1h1s32d64',
      parameters: {},
      // Draws small shapes.
      seed: 14,
    });
    expect(evaluation.status).toBe('passed');
    expect(moves.length).toBeGreaterThan(0);
    expect(moves.map(({ move }) => move).filter(({ kind }) => kind === 'rung')).toEqual([]);
  });
});

async function ptxasReport(
  kernel: Kernel,
  parameters: ParameterValues,
  flags: readonly string[] = [],
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'warpsmith-nvcc-'));
  try {
    const macros = Object.entries(parameters)
      .map(([name, value]) => `-D${name}=${value}`)
      .concat(flags);
    const { stdout, stderr } = await promisify(execFile)('nvcc', [
      ...['-O3', '-std=c++17', '-gencode=arch=compute_90a,code=sm_90a', '-cubin', '-Xptxas', '-v', ...macros],
      ...['-o', join(folder, 'kernel.cubin'), join(kernel.folder, 'kernel.cu')],
    ]);
    return stdout + stderr;
  } finally {
    await rm(folder, { recursive: true });
  }
}
