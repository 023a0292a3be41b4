import { z } from 'zod';
import { artifactsSchema, type KeepRequest } from './artifacts.ts';
import { comparedSizesSchema } from './compared-sizes.ts';
import { diagnosticSchema, sourceLocation } from './compiled-code.ts';
import { countersSchema } from './counters.ts';
import { deviceIdentitySchema } from './device.ts';
import { faultSchema, placedWriteSchema } from './device-values.ts';
import { DTYPES } from './dtype.ts';
import { energySchema } from './energy.ts';
import type { ErrorDetails } from './errors.ts';
import { findingSchema } from './finding.ts';
import type { Candidate } from './kernel.ts';
import { comparisonSchema, measurementSchema, type Tier } from './measurement.ts';
import { printedSchema } from './printed.ts';
import type { Problem, Workload } from './problem.ts';
import { countersSourceSchema, type ProfileLevel, profileSchema, sanitizerSchema } from './profile.ts';
import { count, dimensionsSchema, numberOrNaN } from './schemas/common-schema.ts';
import { EVALUATION_STATUSES, type FailureStatus } from './status.ts';
import type { Suite } from './suites.ts';
import { type Timing, timingSchema } from './timing.ts';

const element = {
  output: z.string(),
  index: z.array(z.int()).describe('Multi-index, outermost first.'),
  got: numberOrNaN,
  want: numberOrNaN,
};

const wrongElement = z.strictObject({
  ...element,
  tolerance: numberOrNaN,
  wrongCount: count,
  elementCount: count,
  where: z
    .string()
    .describe('Where the wrong ones lie, in words. Absent for one, and where only rows were compared.')
    .optional(),
});

const writer = z.strictObject({
  output: z.string(),
  index: z.array(z.int()).describe('Multi-index, outermost first.'),
  count: count.describe('Stores, memsets and copies that wrote to it; 0: it was never written.'),
  last: placedWriteSchema.optional(),
  earlier: placedWriteSchema.describe('The last one before it that another thread made.').optional(),
});

/** Who wrote the first wrong element. */
export type Writer = z.infer<typeof writer>;

/** The first element that failed, and how many did. */
export type WrongElement = z.infer<typeof wrongElement>;

const comparedElement = z.strictObject({
  ...element,
  error: numberOrNaN.describe('|got − want|.'),
  tolerance: numberOrNaN.describe('Largest error allowed at this element.'),
});

/** One element of an output and its wanted value. */
export type ComparedElement = z.infer<typeof comparedElement>;

const correctness = z.strictObject({
  maxAbsoluteError: z
    .number()
    .nullable()
    .describe('Largest |output − oracle| over all checks; null when an output was not a number.'),
  tolerance: numberOrNaN.describe('At the element with the largest error ÷ tolerance.'),
  nearest: comparedElement
    .describe('The element that came nearest to its tolerance, or went furthest over it. Absent if all are exact.')
    .optional(),
  checksRun: count.describe('Launch sequences whose every output was compared.'),
  firstWrong: wrongElement.optional(),
  worstErrorRatio: numberOrNaN.describe('Largest |error| ÷ tolerance. Passes if ≤ 1.').optional(),
  rmsErrorRatio: numberOrNaN
    .describe('Largest RMS error of an output ÷ its limit; 0 if the comparison sets none. Passes if ≤ 1.')
    .optional(),
});

export interface Correctness extends z.infer<typeof correctness> {}

const oneWayCondition = z
  .strictObject({
    place: sourceLocation,
    text: z.string().describe('The source line, or the part of it around the condition.'),
    isNear: z.boolean().describe('The compiler moved it: it belongs to this line or one near it.').optional(),
    kind: z
      .enum(['comparison', 'bound', 'combination'])
      .describe(
        'bound: a minimum or maximum with a constant, true where the constant is the result; combination: && or ||.',
      ),
    constant: z.number().describe('That it compares with, if the compiled code has one.').optional(),
    isOfValues: z.boolean().describe('It depends on values that the kernel loads.').optional(),
    isOfChance: z.boolean().describe('It depends on a clock, or on the number of an SM or a warp slot.').optional(),
    isOfLaunch: z
      .boolean()
      .describe('It follows from sizes, other arguments and the place of a thread alone.')
      .optional(),
    isOfInfinity: z
      .boolean()
      .describe('It asks whether a value is infinite, which no value of the problem’s inputs is.')
      .optional(),
    isLoopTest: z.boolean().describe('It asks whether a loop has another round.').optional(),
    was: z
      .enum(['never-true', 'never-false', 'never-reached', 'one-way'])
      .describe('one-way: the compiled code does not tell which of both.'),
  })
  .meta({ id: 'OneWayCondition' });

/** A condition that went one way in every check, so that what it guards was not verified. */
export type OneWayCondition = z.infer<typeof oneWayCondition>;

const constantResult = z
  .strictObject({
    place: sourceLocation,
    text: z.string().describe('The source line, or the part of it around the result.'),
    always: z.string().describe('The number in every check, hexadecimal.'),
  })
  .meta({ id: 'ConstantResult' });

/** A whole number that a kernel computes of loaded values and that was the same in every check: a condition may be hidden in it. */
export type ConstantResult = z.infer<typeof constantResult>;

const unreachedWidth = z
  .strictObject({
    place: sourceLocation,
    text: z.string().describe('The source line, or the part of it around the operation.'),
    holds: z.string().describe('What ends, such as: whole numbers of 32 bits.'),
    product: z.string().describe('Of the sizes that the number follows, and flags with which it does.'),
    from: z.number().describe('About the least product with which it ends.'),
  })
  .meta({ id: 'UnreachedWidth' });

/** Where whole numbers end, in a kernel's own code, at sizes that no check has. */
export type UnreachedWidth = z.infer<typeof unreachedWidth>;

const launchChoice = z
  .strictObject({
    path: z.string().describe('Of the expression, such as steps[0].grid[0].'),
    text: z.string().describe('The condition, minimum or maximum in it.'),
    never: z
      .string()
      .describe('What it never was: true, false, or the argument of a minimum or maximum that was never its value.'),
  })
  .meta({ id: 'LaunchChoice' });

/** A condition, minimum or maximum in an expression of kernel.json that came out one way in every check. */
export type LaunchChoice = z.infer<typeof launchChoice>;

const conditionCoverage = z.strictObject({
  count: count.describe(
    'Comparisons, their combinations, and minima and maxima with a constant, in the kernel’s own files.',
  ),
  libraryDecisions: count.describe('Decisions of the compiled code that lie in library functions: left out.'),
  oneWay: z.array(oneWayCondition),
  ofLaunches: z
    .array(launchChoice)
    .describe('Conditions, minima and maxima in expressions of kernel.json that came out one way in every check.')
    .optional(),
  seenOn: z.string().describe('Real GPUs: the virtual one on which they were seen.').optional(),
  constantResults: z
    .array(constantResult)
    .describe(
      'Thorough verifications: whole numbers computed of values loaded from device memory that were the same for all threads and inputs looked at.',
    )
    .optional(),
});

/** The conditions of the kernel’s source, over all threads of all checks. */
export type ConditionCoverage = z.infer<typeof conditionCoverage>;

const coverage = z
  .strictObject({
    checkShapes: count.describe('How many of the problem’s check shapes the kernel takes.'),
    excludedShapes: z.array(dimensionsSchema).describe('Check shapes that its limits or constraints turn away.'),
    drawnShapes: z.array(dimensionsSchema).describe('Shapes that the seed chose, within the kernel’s limits.'),
    generatorSets: z.array(z.string()).describe('Those that the timed workload was run with, beside its own inputs.'),
    leftOut: z
      .array(
        z.strictObject({
          check: z.string(),
          reason: z.string(),
          code: z
            .string()
            .describe(
              'Of the error that kept the check from being run; never-ran: a step whose `when` was 0; not-watched: a virtual GPU does not run the kernel, so that nobody saw its conditions.',
            )
            .optional(),
        }),
      )
      .describe('Checks that did not run.'),
    fixedDimensions: z
      .array(z.string())
      .describe('Dimensions that no verified shape has another value of, although the problem allows others.'),
    reference: z
      .literal('original')
      .describe('Results were compared with another kernel’s: they are the same as its, no more is known.')
      .optional(),
    suites: z
      .array(z.strictObject({ name: z.string(), shapes: count.describe('How many of its shapes the kernel takes.') }))
      .describe('Suites of shapes that were verified, too.')
      .optional(),
    sampledCtas: z
      .strictObject({
        run: count.describe('CTAs that ran, of all launches together.'),
        of: count,
        comparedElements: count.describe(
          'Output elements, of those that these CTAs wrote, that were compared with the reference and right.',
        ),
      })
      .describe(
        'Virtual devices, `--sample-ctas`: only so many CTAs of the timed workload ran. Counters are scaled up from them, and nothing is verified at its size.',
      )
      .optional(),
    sampledShapes: z
      .array(dimensionsSchema)
      .describe(
        'Virtual devices: of shapes so large only some CTAs ran, and what they wrote was right. No results are claimed there.',
      )
      .optional(),
    unreachedWidths: z
      .array(unreachedWidth)
      .describe('Virtual devices, thorough: where whole numbers of the kernel end at sizes that no check reached.')
      .optional(),
    timedShapeOnly: z.boolean().describe('Verified at no other shape than the timed one: nothing is known of others.'),
    compared: comparedSizesSchema
      .describe('Where results were compared and right. Absent in evaluations of older versions and after quick looks.')
      .optional(),
    conditions: conditionCoverage.describe('Which ways the kernel’s conditions went, on a virtual device.').optional(),
  })
  .meta({ id: 'Coverage' });

/** The shapes and inputs on which a candidate was verified, besides the timed workload's own inputs. */
export interface Coverage extends z.infer<typeof coverage> {}

const baseline = z
  .strictObject({
    name: z.string(),
    kind: z.enum(['library', 'kernel']).describe('library: by the Python worker; kernel: another candidate.'),
    measurement: measurementSchema,
    versions: z.record(z.string(), z.string()).readonly().describe('Of libraries, e.g. torch and cuDNN.').optional(),
    gpuKernels: z.array(z.string()).describe('GPU kernels that really ran.').optional(),
  })
  .meta({ id: 'BaselineMeasurement' });

/** A baseline as measured beside a candidate. */
export interface BaselineMeasurement extends z.infer<typeof baseline> {}

const judgingProblem = z
  .strictObject({ name: z.string(), folder: z.string(), elsewhere: z.boolean() })
  .describe('Whose reference and checks judged; whether the kernel lies elsewhere than in its ladder.');

/** The problem that judged a kernel; only from commands that judge a folder. */
export type JudgingProblem = z.infer<typeof judgingProblem>;

const journalMark = z
  .union([
    z.strictObject({ attempt: z.string(), parent: z.string().nullable() }),
    z.strictObject({ notKept: z.string().describe('Why not.') }),
  ])
  .describe('Where it stands in the journal: see `warpsmith log`.');

/** The attempt's place in the store's journal, or why it has none. */
export type JournalMark = z.infer<typeof journalMark>;

const dtypeVerdict = z
  .strictObject({
    dtype: z.enum(DTYPES),
    status: z.enum(EVALUATION_STATUSES),
    reason: z.string().optional(),
    failedCheck: z.string().optional(),
  })
  .meta({ id: 'DTypeVerdict' });

/** What came of a kernel in another dtype than the one that the evaluation tells of. */
export type DTypeVerdict = z.infer<typeof dtypeVerdict>;

const errorDetails: z.ZodType<ErrorDetails> = z.strictObject({
  code: z.string(),
  message: z.string(),
  file: z.string().optional(),
  path: z.string().optional(),
  received: z.string().optional(),
  expected: z.string().optional(),
  hint: z.string().optional(),
});

/** Schema of what `evaluate --json` prints. */
export const evaluationSchema = z.strictObject({
  schemaVersion: z.literal(1),
  kind: z.literal('evaluate').describe('Of the document that evaluate prints.').optional(),
  id: z.string().describe('`e1`, `e2`, … within a run; `e0` for a lone evaluation.'),
  candidate: z.strictObject({
    id: z.string(),
    kernel: z.string(),
    folder: z.string(),
    parameters: z.record(z.string(), z.number()),
  }),
  problem: judgingProblem.optional(),
  journal: journalMark.optional(),
  device: deviceIdentitySchema,
  workload: z.strictObject({ name: z.string(), dimensions: dimensionsSchema }),
  seed: z
    .int()
    .nonnegative()
    .describe('Seeded inputs, orders and drawn shapes. Absent in evaluations of older versions.')
    .optional(),
  status: z.enum(EVALUATION_STATUSES),
  reason: z.string().describe('Why the status is not passed: what, where, how many.').optional(),
  failedCheck: z.string().describe('Which check found it: shape, generator set, poison, order.').optional(),
  fault: faultSchema.optional(),
  printed: printedSchema
    .describe(
      'Virtual devices: what the kernels printed in the counted run, or in the first run of the check that failed.',
    )
    .optional(),
  writer: writer
    .describe('Virtual devices, status wrong: who wrote the first wrong element, in a further run of the check.')
    .optional(),
  otherDtypes: z
    .array(dtypeVerdict)
    .describe(
      'Without --dtype: verdicts in the other dtypes that the kernel takes. The status is passed only if all passed; invalid and unsupported: it does not take that dtype with these parameters.',
    )
    .optional(),
  error: errorDetails.describe('The mistake in kernel.json that made the candidate invalid.').optional(),
  diagnostics: z.array(diagnosticSchema).optional(),
  timing: timingSchema.optional(),
  correctness: correctness.optional(),
  coverage: coverage
    .describe('The shapes and inputs that it was verified on. Absent where verification did not begin.')
    .optional(),
  counters: countersSchema.optional(),
  countersSource: countersSourceSchema.describe('Real GPUs: where `counters` were counted.').optional(),
  profile: profileSchema.optional(),
  sanitizer: sanitizerSchema.optional(),
  comparisons: z
    .array(comparisonSchema)
    .describe('Comparisons with its baselines, measured in the same blocks.')
    .optional(),
  baselines: z
    .array(baseline)
    .describe('The baselines measured in the same blocks; the candidate’s own measurement is in `timing`.')
    .optional(),
  missingBaselines: z
    .array(z.strictObject({ name: z.string(), reason: z.string() }))
    .describe('Baselines asked for that could not be measured, and why.')
    .optional(),
  energy: energySchema.describe('Real GPUs, if asked for. Never part of a verdict on times.').optional(),
  findings: z.array(findingSchema),
  hiddenFindings: z
    .array(findingSchema)
    .describe('Beyond their threshold, and worth nothing as long as something else binds.')
    .optional(),
  repeated: z
    .strictObject({
      evaluatedAt: z.string().describe('ISO 8601.'),
      elapsedMs: count.describe('How long it took then.'),
    })
    .describe('Not evaluated now: what a virtual device found when exactly the same was evaluated.')
    .optional(),
  artifacts: artifactsSchema.optional(),
  elapsedMs: z
    .strictObject({ compile: count, verify: count, time: count, total: count })
    .describe('Wall time spent, by phase.'),
});

/** One candidate judged on one workload and device. Plain JSON: what `evaluate --json` prints. */
export interface Evaluation extends z.infer<typeof evaluationSchema> {}

/** `failedCheck` of a candidate that was right when verified. */
export const WHILE_TIMED = 'while it was timed';

/**
 * Whether it was right when verified, and wrong or unsafe when timed: a kernel that distinguishes the two, or is right by
 * chance.
 */
export const isWrongWhenTimed = ({ status, failedCheck }: Pick<Evaluation, 'status' | 'failedCheck'>): boolean =>
  (status === 'wrong' || status === 'unsafe') && failedCheck === WHILE_TIMED;

/** What is being done of an evaluation. */
export type EvaluationStage =
  | { readonly stage: 'compile' }
  /** The `index`-th of `count` checks. One more check may be added later. */
  | { readonly stage: 'verify'; readonly check: string; readonly index: number; readonly count: number }
  | { readonly stage: 'time'; readonly kind: 'measured' | 'predicted' };

export interface EvaluationRequest {
  problem: Problem;
  candidate: Candidate;
  workload: Workload;
  /** Seeds inputs, orders, poisons and drawn shapes. It never reaches a kernel. */
  seed: number;
  /** Virtual devices: only two checks, then counters and a prediction. The result is at best `unverified`. */
  quick?: boolean;
  /**
   * Virtual devices: of the workload itself only about so many CTAs are run, for counters and a prediction; smaller shapes are verified.
   * The result is at best `unverified`.
   */
  sampleCtas?: number;
  /** Verify as a winner: on more drawn shapes, with every generator set. */
  thorough?: boolean;
  /** Also at some shapes as large as users' own, which takes seconds each; of a thorough verification. */
  large?: boolean;
  /** Real GPUs: also verify thoroughly on a virtual GPU with the same spec, which sees the ways that conditions go. */
  watched?: boolean;
  /** Shapes to verify beside the problem's own checks, once each. */
  suites?: readonly Suite[];
  id?: string;
  signal?: AbortSignal;
  /**
   * The result of an earlier run in which the candidate passed on this workload. It is then counted, not compared again. A
   * real GPU also needs its time, and profiles instead of measuring.
   */
  passedBefore?: { correctness: Correctness; coverage: Coverage; timing?: Timing };
  /** Real GPUs: how long to measure; `screen` when absent. */
  tier?: Tier;
  /** Real GPUs: a fixed number of blocks, for a confirmation. */
  blocks?: number;
  /** Real GPUs: candidates to measure in the same blocks. They must have passed before. */
  against?: readonly { name: string; candidate: Candidate }[];
  /** Real GPUs: library baselines to measure in the same blocks, by their names in baseline.py. */
  libraryBaselines?: readonly string[];
  /** Real GPUs: also profile, unless the candidate is not faster than a kernel in `against`; `none` by default. */
  profile?: ProfileLevel | 'none';
  /** Real GPUs: run the sanitizer as well. */
  sanitize?: boolean;
  /** Real GPUs: also measure energy, of the candidate and of the kernels in `against`. */
  energy?: boolean;
  /** Real GPUs, with `energy`: what needs less energy than every kernel in `against` deserves a profile, though it is not faster. */
  minimised?: 'energy';
  /** Keep the code and the profiler's report. Never changes a result. */
  keep?: KeepRequest;
  /** Told before each stage. Never changes a result. */
  onStage?: (stage: EvaluationStage) => void;
}

/**
 * A time of a candidate that nobody has verified: enough to rule it out beside a much quicker one, and never a result.
 */
export type RoughTime =
  | { readonly ok: true; readonly ns: number }
  | { readonly ok: false; readonly status: FailureStatus; readonly reason: string };

/** Seam 2: judges candidates. Its promise rejects only if aborted or misused, never because of a candidate. */
export interface Evaluator {
  /** May be called while it works on another request. */
  evaluate(request: EvaluationRequest): Promise<Evaluation>;
  /**
   * A rough time after a few runs. Absent where nothing can be run. Its promise rejects only if aborted or misused.
   */
  estimate?(request: EvaluationRequest): Promise<RoughTime>;
  /** How many requests it works on at a time, which may change; 1 when absent. More of them wait. */
  readonly capacity?: number;
  /** Tells whenever `capacity` has grown, until the returned function is called. Absent where it never does. */
  onCapacity?(listener: () => void): () => void;
  /**
   * The first request takes one worker. Lets the others judge this one, for nothing: then they have loaded what they need and know what
   * the checks expect. Never changes a result, never fails. Absent where there is one worker.
   */
  rehearse?(request: EvaluationRequest): void;
  /** Starts work ahead (compiling) for candidates that may be requested soon. Never changes a result, never fails. */
  prepare?(candidates: readonly Candidate[]): void;
  close(): Promise<void>;
}
