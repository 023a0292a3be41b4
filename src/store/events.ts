import { z } from 'zod';
import { DTYPES } from '../core/dtype.ts';
import { ENERGY_VERDICTS } from '../core/energy.ts';
import { type Evaluation, evaluationSchema } from '../core/evaluation.ts';
import { sanitizerSchema } from '../core/profile.ts';
import type { LoggedOf } from '../core/requests/request.ts';
import type { Roofline } from '../core/roofline.ts';
import { MINIMISED, VERDICTS } from '../core/vocabulary.ts';

/*
 * Everything that happens in a run, as its log holds it. Objects may have further fields: later versions may add some.
 */

/** Version of the event records; a reader refuses a newer one. */
export const EVENT_SCHEMA_VERSION = 2;

/** Why a run ended. */
export const STOP_REASONS = [
  'goal-reached',
  'near-attainable',
  'no-gain',
  'evaluations-spent',
  'time-spent',
  'gpu-time-spent',
  'money-spent',
  'tokens-spent',
  'cost-spent',
  'no-moves-left',
  'space-exhausted',
  'author-stuck',
  'author-failed',
  'author-caught',
  'interrupted',
  'start-failed',
  'device-failed',
  'goal-refused',
  'failed',
] as const;
export type StopReason = (typeof STOP_REASONS)[number];

/** What an author is shown: only the kernel; its findings, too; other good kernels and all that was tried, too. */
export const AUTHOR_MODES = ['free', 'insight', 'full'] as const;
export type AuthorMode = (typeof AUTHOR_MODES)[number];

/** How it shows that an author gets no further. */
export const AUTHOR_SIGNALS = ['no-gain', 'near-duplicates', 'wrong-predictions'] as const;
export type AuthorSignal = (typeof AUTHOR_SIGNALS)[number];

/** What is tried then, in this order. */
export const AUTHOR_STEPS = ['other-finding', 'other-parent', 'other-mode', 'fresh-context', 'stop'] as const;
export type AuthorStep = (typeof AUTHOR_STEPS)[number];

/** How a variation step of an agent process ends. */
export const AUTHOR_STEP_ENDS = [
  'exited',
  'killed',
  'not-started',
  'time-spent',
  'evaluations-spent',
  'redirected',
  'caught',
  'search-ended',
] as const;
export type AuthorStepEnd = (typeof AUTHOR_STEP_ENDS)[number];

const text = z.string();
const number = z.number();
const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable();
const values = z.record(text, number) as unknown as z.ZodType<Readonly<Record<string, number>>>;
const texts = z.record(text, text) as unknown as z.ZodType<Readonly<Record<string, string>>>;
/** 95 %, of a ratio. */
const interval = z.tuple([number, number]) as unknown as z.ZodType<readonly [low: number, high: number]>;
const verdict = z.enum(VERDICTS);
/** Joules of what a candidate is compared with ÷ its own, from windows of the same blocks: above 1 it needs less. */
const energyRatio = z.object({ ratio: number, verdict: z.enum(ENERGY_VERDICTS), intervalRatio: interval }).optional();
const timeKind = z.enum(['measured', 'predicted']);

const candidate = z.object({
  /** Content hash of the candidate. */
  id: text,
  /** Name of the kernel, e.g. `03_rows`. */
  kernel: text,
  parameters: values,
});

/** A kernel with parameter values, as events name it. */
export type CandidateReference = z.infer<typeof candidate>;

const tokenUsage = z.object({
  /** All that were sent; those that a cache held or took are counted again in the next two. */
  input: number,
  cacheRead: number,
  cacheWrite: number,
  output: number,
  /** At least one request was counted from its characters, because the endpoint did not say. */
  isEstimate: z.boolean(),
});

/** Tokens of requests to a language model. */
export type Tokens = z.infer<typeof tokenUsage>;

const goal = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('speed-up'), ratio: number, text }),
  z.object({ kind: z.literal('time'), ns: number, text }),
]);

/** What a run was asked to reach. */
export type Goal = z.infer<typeof goal>;

const parameterChange = { parameter: text, from: number, to: number };
const move = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('parameter'), kernel: text, ...parameterChange }),
  z.object({ kind: z.literal('parameters'), kernel: text, changes: z.array(z.object(parameterChange)) }),
  z.object({ kind: z.literal('rung'), from: text, to: text }),
  z.object({ kind: z.literal('configuration'), kernel: text, parameters: values }),
  z.object({
    kind: z.literal('written'),
    /** Candidate that it was made from, and what it changed there. */
    parent: candidate,
    kernel: text,
    files: z.array(z.object({ file: text, addedLines: number, removedLines: number })),
    /** Who wrote it, e.g. `anthropic:NAME`. */
    author: text,
    mode: z.enum(AUTHOR_MODES),
    hypothesis: text,
    /** At most two, in the author's words. */
    levers: z.array(text),
    /** Parent's time ÷ its time, as the author hopes. Never evidence. */
    predictedRatio: orNull(number),
    /** Of all requests that it took, repairs included. */
    cost: z.object({
      requests: number,
      tokens: tokenUsage,
      money: orNull(number),
      /** Wall time of an agent process, whose tokens nobody counts. */
      seconds: number.optional(),
    }),
  }),
]);

/**
 * The change of an iteration. `parameter` and `rung` change one thing of the best candidate so far. `configuration` is the
 * request of a blind strategy: any setting of any rung. `written` is a kernel that somebody wrote during the run.
 */
export type MoveRecord = z.infer<typeof move>;

const allowance = z.object({ confirmation: number, ablation: number, advice: number });

/** Evaluations of what follows a search. */
export type Allowance = z.infer<typeof allowance>;

const budgets = z.object({
  /** Of the whole run, advice included. */
  maximumEvaluations: orNull(number),
  /** Evaluations reserved for the time after the search; `null`: the optimizer decides. */
  allowance: orNull(allowance),
  /** Wall time. */
  maximumMinutes: orNull(number),
  /** Time during which the run's evaluations held the GPU: everything except compiling, host work included. */
  maximumGpuMinutes: orNull(number),
  /** In the currency of `gpuPricePerHour`. */
  maximumMoney: orNull(number),
  /** Price of an hour of the GPU. `null`: no price was given, so money is neither counted nor limited. */
  gpuPricePerHour: orNull(number),
  /** Where the price comes from, in words, unless the user gave it. */
  gpuPriceSource: text.optional(),
});

/** What a run may spend. `null` means no limit. */
export type Budgets = z.infer<typeof budgets>;

/** The search may use all there is. */
export const NOTHING_KEPT: Allowance = { confirmation: 0, ablation: 0, advice: 0 };

/** No limit and no price. */
export const UNLIMITED: Budgets = {
  maximumEvaluations: null,
  allowance: null,
  maximumMinutes: null,
  maximumGpuMinutes: null,
  maximumMoney: null,
  gpuPricePerHour: null,
};

const workload = z.object({ name: text, dimensions: values, cache: z.enum(['hot', 'cold']) });
const weightedWorkload = workload.extend({
  /** Weights need not sum to 1. */
  weight: number.positive(),
});

/** A workload of the run, with its weight in the objective. */
export type WeightedWorkload = z.infer<typeof weightedWorkload>;

const patternPrior = z.object({
  pattern: text,
  /** Evaluated moves of this pattern, and how many of them were kept. */
  attempts: number,
  kept: number,
  /** Geometric mean of old time ÷ new time over the kept moves; 1 if none was kept. */
  realisedGain: number,
  /** The narrowest scope with evidence: same problem and device, same device, or anywhere. */
  scope: z.enum(['problem-and-device', 'device', 'all']),
});

/** The results of a pattern in earlier runs of the same store: the prior for this run's ranking. */
export type PatternPrior = z.infer<typeof patternPrior>;

const kernelCost = z.object({
  kernel: text,
  compileMs: number,
  /** Verifying and timing. */
  runMs: number,
});

/** Cost of evaluating a kernel's candidates in earlier runs on this device: medians, in ms. */
export type KernelCost = z.infer<typeof kernelCost>;

const lesson = z.object({
  finding: text,
  /** A pattern, or `written` for what authors wrote. */
  pattern: text,
  /** Name of the device. */
  device: text,
  attempts: number,
  kept: number,
  /** Geometric mean of old time ÷ new time over what was kept; 1 if nothing was. */
  realisedGain: number,
  /** Of what authors wrote: what gained most, in their words, and where the evidence is, e.g. `2026-…/e12`. */
  best: z.object({ hypothesis: text, ratio: number, evidence: text }).optional(),
});

/** What came of working on a finding in one way, on one device. */
export type Lesson = z.infer<typeof lesson>;

const spending = z.object({
  evaluations: number,
  /** Wall time. */
  seconds: number,
  gpuSeconds: number,
  /** For GPU time; 0 without a price. */
  money: number,
  tokens: number,
  /** For tokens; 0 without a price. */
  tokenMoney: number,
});

/** What a pull of an arm used, by budget. */
export type Spending = z.infer<typeof spending>;

/** ln: a turn that more than doubles the speed counts as one that doubles it. Such leaps do not come twice. */
export const MOST_TURN_GAIN = Math.log(2);

const armPrior = z.object({
  arm: text,
  /** In earlier runs of the same problem on the same device. */
  turns: number,
  /** Means over them. A gain is ln(old time ÷ new time), at most ln 2. */
  gain: number,
  used: spending,
});

/** What came of one of those who share runs, in earlier ones. */
export type ArmPrior = z.infer<typeof armPrior>;

const knownSettings = z.object({
  kernel: text,
  /** Names of the parameters of `rows`. */
  parameters: z.array(text),
  /** The parameters' values, then the time ÷ the shortest time that is known, `null` for a setting that failed. */
  rows: z.array(z.array(orNull(number))),
});

const knownTimes = z.object({
  /** A run's id, a file's name, or the id of the virtual device that predicted them. */
  source: text,
  kind: z.enum(['run', 'recording', 'tuning-results', 'predictions']),
  /** Where they were measured or predicted; `null` where a file does not say. */
  device: orNull(text),
  workload: orNull(text),
  kernels: z.array(knownSettings),
});

/** Times of settings of a run's kernels, from another device or workload: what a search knows before it begins. */
export type KnownTimes = z.infer<typeof knownTimes>;

const priors = z.object({
  patterns: z.array(patternPrior),
  costs: z.array(kernelCost),
  /** The same by finding. Absent where there are none, and from logs of versions that did not look. */
  lessons: z.array(lesson).optional(),
  /** Authors whose kernels for this problem were right when verified and wrong when timed, and how many were. */
  caught: z.array(z.object({ author: text, count: number })).optional(),
  /** Of those who shared earlier runs. */
  arms: z.array(armPrior).optional(),
  /** What a search of settings begins with. Absent where nothing is known. */
  times: knownTimes.optional(),
});

/** What a run read from earlier runs at its start. Logged, so that a resumed run ranks like the first part. */
export type Priors = z.infer<typeof priors>;

/** Options that `resume` needs and that `run-started` does not hold elsewhere. */
export type RunRequest = LoggedOf<'optimize'> & {
  /** Absolute path of the problem or kernel folder. */
  target: string;
  /** Of a run on several GPUs, as they were named; `run-started` has the first. */
  devices?: string;
  /** Names the jobs of the run in its queue. */
  queueScope?: string;
  /** The seed was drawn, not given. Confirmations draw theirs, too. */
  seedDrawn?: boolean;
  /** SHA-256 of the files in the problem folder that decide what is right, by name. */
  problemFiles?: Readonly<Record<string, string>>;
};

/** Only what versions agree on; the options are those of the version that wrote the log. */
const request = z.looseObject({ target: text, problemFiles: texts.optional() }) as unknown as z.ZodType<RunRequest>;

const repository = z.object({
  /** HEAD. */
  commit: text,
  /** The folder's files are not those of `commit`. */
  isDirty: z.boolean(),
});

/** What git says of the folder that a run's files come from, when it begins. */
export type RepositoryState = z.infer<typeof repository>;

const pattern = z.object({ id: text, title: text });
const finding = z.object({ id: text, evaluationId: text });

const rankedOption = z.object({
  moveKey: text,
  pattern,
  finding,
  /** The change its next candidate would make. */
  move,
  /** Old time ÷ new time, ≥ 1: the pattern's expectation, combined with its results so far. */
  expectedGain: number,
  /** 0…1, weighed likewise. */
  confidence: number,
  /** Earlier moves of this pattern, in this run and in the prior. */
  evidence: z.object({ attempts: number, kept: number }),
  /** Expected evaluations until the decision, and compile time in units of an evaluation. */
  cost: z.object({ evaluations: number, compile: number }),
  /** (expectedGain − 1) × confidence ÷ (cost.evaluations + cost.compile); the table is sorted by it. */
  value: number,
  /** The arithmetic of `value` in numbers: `(1.40 − 1) × 0.50 ÷ (1 + 0.2) = 0.167`. */
  arithmetic: text,
  /** Evaluations that the move has used, and its failures since it last helped. */
  used: number,
  failures: number,
  state: z.enum(['next', 'open', 'abandoned']),
});

/** One line of the options table: an open move, or one that was given up, with the arithmetic of its rank. */
export type RankedOption = z.infer<typeof rankedOption>;

const workloadRatio = z.object({
  workload: text,
  weight: number.positive(),
  /** Evaluation of the candidate on this workload. */
  evaluationId: text,
  /** Time of the best so far ÷ time of this candidate; `null` if it has no valid time. */
  ratio: orNull(number),
  intervalRatio: interval.optional(),
  /** Of runs that minimise energy. */
  energy: energyRatio,
  /** More than 2 % slower, or more energy than that, or not passed. The whole candidate is reverted because of this. */
  vetoes: z.boolean(),
});

/** One workload's part of a decision. */
export type WorkloadRatio = z.infer<typeof workloadRatio>;

/** With several workloads, `ratio` is the weighted geometric mean of these. */
const perWorkload = z.array(workloadRatio).optional();

const ledger = z.object({
  compileMs: number,
  verifyMs: number,
  timeMs: number,
  /** Time during which evaluations held the GPU: everything except compiling, host work included; 0 on a virtual device. */
  gpuMs: number,
  /** gpuMs × price; `null` without a price. */
  money: orNull(number),
});

const armPull = z.object({
  arm: text,
  /** ln(start's time ÷ best's time after it) − the same before it. */
  gain: number,
  used: spending,
});

/** One turn of those among whom a run's moves are shared out, and what came of it. */
export type ArmPull = z.infer<typeof armPull>;

const armStanding = z.object({
  arm: text,
  pulls: number,
  /** Turns in earlier runs, of which two at most count, as if they stood before the first. */
  earlier: number.optional(),
  /** Discounted mean of the pulls' gains, each at most ln 2. */
  gain: number,
  /** Discounted mean share that a pull takes, of the budget of which it takes most; seconds where nothing is limited. */
  cost: number,
  /** How much higher gain ÷ cost may be, for all that is known. */
  bonus: number,
  /** gain ÷ cost + bonus: what all that is left would bring. `null` where nothing is known. */
  value: orNull(number),
});

/** What a choice among arms rests on. */
export type ArmStanding = z.infer<typeof armStanding>;

/** A run's expenses so far, by purpose. Wall times of the phases, in ms. */
export type Ledger = z.infer<typeof ledger>;

/** Wall times of evaluations, by phase, and how long they held the GPU. */
type PhaseTimes = Omit<Ledger, 'money'>;

export const NO_TIMES: Readonly<PhaseTimes> = { compileMs: 0, verifyMs: 0, timeMs: 0, gpuMs: 0 };

/** What an evaluation took beside what came before. All but compiling holds the GPU, profiling and sanitizing included. */
export const plusTimes = (sums: Readonly<PhaseTimes>, { elapsedMs, device }: Evaluation): PhaseTimes => ({
  compileMs: sums.compileMs + elapsedMs.compile,
  verifyMs: sums.verifyMs + elapsedMs.verify,
  timeMs: sums.timeMs + elapsedMs.time,
  gpuMs: sums.gpuMs + (device.kind === 'cuda' ? Math.max(0, elapsedMs.total - elapsedMs.compile) : 0),
});

/** The fields of every event, by its type. */
export const EVENT_SCHEMAS = {
  'run-started': z.object({
    /** `dtype` where the problem takes several. */
    problem: z.object({ name: text, folder: text, dtype: z.enum(DTYPES).optional() }),
    /** Of the problem's folder. Absent where no repository holds it, and from logs of versions that did not look. */
    repository: repository.optional(),
    start: candidate,
    /** The first of `workloads`, on which candidates are screened. */
    workload,
    /** All workloads of the objective: a weighted geometric mean of speed-ups. */
    workloads: z.array(weightedWorkload).min(1),
    device: z.object({ id: text, kind: z.enum(['virtual', 'cuda']), name: text }),
    seed: number,
    /** `guided`, or a strategy of search/. */
    strategy: text,
    /** What decides. Absent: time. */
    minimised: z.enum(MINIMISED).optional(),
    budgets,
    goal: orNull(goal),
    priors,
    request,
    /** For the first workload: its work and the device's rates, for reports. Absent if they are unknown. */
    roofline: (z.looseObject({}) as unknown as z.ZodType<Roofline>).optional(),
    environment: texts,
  }),

  /** A pattern proposed this move because of a finding of the current best. */
  'move-proposed': z.object({
    iteration: number,
    /** Key under which failures are counted: pattern × parameter or rung. */
    moveKey: text,
    pattern,
    finding: finding.extend({ estimatedSpeedup: number, evidence: text }),
    move,
    candidate,
    /** Old time ÷ new time the pattern expects. An estimate. */
    expectedGain: number,
    /** 0…1. */
    confidence: number,
    reason: text,
  }),

  'evaluation-finished': z.object({
    iteration: number,
    evaluation: evaluationSchema,
    /** Source file → SHA-256 of its text in the run's `objects/`. */
    sources: texts,
  }),

  decision: z.object({
    iteration: number,
    evaluationId: text,
    decision: z.enum(['keep', 'revert']),
    comparedWith: orNull(text),
    /** Time of the best so far ÷ time of this candidate; `null` if it has no valid time. */
    ratio: orNull(number),
    /** Measured only. */
    verdict: verdict.optional(),
    intervalRatio: interval.optional(),
    /** Of runs that minimise energy: what was decided by. Absent if the time alone ruled the candidate out. */
    energy: energyRatio,
    perWorkload,
    reason: text,
  }),

  /**
   * Measured runs: the winner against the start, on a fixed number of fresh blocks, and the sanitizer's result. If the winner
   * is refused, the previous best takes its place and is confirmed in turn.
   */
  confirmation: z.object({
    evaluationId: text,
    candidate,
    /** Start's time ÷ winner's time; `null` if times are predicted, or if the winner could not be measured again. */
    ratio: orNull(number),
    /** The winner's time in the confirmation; with several workloads, the weighted geometric mean. */
    medianNs: orNull(number),
    verdict: orNull(verdict),
    intervalRatio: orNull(interval),
    /** Of runs that minimise energy: what the outcome rests on. */
    energy: energyRatio,
    sanitizer: orNull(sanitizerSchema.shape.outcome),
    perWorkload,
    outcome: z.enum(['accepted', 'accepted, unsanitized', 'refused']),
    reason: text,
  }),

  'move-abandoned': z.object({
    iteration: number,
    moveKey: text,
    failureCount: number,
    /** The move failed three times since it last helped, or used twice its share of the evaluations. */
    why: z.enum(['failed', 'overspent']),
    reason: text,
  }),

  /** An author was asked for a kernel. What was sent and answered lies in the run's transcript, under the request's number. */
  'author-asked': z.object({
    /** Of the move that was looked for. */
    iteration: number,
    /** Counts from 1. */
    request: number,
    author: text,
    purpose: z.enum(['write', 'repair']),
    mode: z.enum(AUTHOR_MODES),
    /** Candidate that was to be changed. */
    parent: text,
    /** The finding of the parent that it was to work on; `none` without one. */
    finding: text,
    /** `candidate`: judged next. `refused`: what came was no candidate, and cost no evaluation. `failed`: nothing came. */
    outcome: z.enum(['candidate', 'refused', 'failed']),
    /** Why it was refused or failed. */
    code: orNull(text),
    reason: text,
    tokens: tokenUsage,
    /** `null` without a price. */
    money: orNull(number),
    /** Of the run so far. */
    tokensUsed: number,
    moneyUsed: orNull(number),
    /** Wall time since the agent process began or was told of its last kernel. Its tokens are not known. */
    seconds: number.optional(),
  }),

  /** An agent process began a variation step. */
  'author-step-began': z.object({
    iteration: number,
    /** Counts from 1. */
    step: number,
    /** e.g. `command: my-agent --quiet`. */
    author: text,
    /** Candidate that it is shown, and the finding that it is to work on. */
    parent: text,
    finding: text,
    mode: z.enum(AUTHOR_MODES),
    /** What keeps it from the rest of the machine: `bubblewrap`, or `not contained`. */
    containment: text,
    network: z.enum(['open', 'closed']),
    /** Its share. */
    evaluations: number,
    minutes: number,
    /** Names of the rungs that it sees beside the start. */
    rungs: z.array(text),
  }),

  /** How it ended. What it handed in lies in the run's transcript. */
  'author-step-ended': z.object({
    iteration: number,
    step: number,
    author: text,
    end: z.enum(AUTHOR_STEP_ENDS),
    /** The exit code, or what ended it. */
    detail: text,
    seconds: number,
    submissions: number,
    /** Processes that outlived it, and were ended. */
    survivors: number,
  }),

  /** The author got no further: it is asked for something else. The last step ends the search. */
  'author-redirected': z.object({
    iteration: number,
    signal: z.enum(AUTHOR_SIGNALS),
    step: z.enum(AUTHOR_STEPS),
    reason: text,
  }),

  /**
   * Where several propose moves: who is next. `patterns` acts on findings, `search` is a blind strategy, the others are
   * authors. Every choice is in the run's transcript, too.
   */
  'arm-chosen': z.object({
    /** Of the first move that is looked for. */
    iteration: number,
    arm: text,
    reason: text,
    /** Those that could be chosen, in the order that breaks ties. */
    arms: z.array(armStanding),
    /** What came of the choice before; `null` for the first. */
    last: orNull(armPull),
  }),

  /** One of them has no move, and why. `isForNow`: until there is a new best. */
  'arm-closed': z.object({
    iteration: number,
    arm: text,
    reason: z.enum(STOP_REASONS),
    detail: text,
    isForNow: z.boolean(),
  }),

  /** A pattern's recommendation that no listed move can carry out. */
  advice: z.object({ iteration: number, pattern, finding, text }),

  /** The options at one turn of a guided run. */
  'options-ranked': z.object({
    iteration: number,
    /** Remaining evaluations ÷ open moves; `null` if evaluations are not limited. */
    share: orNull(number),
    /** Open moves by descending value. `omitted` counts those that are not listed. */
    options: z.array(rankedOption),
    omitted: number,
  }),

  /**
   * The best candidate with one of its changes undone. It shows what that change is worth. Logged once the winner is known,
   * as far as the budget allows. `evaluationId` may be an earlier evaluation of the same candidate.
   */
  ablation: z.object({
    /** The best candidate's evaluation. */
    best: text,
    /** The undone change: the setting of the best, and the setting of the ablated candidate. */
    undone: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('parameter'), ...parameterChange }),
      z.object({ kind: z.literal('rung'), from: text, to: text }),
    ]),
    candidate,
    evaluationId: orNull(text),
    /** Time without the change ÷ time of the best: the gain of the change together with the others. `null` without a time. */
    ratio: orNull(number),
    intervalRatio: interval.optional(),
    /** Of runs that minimise energy: joules without the change ÷ the best's. */
    energy: z.object({ ratio: number, intervalRatio: interval }).optional(),
    /** Why there is no ratio: not evaluated, or judged invalid. */
    reason: text.optional(),
  }),

  /** How a kernel fills the device as a dimension grows. The work differs from row to row, so this is never a speed-up. */
  'workload-advice': z.object({
    /** The best candidate's id. */
    candidate: text,
    /** The dimensions that grow, e.g. `['B', 'H']`; rows hold their product. */
    dimensions: z.array(text),
    rows: z.array(
      z.object({
        /** Product of the grown dimensions. */
        product: number,
        workload: text,
        evaluationId: orNull(text),
        kind: timeKind,
        medianNs: orNull(number),
        attainableNs: orNull(number),
        /** attainableNs ÷ medianNs. */
        attainedRatio: orNull(number),
      }),
    ),
    /** Smallest product at which the attained ratio is within 5 % of the last row's; `null` if it still grows. */
    saturatedAt: orNull(number),
    /** `the workload under-fills the device: at B·H = 8 it reaches 12 % of attainable; at B·H ≥ 128 it reaches 61 %`. */
    text,
  }),

  budget: z.object({
    iteration: number,
    evaluationsUsed: number,
    /** Includes the reserve for the time after the search. */
    evaluationsLeft: orNull(number),
    minutesUsed: number,
    minutesLeft: orNull(number),
    ledger,
  }),

  /**
   * Why the search ended. Confirmation, ablation and advice follow. The search continues, and ends again, if the confirmation
   * revokes the reason, or if the best is faster without one of its changes.
   */
  'search-ended': z.object({ iteration: number, reason: z.enum(STOP_REASONS), detail: text }),

  /**
   * A run whose budget was spent continues with a larger one, in place of `run-started`'s. Stands where the search had ended;
   * the events after that point move to a file beside the log.
   */
  'budgets-extended': z.object({ iteration: number, budgets }),

  'run-finished': z.object({
    stopReason: z.enum(STOP_REASONS),
    detail: text,
    /** Evaluation id of the best candidate; `null` when nothing passed. */
    best: orNull(text),
    /** Start's time ÷ best's time; of measured runs, the confirmed ratio. */
    speedup: orNull(number),
  }),
} as const;

export type EventType = keyof typeof EVENT_SCHEMAS;

/** What an event of a type says. */
export type Said<T extends EventType> = z.infer<(typeof EVENT_SCHEMAS)[T]>;

type EventOf<T extends EventType> = T extends EventType ? { type: T } & Said<T> : never;

export type RunEvent = EventOf<EventType>;
export type RunStartedEvent = EventOf<'run-started'>;
export type MoveProposedEvent = EventOf<'move-proposed'>;
export type EvaluationFinishedEvent = EventOf<'evaluation-finished'>;
export type DecisionEvent = EventOf<'decision'>;
export type ConfirmationEvent = EventOf<'confirmation'>;
export type MoveAbandonedEvent = EventOf<'move-abandoned'>;
export type OptionsRankedEvent = EventOf<'options-ranked'>;
export type AuthorAskedEvent = EventOf<'author-asked'>;
export type AblationEvent = EventOf<'ablation'>;
export type WorkloadAdviceEvent = EventOf<'workload-advice'>;
export type BudgetEvent = EventOf<'budget'>;
export type RunFinishedEvent = EventOf<'run-finished'>;

type Recorded = RunEvent & {
  schemaVersion: typeof EVENT_SCHEMA_VERSION;
  /** Counts from 1 without gaps. */
  sequence: number;
  /** ISO 8601, UTC. */
  time: string;
};

/** An event as it lies in the log. */
export type RecordedEvent<T extends EventType = EventType> = Extract<Recorded, { type: T }>;

/** The events of one type, in the order they were logged. */
export const ofType = <T extends EventType>(events: readonly RecordedEvent[], type: T): RecordedEvent<T>[] =>
  events.filter((event): event is RecordedEvent<T> => event.type === type);

/** What all events of one type say, without what the log adds, in the order they were logged. */
export const said = <T extends EventType>(events: readonly RecordedEvent[], type: T): Said<T>[] =>
  ofType(events, type).map(({ schemaVersion, sequence, time, type: _, ...rest }) => rest as unknown as Said<T>);

/** Where the loop sends what happens. */
export type EventSink = (event: RunEvent) => void;

/** The first invalid field of an event, and what is wrong with it; undefined if all are valid. */
export function brokenField(event: RunEvent): { readonly field: string; readonly what: string } | undefined {
  const issue = EVENT_SCHEMAS[event.type].safeParse(event).error?.issues[0];
  return issue && { field: issue.path.join('.'), what: issue.message };
}

/** Whether the last confirmation accepted this candidate: a search that goes on after it may have found another best. */
export const isAccepted = <C extends Pick<ConfirmationEvent, 'outcome' | 'candidate'>>(
  last: C | undefined,
  { id }: Pick<CandidateReference, 'id'>,
): last is C => last !== undefined && last.outcome !== 'refused' && last.candidate.id === id;
