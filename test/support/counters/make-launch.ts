import {
  type Counters,
  INSTRUCTION_CLASSES,
  type InstructionClass,
  type LaunchCounters,
} from '../../../src/core/counters.ts';

type Classes = Partial<Record<InstructionClass, number>>;

export interface LaunchRequest extends Partial<Omit<LaunchCounters, 'instructionsByClass' | 'instructions'>> {
  /** Warp instructions by class, over the whole launch; the others are 0. */
  classes: Classes;
}

/** Counters of a balanced launch with all lanes active; whatever is not given is zero or follows from `classes`. */
export function makeLaunch(request: LaunchRequest): LaunchCounters {
  const { classes, ...given } = request;
  const instructionsByClass = Object.fromEntries(
    INSTRUCTION_CLASSES.map((name) => [name, classes[name] ?? 0]),
  ) as Record<InstructionClass, number>;
  const instructions = INSTRUCTION_CLASSES.reduce((sum, name) => sum + instructionsByClass[name], 0);
  const ctaCount = given.ctaCount ?? 1;
  const block = given.block ?? [128, 1, 1];
  const warps = Math.ceil((block[0] * block[1] * block[2]) / 32);
  const activeLaneHistogram = new Array<number>(33).fill(0);
  activeLaneHistogram[32] = instructions;
  return {
    functionName: 'kernel',
    grid: [ctaCount, 1, 1],
    block,
    ctaCount,
    countedCtas: ctaCount,
    resources: {
      registersPerThread: 32,
      registersSource: 'estimated',
      staticSharedBytes: 0,
      dynamicSharedBytes: 0,
      localBytesPerThread: 0,
    },
    instructions,
    threadInstructions: instructions * 32,
    instructionsByClass,
    flop: { fp16: 0, fp32: 0, fp64: 0, tensor: 0 },
    globalLoadRequests: 0,
    globalLoadSectors: 0,
    globalLoadBytes: 0,
    globalStoreRequests: 0,
    globalStoreSectors: 0,
    globalStoreBytes: 0,
    localLoadRequests: 0,
    localStoreRequests: 0,
    sharedLoadRequests: 0,
    sharedLoadWavefronts: 0,
    sharedLoadBankConflicts: 0,
    sharedStoreRequests: 0,
    sharedStoreWavefronts: 0,
    sharedStoreBankConflicts: 0,
    barriers: instructionsByClass.barrier,
    globalAtomicRequests: 0,
    sharedAtomicRequests: 0,
    branches: 0,
    divergentBranches: 0,
    activeLaneHistogram,
    criticalPathInstructions: instructions / (ctaCount * warps),
    longestCtaInstructions: instructions / ctaCount,
    distinctSectorsRead: 0,
    distinctSectorsWritten: 0,
    lines: [],
    ...given,
  };
}

/** A sequence of one launch or several; the totals are the first launch's when there is one, which is all rules need. */
export function makeCounters(...launches: LaunchCounters[]): Counters {
  const first = launches[0]!;
  return { ...first, totals: first, launches };
}
