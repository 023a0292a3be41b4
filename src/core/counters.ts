import { z } from 'zod';
import { sourceLocation } from './compiled-code.ts';
import { count, dim3, ratio } from './schemas/common-schema.ts';
import { INSTRUCTION_CLASSES, STALL_REASONS } from './vocabulary.ts';

const totals = {
  instructions: count.describe('Warp instructions with at least one active lane.'),
  threadInstructions: count.describe('The same, weighted with the number of active lanes.'),
  instructionsByClass: z.record(z.enum(INSTRUCTION_CLASSES), count),
  flop: z
    .strictObject({ fp16: count, fp32: count, fp64: count, tensor: count })
    .describe('Floating-point operations of lanes; a fused multiply-add is two.'),
  globalLoadRequests: count,
  globalLoadSectors: count.describe('Sectors of 32 bytes.'),
  globalLoadBytes: count.describe('Bytes that the active lanes asked for.'),
  globalStoreRequests: count,
  globalStoreSectors: count,
  globalStoreBytes: count,
  localLoadRequests: count,
  localStoreRequests: count,
  sharedLoadRequests: count,
  sharedLoadWavefronts: count,
  sharedLoadBankConflicts: count.describe('Wavefronts beyond the least that this access width needs.'),
  sharedStoreRequests: count,
  sharedStoreWavefronts: count,
  sharedStoreBankConflicts: count,
  barriers: count,
  globalAtomicRequests: count,
  sharedAtomicRequests: count,
  branches: count,
  divergentBranches: count.describe('Branches on which the active lanes parted.'),
};
const totalsSchema = z.strictObject(totals);

/** Exact sums over a launch. Requests and instructions are per warp; sectors are 32 bytes. */
export interface CounterTotals extends z.infer<typeof totalsSchema> {}

/** The names of totals that are one number. */
export type CounterName = {
  [N in keyof CounterTotals]: CounterTotals[N] extends number ? N : never;
}[keyof CounterTotals];

const lineCounters = z
  .strictObject({
    location: sourceLocation,
    instructions: count,
    threadInstructions: count,
    globalLoadRequests: count,
    globalLoadSectors: count,
    globalStoreRequests: count,
    globalStoreSectors: count,
    sharedLoadRequests: count,
    sharedLoadWavefronts: count,
    sharedStoreRequests: count,
    sharedStoreWavefronts: count,
    bankConflicts: count,
    barriers: count,
    atomics: count,
    divergentBranches: count,
  })
  .meta({ id: 'LineCounters' });

/** Counters of the instructions that came from one source line. */
export interface LineCounters extends z.infer<typeof lineCounters> {}

const resources = z.strictObject({
  registersPerThread: count,
  registersSource: z.enum(['estimated', 'compiler']),
  staticSharedBytes: count,
  dynamicSharedBytes: count,
  localBytesPerThread: count,
});

/** Resources of one CTA of a function. Estimated from PTX, unless a real compiler reported them. */
export interface KernelResources extends z.infer<typeof resources> {}

/** Shared memory of a CTA. */
export const sharedBytes = ({ staticSharedBytes, dynamicSharedBytes }: KernelResources): number =>
  staticSharedBytes + dynamicSharedBytes;

const sampledCache = z
  .strictObject({
    sampledRatio: ratio.describe('Share of the L2 sets that were simulated, e.g. 0.0625.'),
    sampledLines: count.describe('Distinct lines of 128 bytes that the launch touched in these sets.'),
    start: z
      .enum(['hot', 'cold'])
      .describe('L2 before the sequence. cold: none of its data; hot: the data that the same sequence leaves.'),
    sectorsReadBySms: count
      .describe(
        'Distinct sectors that the CTAs of an SM read while they are resident together, summed over SMs and turns: what even an L1 ' +
          'of any size would miss.',
      )
      .optional(),
    dramReadBytes: count.describe('Bytes that L2 reads from DRAM.'),
    dramWriteBytes: count.describe('Bytes that L2 writes back to DRAM.'),
  })
  .meta({ id: 'SampledCache', description: 'Traffic beyond L2, from a sample of its sets: an estimate.' });

/** Traffic beyond L2. **Sampled**: an estimate for predictions and findings, never part of a verification. */
export type SampledCache = z.infer<typeof sampledCache>;

const activity = z
  .strictObject({
    tensorPipeRatio: ratio.describe('Share of the SMs’ active time in which the tensor pipe was busy, 0…1.').optional(),
    stallRatios: z
      .partialRecord(z.enum(STALL_REASONS), ratio)
      .describe('Share of a warp’s time, from one instruction to its next, that it waits; by reason, 0…1.')
      .optional(),
  })
  .meta({ id: 'LaunchActivity', description: 'What only a profiler of a real GPU sees.' });

/** Each part is absent where it was not measured. */
export type LaunchActivity = z.infer<typeof activity>;

const warpTime = z
  .strictObject({
    issued: z.number().nonnegative().describe('Machine instructions that are issued, summed over warps.'),
    waits: z
      .partialRecord(z.enum(INSTRUCTION_CLASSES), z.number().nonnegative())
      .describe(
        'Latencies that warps wait out, summed over warps, by the class of the instruction whose result they wait for.',
      ),
  })
  .meta({ id: 'WarpTime', description: 'An estimate from PTX: ptxas decides which latencies its schedule covers.' });

/** What keeps warps busy, and what they wait for, if each has a scheduler to itself. */
export interface WarpTime extends z.infer<typeof warpTime> {}

const sharedLoadMerging = z
  .strictObject({
    requestRatio: ratio.describe('Requests ÷ `sharedLoadRequests`, 0…1.'),
    wavefrontRatio: ratio.describe('Wavefronts ÷ `sharedLoadWavefronts`, 0…1.'),
  })
  .meta({
    id: 'SharedLoadMerging',
    description:
      'Loads from shared memory after ptxas has merged those side by side. An estimate: its rules are not published.',
  });

const polls = z
  .strictObject({
    requests: count,
    words: count.describe('One for a request of a single sector.'),
    round: warpTime.describe('Of one round in one warp.'),
  })
  .meta({
    id: 'Polls',
    description: 'Reads of the loop that reads device memory anew most often: code that waits for other CTAs.',
  });

/** How a launch's CTAs wait for each other, as far as loops that read device memory anew show. */
export interface Polls extends z.infer<typeof polls> {}

/** What is left of the loads from shared memory when ptxas has merged neighbours. */
export interface SharedLoadMerging extends z.infer<typeof sharedLoadMerging> {}

const launchCounters = z
  .strictObject({
    ...totals,
    functionName: z.string(),
    grid: dim3,
    block: dim3,
    ctaCount: count,
    countedCtas: count.describe('CTAs counted; sums are scaled when fewer than ctaCount.'),
    resources,
    activeLaneHistogram: z.array(count).describe('Instructions with exactly n active lanes, n = 0…32.'),
    criticalPathInstructions: count.describe(
      'Warp instructions on the critical path of one CTA, averaged over CTAs: when the last warp ends, if each executes one at a ' +
        'time and waits at barriers and mbarriers for others. instructions ÷ (CTAs × warps × this) says how balanced warps are.',
    ),
    criticalPathNarrowInstructions: count
      .describe('Of these, executed with at most four active lanes. Absent in a profile of a real GPU.')
      .optional(),
    longestCtaInstructions: count.describe(
      'Warp instructions, loads and barriers of the longest-running CTA, for the tail of the last wave.',
    ),
    distinctSectorsRead: count.describe(
      'Distinct sectors touched, the least DRAM traffic a cold cache allows. An estimate when CTAs were sampled.',
    ),
    distinctSectorsWritten: count,
    warpTime: z
      .strictObject({
        wide: warpTime.describe('Of code that warps run with more than four active lanes.'),
        narrow: warpTime.describe('Of code that they run with at most four.'),
      })
      .describe('Absent in a profile of a real GPU.')
      .optional(),
    sharedLoadMerging: sharedLoadMerging
      .describe('Absent in a profile of a real GPU, which counts merged loads.')
      .optional(),
    globalLoadLines: count
      .describe('Lines of 128 bytes, summed over requests. Absent in a profile of a real GPU.')
      .optional(),
    globalAtomicTurns: count
      .describe(
        'Turns that atomics in device memory take: over the sectors of each request, the most lanes on one address. ' +
          'Absent in a profile of a real GPU, which counts requests alone.',
      )
      .optional(),
    globalAtomicSectors: count
      .describe('Sectors that atomics in device memory touch, request by request. Absent in a profile of a real GPU.')
      .optional(),
    globalAtomicLines: count
      .describe(
        'Distinct lines of 128 bytes that atomics in device memory touch. Of a sample of the CTAs an estimate. Absent in a ' +
          'profile of a real GPU.',
      )
      .optional(),
    polls: polls.describe('Absent in a profile of a real GPU.').optional(),
    sampledCache: sampledCache
      .describe(
        'Absent if nothing was simulated: in a profile of a real GPU, or with too few lines. Of a sample of the CTAs it is ' +
          'simulated in a part of L2.',
      )
      .optional(),
    activity: activity.describe('Absent on virtual GPUs.').optional(),
    lines: z.array(lineCounters),
  })
  .meta({ id: 'LaunchCounters' });

export interface LaunchCounters extends z.infer<typeof launchCounters> {}

export const countersSchema = z.strictObject({ ...totals, totals: totalsSchema, launches: z.array(launchCounters) });

/** Sum over the launches of a sequence, beside the launches themselves. */
export interface Counters extends z.infer<typeof countersSchema> {}
