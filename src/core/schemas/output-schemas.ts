import { z } from 'zod';
import { evaluationSchema } from '../evaluation.ts';

const text = z.string();
const number = z.number();
const list = z.array(z.unknown());
const texts = z.array(z.string());
const object = z.record(z.string(), z.unknown());
const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable();

/** A document of one kind: its fields beside `schemaVersion` and `kind`. Later versions may add fields. */
const document = <Fields extends z.ZodRawShape>(kind: string, fields: Fields, schemaVersion = 1) =>
  z
    .looseObject({ schemaVersion: z.literal(schemaVersion), kind: z.literal(kind), ...fields })
    .meta({ id: `Output-${kind}` });

/** A run's report; `optimize` and `resume` add the paths of its files. */
const runReport = document(
  'run-report',
  {
    runId: text,
    complete: z.boolean(),
    startedAt: text,
    finishedAt: orNull(text),
    problem: object,
    workload: object,
    device: object,
    seed: number,
    budgets: object,
    evaluationsUsed: number,
    evaluationsAfterSearch: number,
    goal: orNull(object),
    environment: object,
    stop: orNull(z.looseObject({ reason: text, detail: text })),
    start: orNull(object),
    best: orNull(object),
    speedup: orNull(number),
    objective: object,
    confirmations: list,
    bounds: orNull(object),
    roofline: orNull(object),
    progression: list,
    changes: orNull(object),
    ablation: list,
    ledger: object,
    findings: object,
  },
  2,
);

/** The output of every `--json`, by its `kind`: the fields on which a program may rely. */
export const OUTPUT_SCHEMAS = {
  error: document('error', {
    error: z.looseObject({
      ...{ code: text, message: text, file: orNull(text), path: orNull(text) },
      ...{ received: orNull(text), expected: orNull(text), hint: orNull(text) },
    }),
  }),
  doctor: document('doctor', { ok: z.boolean(), checks: list }),
  devices: document('devices', { devices: list }),
  completion: document('completion', { shell: text, script: text }),
  check: document('check', { problem: object, kernels: list }),
  init: document('init', { folder: text, files: list, notes: texts }),
  'new-problem': document('new-problem', { name: text, folder: text, files: texts }),
  import: document('import', { folder: text, files: list, notes: texts, letThrough: orNull(object) }),
  course: document('course', { lessons: list }),
  lesson: document('lesson', { lesson: object, folder: text, files: texts, wasThere: z.boolean(), page: text }),
  'lesson-check': document('lesson-check', {
    ...{ lesson: object, folder: text, solved: z.boolean(), goals: list, evaluation: object, startNs: orNull(number) },
  }),
  evaluate: evaluationSchema.extend({ kind: z.literal('evaluate') }).meta({ id: 'Output-evaluate' }),
  diagnosis: document('diagnosis', { evaluation: object, moves: list, advice: list }),
  audit: document('audit', {
    problem: text,
    seed: number,
    checks: texts,
    mutants: list,
    letThrough: texts,
    ok: z.boolean(),
  }),
  ladder: document('ladder', {
    ...{ problem: text, device: object, tier: text, seed: number, recordedAt: text, versions: object },
    ...{ contenders: list, rows: list, notMeasured: texts.optional() },
  }),
  'run-report': runReport,
  'run-comparison': document('run-comparison', {
    ...{ problem: text, run: object, against: object, times: list, notCompared: orNull(text) },
    ...{ compareCommand: orNull(text), reached: orNull(object), differences: list },
    ...{ changes: orNull(object), sources: orNull(object) },
  }),
  'per-workload': document('per-workload', { runs: z.array(runReport), dispatch: orNull(object) }),
  'dispatch-table': document('dispatch-table', {
    ...{ problem: text, device: object, entries: list, fallback: orNull(object) },
  }),
  export: document('export', { exported: orNull(object), branch: orNull(object) }),
  compare: document('compare', {
    ...{ problem: text, device: object, seed: number, baseline: object, candidate: object, workloads: list },
    ...{ geometricMean: orNull(object), failOn: orNull(text), failing: texts },
  }),
  gate: document('gate', {
    ...{ base: object, head: object, fileCount: number, checks: text, maximumSlowdown: number },
    ...{ device: orNull(object), problems: texts, deleted: texts, leftOut: texts, unknownWorkloads: texts },
    ...{ kernels: list, baseline: orNull(object), passes: z.boolean(), failing: texts },
  }),
  inspect: document('inspect', {
    ...{ candidate: object, device: object, workload: text, status: text, counters: orNull(object) },
    ...{ totals: object, attributedShare: orNull(number), hot: list, lines: list },
  }),
  log: document('log', { store: text, problem: orNull(text), attempts: list, leftOut: number, unreadable: number }),
  slurm: document('slurm', { action: text, jobs: list, workers: list }),
  runs: document('runs', { store: text, runs: list }),
  run: document('run', { run: object, kept: list, revertedCount: number, files: object }),
  evaluation: document('evaluation', {
    ...{ run: text, evaluation: object, proposal: orNull(object), decision: orNull(object), sources: list },
  }),
  candidate: document('candidate', { id: text, kernel: text, parameters: object, evaluations: list, sources: list }),
  patterns: document('patterns', { store: text, problem: orNull(text), device: orNull(text), patterns: list }),
  'search-bench': document('search-bench', { file: text, evaluations: number, space: object, strategies: list }),
} as const;

/** Any of them. */
export const outputSchema = z.union(Object.values(OUTPUT_SCHEMAS) as unknown as [z.ZodType, ...z.ZodType[]]);
