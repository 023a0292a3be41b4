import type { Counters, LaunchCounters } from '../../../src/core/counters.ts';
import { emptyTotals } from '../../../src/core/empty-totals.ts';
import { INSTRUCTION_CLASSES, type InstructionClass } from '../../../src/core/vocabulary.ts';

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
    ...emptyTotals(),
    instructions,
    threadInstructions: instructions * 32,
    instructionsByClass,
    barriers: instructionsByClass.barrier,
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
