import { z } from 'zod';
import { INSTRUCTION_CLASSES, STALL_REASONS } from '../counters.ts';
import type { Evaluation } from '../evaluation.ts';
import { EVALUATION_STATUSES } from '../status.ts';
import { type Assert, count, dimensionsSchema, type Matches, numberOrNaN } from './common-schema.ts';
import { comparedSizesSchema } from './compared-sizes-schema.ts';
import { comparisonSchema, measurementSchema } from './measurement-schema.ts';
import { countersSourceSchema, profileSchema, sanitizerSchema } from './profile-schema.ts';

const sourceLocation = z
  .strictObject({ file: z.string(), line: z.int(), column: z.int().optional() })
  .meta({ id: 'SourceLocation' });

const dim3 = z.tuple([z.int(), z.int(), z.int()]).readonly();

const totals = {
  instructions: count.describe('Warp instructions with at least one active lane.'),
  threadInstructions: count,
  instructionsByClass: z.record(z.enum(INSTRUCTION_CLASSES), count),
  flop: z.strictObject({ fp16: count, fp32: count, fp64: count, tensor: count }),
  globalLoadRequests: count,
  globalLoadSectors: count.describe('Sectors of 32 bytes.'),
  globalLoadBytes: count,
  globalStoreRequests: count,
  globalStoreSectors: count,
  globalStoreBytes: count,
  localLoadRequests: count,
  localStoreRequests: count,
  sharedLoadRequests: count,
  sharedLoadWavefronts: count,
  sharedLoadBankConflicts: count,
  sharedStoreRequests: count,
  sharedStoreWavefronts: count,
  sharedStoreBankConflicts: count,
  barriers: count,
  globalAtomicRequests: count,
  sharedAtomicRequests: count,
  branches: count,
  divergentBranches: count,
};

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

const sampledCache = z
  .strictObject({
    sampledRatio: z.number().describe('Share of the L2 sets that were simulated.'),
    sampledLines: count,
    start: z.enum(['hot', 'cold']),
    dramReadBytes: count,
    dramWriteBytes: count,
  })
  .meta({ id: 'SampledCache', description: 'Traffic beyond L2, from a sample of its sets: an estimate.' });

const activity = z
  .strictObject({
    tensorPipeRatio: z.number().optional(),
    stallRatios: z.partialRecord(z.enum(STALL_REASONS), z.number()).optional(),
  })
  .meta({ id: 'LaunchActivity', description: 'What only a profiler of a real GPU sees.' });

const launchCounters = z
  .strictObject({
    ...totals,
    functionName: z.string(),
    grid: dim3,
    block: dim3,
    ctaCount: count,
    countedCtas: count.describe('CTAs counted; sums are scaled when fewer than ctaCount.'),
    resources: z.strictObject({
      registersPerThread: count,
      registersSource: z.enum(['estimated', 'compiler']),
      staticSharedBytes: count,
      dynamicSharedBytes: count,
      localBytesPerThread: count,
    }),
    activeLaneHistogram: z.array(count).describe('Instructions with exactly n active lanes, n = 0…32.'),
    criticalPathInstructions: count,
    longestCtaInstructions: count,
    distinctSectorsRead: count,
    distinctSectorsWritten: count,
    sampledCache: sampledCache.optional(),
    activity: activity.optional(),
    lines: z.array(lineCounters),
  })
  .meta({ id: 'LaunchCounters' });

const counters = z.strictObject({ ...totals, totals: z.strictObject(totals), launches: z.array(launchCounters) });

const bound = z.strictObject({ resource: z.string(), ns: z.number(), arithmetic: z.string() }).meta({ id: 'Bound' });

const timing = z.strictObject({
  kind: z.enum(['measured', 'predicted']),
  medianNs: z.number(),
  intervalNs: z.tuple([z.number(), z.number()]),
  vetoNs: z.number().describe('Provable lower bound.'),
  attainableNs: z.number().describe('What realistic peaks allow.'),
  bindingResource: z.string(),
  bounds: z.array(bound).optional(),
  launches: z
    .array(
      z.strictObject({
        functionName: z.string(),
        medianNs: z.number(),
        bindingResource: z.string(),
        bounds: z.array(bound),
        occupancy: z.strictObject({
          ctasPerSm: count,
          warpsPerSm: count,
          maximumWarpsPerSm: count,
          ratio: z.number(),
          limiter: z.enum(['warps', 'registers', 'shared-memory', 'ctas']),
          kind: z.literal('theoretical'),
        }),
        ctaCount: count,
        waves: z.number(),
        tailRatio: z.number(),
        launchOverheadNs: z.number(),
        dramBytesEstimate: count,
        l2BytesEstimate: count.optional(),
        l2HitRatioEstimate: z.number().optional(),
        cacheSampledRatio: z.number().describe('Sampled share of the L2 sets behind the DRAM bytes.').optional(),
      }),
    )
    .optional(),
  measurement: measurementSchema.optional(),
});

const baseline = z
  .strictObject({
    name: z.string(),
    kind: z.enum(['library', 'kernel']),
    measurement: measurementSchema,
    versions: z.record(z.string(), z.string()).readonly().optional(),
    gpuKernels: z.array(z.string()).describe('GPU kernels that really ran.').optional(),
  })
  .meta({ id: 'BaselineMeasurement' });

const correctness = z.strictObject({
  maxAbsoluteError: z.number().nullable().describe('null when an output was not a number.'),
  tolerance: numberOrNaN,
  nearest: z
    .strictObject({
      output: z.string(),
      index: z.array(z.int()),
      got: numberOrNaN,
      want: numberOrNaN,
      error: numberOrNaN,
      tolerance: numberOrNaN,
    })
    .describe('The element that came nearest to its tolerance, or went furthest over it.')
    .optional(),
  checksRun: count,
  firstWrong: z
    .strictObject({
      output: z.string(),
      index: z.array(z.int()),
      got: numberOrNaN,
      want: numberOrNaN,
      tolerance: numberOrNaN,
      wrongCount: count,
      elementCount: count,
    })
    .optional(),
  worstErrorRatio: numberOrNaN.optional(),
  rmsErrorRatio: numberOrNaN.optional(),
});

const coverage = z
  .strictObject({
    checkShapes: count.describe("How many of the problem's check shapes the kernel takes."),
    excludedShapes: z.array(dimensionsSchema).describe('Check shapes that its limits or constraints turn away.'),
    drawnShapes: z.array(dimensionsSchema).describe('Shapes that the seed chose.'),
    generatorSets: z.array(z.string()).describe('Those that the timed workload was run with, beside its own inputs.'),
    leftOut: z.array(
      z.strictObject({
        check: z.string(),
        reason: z.string(),
        code: z.string().describe('Of the error that kept the check from being run.').optional(),
      }),
    ),
    fixedDimensions: z.array(z.string()).describe('Dimensions that no verified shape has another value of.'),
    timedShapeOnly: z.boolean().describe('Verified at no other shape than the timed one.'),
    compared: comparedSizesSchema.describe('Where results were compared with the reference, and right.').optional(),
  })
  .meta({ id: 'Coverage' });

const finding = z.strictObject({
  id: z.string(),
  title: z.string(),
  estimatedSpeedup: z.number().describe('Old time ÷ new time if the defect vanished. An estimate.'),
  arithmetic: z.string(),
  evidence: z.array(
    z.strictObject({
      counter: z.string(),
      value: z.number(),
      unit: z.string().optional(),
      threshold: z.number(),
      comparison: z.enum(['above', 'below']),
      where: z.string().optional(),
    }),
  ),
  advice: z.string(),
});

const fault = z.strictObject({
  functionName: z.string(),
  cta: dim3.optional(),
  thread: dim3.optional(),
  address: z.string().optional(),
  accessBytes: count.optional(),
  buffer: z.strictObject({ name: z.string(), offsetBytes: z.number(), sizeBytes: count }).optional(),
  source: sourceLocation.optional(),
  instruction: z.string().optional(),
  ptxLine: z.int().optional(),
});

const journalMarkSchema = z
  .union([
    z.strictObject({ attempt: z.string(), parent: z.string().nullable() }),
    z.strictObject({ notKept: z.string().describe('Why not.') }),
  ])
  .describe('Where it stands in the journal: see `warpsmith log`.');

/** Schema of what `evaluate --json` prints. */
export const evaluationSchema = z.strictObject({
  schemaVersion: z.literal(1),
  kind: z.literal('evaluate').describe('Of the document that evaluate prints.').optional(),
  id: z.string(),
  candidate: z.strictObject({
    id: z.string(),
    kernel: z.string(),
    folder: z.string(),
    parameters: z.record(z.string(), z.number()),
  }),
  problem: z
    .strictObject({ name: z.string(), folder: z.string(), elsewhere: z.boolean() })
    .describe('Whose reference and checks judged; whether the kernel lies elsewhere than in its ladder.')
    .optional(),
  journal: journalMarkSchema.optional(),
  device: z.strictObject({
    id: z.string(),
    kind: z.enum(['virtual', 'cuda']),
    name: z.string(),
    uuid: z.string().optional(),
    driver: z.string().optional(),
  }),
  workload: z.strictObject({ name: z.string(), dimensions: dimensionsSchema }),
  seed: z.int().nonnegative().describe('Seeded inputs, orders and drawn shapes.').optional(),
  status: z.enum(EVALUATION_STATUSES),
  reason: z.string().optional(),
  failedCheck: z.string().optional(),
  fault: fault.optional(),
  error: z
    .strictObject({
      code: z.string(),
      message: z.string(),
      file: z.string().optional(),
      path: z.string().optional(),
      received: z.string().optional(),
      expected: z.string().optional(),
      hint: z.string().optional(),
    })
    .describe('The mistake in kernel.json that made the candidate invalid.')
    .optional(),
  diagnostics: z
    .array(
      z.strictObject({
        severity: z.enum(['error', 'warning', 'note']),
        message: z.string(),
        location: sourceLocation.optional(),
      }),
    )
    .optional(),
  timing: timing.optional(),
  correctness: correctness.optional(),
  coverage: coverage.describe('The shapes and inputs that it was verified on.').optional(),
  counters: counters.optional(),
  countersSource: countersSourceSchema.optional(),
  profile: profileSchema.optional(),
  sanitizer: sanitizerSchema.optional(),
  comparisons: z.array(comparisonSchema).describe('Comparisons with its baselines.').optional(),
  baselines: z.array(baseline).describe('The baselines measured in the same blocks.').optional(),
  missingBaselines: z.array(z.strictObject({ name: z.string(), reason: z.string() })).optional(),
  findings: z.array(finding),
  hiddenFindings: z
    .array(finding)
    .describe('Beyond their threshold, and worth nothing as long as something else binds.')
    .optional(),
  repeated: z
    .strictObject({
      evaluatedAt: z.string().describe('ISO 8601.'),
      elapsedMs: count.describe('How long it took then.'),
    })
    .describe('Not evaluated now: what a virtual device found when exactly the same was evaluated.')
    .optional(),
  artifacts: z
    .strictObject({
      ptx: z.string().describe('Content hash of the PTX.').optional(),
      sass: z.string().describe('Content hash of the machine code as text.').optional(),
      notes: z.array(z.string()).describe('Why something is missing.').optional(),
    })
    .describe('The kept code.')
    .optional(),
  elapsedMs: z.strictObject({ compile: count, verify: count, time: count, total: count }),
});

export type EvaluationSchemaMatchesContract = Assert<Matches<z.infer<typeof evaluationSchema>, Evaluation>>;
