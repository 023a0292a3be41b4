import type { LoggedResult, ObservedResult } from '../../core/decisions.ts';
import type { ResultLog } from '../../core/device.ts';
import type { Problem } from '../../core/problem.ts';
import { describeCheck } from '../oracle/check.ts';
import type { ExpectationCache } from '../oracle/expectation-cache.ts';
import { elementsOf } from '../oracle/shapes/cost.ts';
import type { Met, MetInputs } from './met-inputs.ts';
import type { WatchRequest } from './operand-watch.ts';
import { openCopy, runCopy } from './run-copy.ts';

/** Inputs with which results are looked at, and how many of these share a copy of the module, the first of them all results; the largest come last. */
const LOOKED_AT = { inputs: 43, largest: 3, together: [1, 3, 36, 3] } as const;

interface ResultsRequest extends WatchRequest {
  readonly problem: Problem;
  readonly oracle: ExpectationCache;
}

/**
 * Results of arithmetic on loaded values that are the same number for all threads and all inputs that were looked at. A condition can be hidden in arithmetic: `__clz(x ^ 1234) >> 5` is 0 unless
 * x is one number of 2³², and no decision is seen. Only the first of several that follow from one another is among them, and none of which a copy that the compiler made of it varied: some copies serve only places that small
 * shapes lack.
 */
export async function constantResults(request: ResultsRequest, met: MetInputs): Promise<readonly ObservedResult[]> {
  const inputs = inputsToLookAt(request.problem, met.all);
  const varied = new Set<string>();
  let open: ReadonlyMap<number, ObservedResult> | undefined;
  for (const count of LOOKED_AT.together) {
    const among = open && new Set(open.keys());
    const log = openCopy(() => request.device.logResults?.(request.module, among));
    if (!log) return [];
    try {
      for (const one of inputs.splice(0, count)) await look(request, log, one);
      const observed = log.observed();
      for (const { operation, result } of observed) if (result === 'several') varied.add(operation);
      open = stillConstant(observed, open);
    } finally {
      await request.device.unload(log.module);
    }
    if (open.size === 0 || inputs.length === 0) break;
  }
  const constant = [...(open?.values() ?? [])].filter(({ operation }) => !varied.has(operation));
  const known = new Set(constant.filter(({ result }) => isOne(result)).map(({ site }) => site));
  return constant.filter(({ result, of }) => isOne(result) && !of.some((site) => known.has(site)));
}

const isOne = (result: LoggedResult): boolean => typeof result === 'object';

/** Of each generator set those of a small shape first, then others; in the end those of the largest shapes, for what small ones do not reach. */
function inputsToLookAt(problem: Problem, met: readonly Met[]): Met[] {
  const inTurn = met.toSorted(
    ({ inputs: a }, { inputs: b }) => elementsOf(problem.file, a.dimensions) - elementsOf(problem.file, b.dimensions),
  );
  const bySet = [...Map.groupBy(inTurn, ({ inputs }) => inputs.generatorSet).values()];
  const firsts = bySet.map((alike) => alike[Math.floor(alike.length / 2)]!);
  const largest = inTurn.slice(-LOOKED_AT.largest);
  const others = [...new Set([...firsts, ...inTurn])].filter((one) => !largest.includes(one));
  return [...others.slice(0, LOOKED_AT.inputs - largest.length), ...largest];
}

async function look(request: ResultsRequest, log: ResultLog, { inputs }: Met): Promise<void> {
  const { problem, seed, oracle } = request;
  const { dimensions, generatorSet } = inputs;
  const contents = oracle.check({ problem, seed, dimensions, generatorSet }).inputs.bytes;
  await runCopy(request, log.module, { dimensions, contents, name: describeCheck(inputs) });
}

/** Of results that had one value in earlier copies, those that have it still. */
function stillConstant(
  observed: readonly ObservedResult[],
  before: ReadonlyMap<number, ObservedResult> | undefined,
): ReadonlyMap<number, ObservedResult> {
  return new Map(
    observed.flatMap((one): [number, ObservedResult][] => {
      const earlier = before?.get(one.site)?.result ?? 'never computed';
      const result = joined(earlier, one.result);
      return result === 'several' ? [] : [[one.site, { ...one, result }]];
    }),
  );
}

function joined(one: LoggedResult, other: LoggedResult): LoggedResult {
  if (one === 'never computed') return other;
  if (other === 'never computed' || one === 'several') return one;
  return other !== 'several' && one.always === other.always ? one : 'several';
}
