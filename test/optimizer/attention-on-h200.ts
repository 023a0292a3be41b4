import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LaunchCounters } from '../../src/core/counters.ts';
import { emptyTotals } from '../../src/core/empty-totals.ts';
import type { Evaluation, EvaluationRequest } from '../../src/core/evaluation.ts';
import type { Finding } from '../../src/core/finding.ts';
import type { Candidate, ParameterValues } from '../../src/core/kernel.ts';
import { expandPlan } from '../../src/core/plan/expand-plan.ts';
import type { Dimensions } from '../../src/core/problem.ts';
import { sumCounters } from '../../src/core/sum-counters.ts';
import { diagnose } from '../../src/diagnosis/diagnose.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { makeLaunch } from '../support/counters/make-launch.ts';

/*
 * What is known of attention's rungs on an H200, as an evaluator's answers: recorded times, and findings that the rules
 * give for counters. docs/results has the sources; a time that nobody measured says how it was made up.
 */

const results = (name: string) => JSON.parse(readFileSync(join('docs', 'results', `${name}.json`), 'utf8'));

interface Known {
  readonly kernel: string;
  readonly parameters: ParameterValues;
  readonly us: number;
}

const SWEEP: readonly [string, ParameterValues, number, number, string, number][] =
  results('attention-notebook-sweep').rows;
const sweep = (workload: string): Known[] =>
  SWEEP.filter((row) => row[4] === workload).map(([kernel, parameters, , , , us]) => ({ kernel, parameters, us }));

const plain = (us: readonly [number, number, number, number]): Known[] => [
  { kernel: '01_minimal', parameters: { BLOCK_M: 4, WARPS: 4 }, us: us[0] },
  { kernel: '02_tiled', parameters: { BLOCK_M: 64, BLOCK_N: 64, WARPS: 4, PAD: 0 }, us: us[1] },
  { kernel: '03_rows', parameters: { BLOCK_M: 32, BLOCK_N: 64, WARPS: 4, PAD: 0 }, us: us[2] },
  { kernel: '04_warp', parameters: { BLOCK_M: 32, BLOCK_N: 64, WARPS: 4, VECTOR_WIDTH: 8, PAD: 8 }, us: us[3] },
];

const hopper = (kernel: string, tile: string, STAGES: number, us: number, TRY_ZERO = 0): Known => {
  const [CONSUMERS, BLOCK_N] = tile.split('x').map(Number) as [number, number];
  const parameters = { CONSUMERS, BLOCK_N, STAGES, ...(kernel !== '10_wgmma' && { TRY_ZERO, CLUSTER: 1 }) };
  return { kernel, parameters, us };
};
/** What 18_ones_column takes of 17_lean_turns' time at D = 64, in lab-ones. */
const ONES_RATIO = 0.99;
/**
 * 11_sums_first's settings, and those of 17_lean_turns and 18_ones_column with PASS_EARLY = 2, by the ratio of 17 to 11 in lab-turns.
 * 19_whole_domain as 17_lean_turns, whose loop it has: in lab-domain it took 0.3 to 0.4 % longer.
 */
const andLean = (ratio: number, known: readonly Known[]): Known[] => [
  ...known,
  ...known
    .filter(({ parameters }) => parameters.BLOCK_N !== 80)
    .flatMap(({ parameters: { CLUSTER: _, TRY_ZERO, ...tile }, us }) => [
      ...['17_lean_turns', '19_whole_domain'].map((kernel) => ({
        kernel,
        parameters: { ...tile, TRY_ZERO: TRY_ZERO!, PASS_EARLY: 2 },
        us: us * ratio,
      })),
      { kernel: '18_ones_column', parameters: { ...tile, PASS_EARLY: 2 }, us: us * ratio * ONES_RATIO },
    ]),
];

/**
 * 23_split_keys and 25_even_shares where query tiles fill the GPU: never measured at these workloads; at b4h12s1024d64-causal and b1h4s4096d128 23 took 1.16 and
 * 1.09 times as long as 19_whole_domain, in lab-middle, at b1h32-8s2048d128-causal and b32h16s512d128 25 took 1.04 and 1.10 times as long, in lab-shares.
 */
const andShared = (known: readonly Known[]): Known[] => [
  ...known,
  ...known
    .filter(({ kernel }) => kernel === '19_whole_domain')
    .flatMap(({ parameters: { CONSUMERS, BLOCK_N, STAGES }, us }) => {
      const tile = { CONSUMERS: CONSUMERS!, BLOCK_N: BLOCK_N!, STAGES: STAGES! };
      return [
        { kernel: '23_split_keys', parameters: { ...tile, SPLIT: 2, CLUSTER: 1 }, us: us * 1.1 },
        { kernel: '25_even_shares', parameters: tile, us: us * 1.07 },
      ];
    }),
];

const scaled = (known: readonly Known[], factor: number): Known[] =>
  known.map((one) => ({ ...one, us: one.us * factor }));
const renamed = (known: readonly Known[], from: string, to: string): Known[] =>
  known.filter(({ kernel }) => kernel === from).map((one) => ({ ...one, kernel: to }));

const SHORT = sweep('b1h8s512');
const WIDE = sweep('b32h8s512');
/** Key splits at a shape that fills the GPU: not measured; as much behind 07 as at b32h8s128. */
const SPLITS_WIDE: Known[] = [
  { kernel: '08_key_split', parameters: { BLOCK_M: 64, BLOCK_N: 32, WARPS: 8, ROWS_PER_WARP: 16, STAGES: 3 }, us: 82 },
  { kernel: '09_fragments', parameters: { BLOCK_M: 64, BLOCK_N: 32, WARPS: 8, ROWS_PER_WARP: 32 }, us: 102 },
  // 09_lean was never measured there: as 08.
  { kernel: '09_lean', parameters: { BLOCK_M: 64, BLOCK_N: 32, WARPS: 8, ROWS_PER_WARP: 16, STAGES: 3 }, us: 82 },
];
/** Never measured: a comparison with 05_mma, and 07 with another order of tiles or with more CTAs for a tile. */
const ASIDE = (mmaUs: number, ringUs: number): Known[] => [
  { kernel: '05_wmma', parameters: { BLOCK_N: 64, WARPS: 4, PAD: 8 }, us: 2 * mmaUs },
  { kernel: '07_queue', parameters: { BLOCK_M: 64, BLOCK_N: 64, WARPS: 4, STAGES: 2 }, us: ringUs },
  {
    kernel: '08_two_pass',
    parameters: { BLOCK_M: 64, BLOCK_N: 64, WARPS: 4, STAGES: 2, KEY_SPLITS: 2 },
    us: 1.3 * ringUs,
  },
];
const resident = (KEY_GROUPS: number, SPLIT: number, BLOCK_N: number, us: number): Known => ({
  kernel: '10_resident',
  parameters: { ROW_GROUPS: 1, KEY_GROUPS, SPLIT, BLOCK_N, CTAS: 1 },
  us,
});
/** FLOP of b1h16s16384d128-causal ÷ FLOP of b32h8s512d64. */
const LONGER = 64;

const KNOWN: Readonly<Record<string, readonly Known[]>> = {
  b1h8s512d64: [
    ...plain([476.5, 685.6, 104.4, 33.7]),
    ...SHORT,
    ...ASIDE(14.6, 8.6),
    // Never measured: as 08.
    ...renamed(SHORT, '08_key_split', '09_lean'),
    resident(1, 2, 256, 4.91),
    resident(2, 2, 128, 4.92),
    resident(1, 2, 128, 5.04),
    resident(2, 2, 64, 5.06),
    resident(1, 2, 64, 5.44),
    resident(1, 4, 128, 5.52),
    resident(1, 4, 64, 5.71),
    resident(1, 1, 256, 5.74),
    resident(2, 1, 128, 5.89),
    resident(1, 1, 128, 6.51),
    // Never measured: as FlashAttention-3, which has as few tiles.
    hopper('10_wgmma', '3x128', 2, 12.4),
    ...andLean(1, [hopper('11_sums_first', '3x64', 4, 12.4)]),
    // A screen with a causal mask, in h200-rungs-judged.
    { kernel: '23_split_keys', parameters: { CONSUMERS: 2, BLOCK_N: 128, STAGES: 2, SPLIT: 2, CLUSTER: 1 }, us: 6.36 },
    // Never measured, either: there 19 has 24 query tiles.
    hopper('25_even_shares', '3x64', 4, 12.4),
  ],
  b32h8s512d64: [
    // Half of b32h16s512d64.
    ...plain([13_005, 7059, 1914, 610]),
    ...WIDE,
    ...SPLITS_WIDE,
    ...ASIDE(112, 80),
    hopper('10_wgmma', '3x128', 2, 55.9),
    // By FLOP from B4 H33 S450 D64.
    resident(1, 2, 256, 86),
    ...andShared(
      andLean(0.984, [
        hopper('11_sums_first', '4x64', 4, 39.3, 1),
        hopper('11_sums_first', '4x64', 4, 40.0),
        hopper('11_sums_first', '4x64', 2, 41.9),
        hopper('11_sums_first', '3x128', 2, 43.1),
      ]),
    ),
  ],
  'b1h16s16384d128-causal': [
    ...plain([718_727, 438_672, 137_467, 35_588]),
    // Never measured at this length: the short rows of D = 64, by FLOP.
    ...scaled([...WIDE, ...SPLITS_WIDE, ...ASIDE(112, 80)], LONGER),
    // 10 was measured at b4h16s4096d128-causal, 1.2 times as slow as 11.
    hopper('10_wgmma', '2x128', 2, 1720),
    // The ratio is that at b4h16s4096d128-causal.
    ...andShared(
      andLean(0.995, [
        hopper('11_sums_first', '3x80', 2, 1430),
        hopper('11_sums_first', '3x64', 4, 1438.6),
        hopper('11_sums_first', '3x64', 4, 1446.4, 1),
        hopper('11_sums_first', '2x128', 2, 1564.2),
        hopper('11_sums_first', '2x64', 4, 1695.9),
      ]),
    ),
  ],
  b4h16s4096d64: [
    ...plain([208_900, 111_800, 29_480, 9572]),
    // Never measured: the short rows, by FLOP.
    ...scaled([...WIDE, ...SPLITS_WIDE, ...ASIDE(112, 80)], 16),
    hopper('10_wgmma', '3x128', 2, 537.7),
    ...andShared(andLean(0.985, [hopper('11_sums_first', '3x128', 2, 453.9)])),
    ...andShared(
      andLean(0.972, [hopper('11_sums_first', '4x64', 4, 457.1), hopper('11_sums_first', '4x64', 4, 454.2, 1)]),
    ),
  ],
};

/** A parameter that nobody tried with the others makes a kernel so much slower. */
const UNTRIED = 1.1;

/** Recorded time of a setting, in ns: that of the most similar one, slower for each parameter that differs. */
export function recordedNs({ kernel, parameters }: Candidate, workload: string): number {
  const own = KNOWN[workload]!.filter((known) => known.kernel === kernel.file.name);
  const times = own.map((known) => {
    const differing = Object.keys(known.parameters).filter((name) => known.parameters[name] !== parameters[name]);
    return { differing: differing.length, ns: known.us * 1e3 * UNTRIED ** differing.length };
  });
  const best = times.toSorted((a, b) => a.differing - b.differing || a.ns - b.ns)[0];
  if (!best) throw new Error(`nothing is known of ${kernel.file.name} at ${workload}`);
  return best.ns;
}

const H200 = DEVICE_SPECS.get('h200')!;

/** Counters of the rungs that virtual GPUs run, at b1h8s512d64. */
const COUNTED = new Map<string, LaunchCounters>(
  (results('attention-ladder').entries as { command: string; result: Evaluation }[])
    .filter(({ command }) => command.includes('virtual:h200'))
    .map(({ result }) => [result.candidate.kernel, result.counters!.launches[0]!]),
);

const scores = ({ B, H, S, Skv, causal }: Dimensions): number => (B! * H! * S! * Skv!) / (causal ? 2 : 1);

/** The counters at b1h8s512d64 with as many CTAs as the rows need, each with as much work as its keys and columns need. */
function scaledCounters(launch: LaunchCounters, dimensions: Dimensions): LaunchCounters {
  const rows = (dimensions.B! * dimensions.H! * dimensions.S!) / (8 * 512);
  const perCta = ((scores(dimensions) / (8 * 512 * 512)) * (dimensions.D! / 64)) / rows;
  const times = (value: unknown, factor: number): unknown =>
    typeof value === 'number'
      ? value * factor
      : Object.fromEntries(Object.entries(value as object).map(([name, inner]) => [name, times(inner, factor)]));
  const totals = Object.fromEntries(
    Object.keys(emptyTotals()).map((name) => [name, times(launch[name as keyof LaunchCounters], rows * perCta)]),
  );
  return {
    ...launch,
    ...totals,
    ctaCount: launch.ctaCount * rows,
    countedCtas: launch.ctaCount * rows,
    activeLaneHistogram: launch.activeLaneHistogram.map((count) => count * rows * perCta),
    criticalPathInstructions: launch.criticalPathInstructions * perCta,
    longestCtaInstructions: launch.longestCtaInstructions * perCta,
    distinctSectorsRead: launch.distinctSectorsRead * rows,
    distinctSectorsWritten: launch.distinctSectorsWritten * rows,
    lines: [],
  };
}

/** Instructions per score that are neither products nor exponentials, as the rungs' headers have them. */
const OTHERS_PER_SCORE: Readonly<Record<string, number>> = {
  '10_wgmma': 3.5,
  '11_sums_first': 2.5,
  // 16 instructions less per warp and step of 64 x 64 / 128 scores a lane.
  '17_lean_turns': 2,
  // 30 less than those.
  '18_ones_column': 1,
  '19_whole_domain': 2,
};

/** What ncu counts of a kernel with wgmma and TMA, from its arithmetic: bulk copies move bytes that no counter shows. */
function hopperCounters({ problem, candidate, workload: { dimensions } }: EvaluationRequest): LaunchCounters {
  const { kernel, parameters } = candidate;
  const plan = expandPlan({
    problem: problem.file,
    kernel: kernel.file,
    parameters,
    dimensions,
    device: { smCount: H200.smCount.value, sharedBytesPerCta: H200.sharedBytesPerCta.value },
  });
  const step = plan.steps.find((one) => one.kind === 'launch')!;
  const [x, y, z] = step.grid;
  const warpScores = scores(dimensions) / 32;
  const flop = 4 * scores(dimensions) * dimensions.D!;
  const others = warpScores * OTHERS_PER_SCORE[kernel.file.name]!;
  const tiles = scores(dimensions) / (64 * parameters.BLOCK_N!);
  return makeLaunch({
    functionName: step.functionName,
    ctaCount: x * y * z,
    grid: step.grid,
    block: step.block,
    classes: {
      special: warpScores,
      fp32: others * 0.7,
      conversion: warpScores / 2,
      integer: others * 0.3,
      tensor: flop / (2 * 64 * parameters.BLOCK_N! * 16),
      barrier: tiles * 4,
      'async-copy': tiles,
    },
    barriers: 0,
    flop: { fp16: 0, fp32: warpScores * 32 * 3, fp64: 0, tensor: flop },
    resources: {
      registersPerThread: 168,
      registersSource: 'compiler',
      staticSharedBytes: 0,
      dynamicSharedBytes: step.dynamicSharedBytes,
      localBytesPerThread: 0,
    },
    criticalPathInstructions: 0,
    longestCtaInstructions: 0,
    activeLaneHistogram: [],
  });
}

/** What the rules say of a candidate, with its recorded time. */
export function recordedFindings(request: EvaluationRequest, ns: number): Finding[] {
  const counted = COUNTED.get(request.candidate.kernel.file.name);
  const launch = counted ? scaledCounters(counted, request.workload.dimensions) : hopperCounters(request);
  const timing = { kind: 'measured', medianNs: ns, intervalNs: [ns, ns], vetoNs: 0, attainableNs: 0 } as never;
  return diagnose({ counters: sumCounters([launch]), timing, spec: H200, halfPrecisionMatrixWork: true });
}
