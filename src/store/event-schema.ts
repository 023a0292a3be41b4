import { z } from 'zod';
import { DTYPES } from '../core/dtype.ts';
import { evaluationSchema } from '../core/evaluation.ts';
import { type RunEvent, STOP_REASONS } from './events.ts';

const text = z.string();
const number = z.number();
const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable();
const numbers = z.record(text, number);
const interval = z.tuple([number, number]);
const cache = z.enum(['hot', 'cold']);
const stopReason = z.enum(STOP_REASONS);
const verdict = z.enum(['faster', 'slower', 'same', 'ambiguous']);

const candidate = z.looseObject({ id: text, kernel: text, parameters: numbers });
const pattern = z.looseObject({ id: text, title: text });
const finding = z.looseObject({ id: text, evaluationId: text });
const parameterChange = { parameter: text, from: number, to: number };
const move = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('parameter'), kernel: text, ...parameterChange }),
  z.looseObject({ kind: z.literal('parameters'), kernel: text, changes: z.array(z.looseObject(parameterChange)) }),
  z.looseObject({ kind: z.literal('rung'), from: text, to: text }),
  z.looseObject({ kind: z.literal('configuration'), kernel: text, parameters: numbers }),
]);
const budgets = z.looseObject({
  maximumEvaluations: orNull(number),
  allowance: orNull(z.looseObject({ confirmation: number, ablation: number, advice: number })),
  maximumMinutes: orNull(number),
  maximumGpuMinutes: orNull(number),
  maximumMoney: orNull(number),
  gpuPricePerHour: orNull(number),
});
const workload = { name: text, dimensions: numbers, cache };
const goal = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('speed-up'), ratio: number, text }),
  z.looseObject({ kind: z.literal('time'), ns: number, text }),
]);
const perWorkload = z.array(
  z.looseObject({
    workload: text,
    weight: number.positive(),
    evaluationId: text,
    ratio: orNull(number),
    intervalRatio: interval.optional(),
    vetoes: z.boolean(),
  }),
);
const option = z.looseObject({
  moveKey: text,
  pattern,
  finding,
  move,
  expectedGain: number,
  confidence: number,
  evidence: z.looseObject({ attempts: number, kept: number }),
  cost: z.looseObject({ evaluations: number, compile: number }),
  value: number,
  arithmetic: text,
  used: number,
  failures: number,
  state: z.enum(['next', 'open', 'abandoned']),
});
const prior = z.looseObject({ pattern: text, attempts: number, kept: number, realisedGain: number, scope: text });
const roofline = z.looseObject({});

/** Every field of every event, as in `events.ts`. Later versions may add fields. */
const FIELDS: Readonly<Record<RunEvent['type'], z.ZodRawShape>> = {
  'run-started': {
    problem: z.looseObject({ name: text, folder: text, dtype: z.enum(DTYPES).optional() }),
    repository: z.looseObject({ commit: text, isDirty: z.boolean() }).optional(),
    start: candidate,
    workload: z.looseObject(workload),
    workloads: z.array(z.looseObject({ ...workload, weight: number.positive() })).min(1),
    device: z.looseObject({ id: text, kind: z.enum(['virtual', 'cuda']), name: text }),
    seed: number,
    strategy: text,
    budgets,
    goal: orNull(goal),
    priors: z.looseObject({
      patterns: z.array(prior),
      costs: z.array(z.looseObject({ kernel: text, compileMs: number, runMs: number })),
    }),
    request: z.looseObject({ target: text, problemFiles: z.record(text, text).optional() }),
    roofline: roofline.optional(),
    environment: z.record(text, text),
  },
  'move-proposed': {
    ...{ iteration: number, moveKey: text, pattern, finding, move, candidate },
    ...{ expectedGain: number, confidence: number, reason: text },
  },
  'evaluation-finished': { iteration: number, evaluation: evaluationSchema, sources: z.record(text, text) },
  decision: {
    ...{ iteration: number, evaluationId: text, decision: z.enum(['keep', 'revert']), comparedWith: orNull(text) },
    ...{ ratio: orNull(number), verdict: verdict.optional(), intervalRatio: interval.optional() },
    ...{ perWorkload: perWorkload.optional(), reason: text },
  },
  confirmation: {
    ...{ evaluationId: text, candidate, ratio: orNull(number), medianNs: orNull(number), verdict: orNull(verdict) },
    ...{ intervalRatio: orNull(interval), sanitizer: orNull(text), perWorkload: perWorkload.optional() },
    ...{ outcome: z.enum(['accepted', 'accepted, unsanitized', 'refused']), reason: text },
  },
  'move-abandoned': { iteration: number, moveKey: text, failureCount: number, why: text, reason: text },
  ablation: {
    best: text,
    undone: z.discriminatedUnion('kind', [
      z.looseObject({ kind: z.literal('parameter'), ...parameterChange }),
      z.looseObject({ kind: z.literal('rung'), from: text, to: text }),
    ]),
    ...{ candidate, evaluationId: orNull(text), ratio: orNull(number), intervalRatio: interval.optional() },
    reason: text.optional(),
  },
  'workload-advice': {
    candidate: text,
    dimensions: z.array(text),
    rows: z.array(
      z.looseObject({
        ...{ product: number, workload: text, evaluationId: orNull(text), kind: z.enum(['measured', 'predicted']) },
        ...{ medianNs: orNull(number), attainableNs: orNull(number), attainedRatio: orNull(number) },
      }),
    ),
    saturatedAt: orNull(number),
    text,
  },
  advice: { iteration: number, pattern, finding, text },
  'options-ranked': { iteration: number, share: orNull(number), options: z.array(option), omitted: number },
  budget: {
    ...{ iteration: number, evaluationsUsed: number, evaluationsLeft: orNull(number) },
    ...{ minutesUsed: number, minutesLeft: orNull(number) },
    ledger: z.looseObject({
      ...{ compileMs: number, verifyMs: number, timeMs: number, gpuMs: number, money: orNull(number) },
    }),
  },
  'search-ended': { iteration: number, reason: stopReason, detail: text },
  'budgets-extended': { iteration: number, budgets },
  'run-finished': { stopReason, detail: text, best: orNull(text), speedup: orNull(number) },
};

/** The first invalid field of an event, and what is wrong with it; undefined if all are valid. */
export function brokenField(event: RunEvent): { readonly field: string; readonly what: string } | undefined {
  const issue = z.looseObject(FIELDS[event.type]).safeParse(event).error?.issues[0];
  return issue && { field: issue.path.join('.'), what: issue.message };
}
