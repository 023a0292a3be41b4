import { allEnded } from '../../core/all-ended.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import type { Problem } from '../../core/problem.ts';
import { valuesKey } from '../../core/values.ts';
import { ThreadLost } from '../../process/task-threads.ts';
import { usableMemoryBytes } from '../../process/usable-memory.ts';
import { elementCountOf } from '../launches/layout.ts';
import { type CheckKey, type DrawnInputs, drawInputs } from './draw-inputs.ts';
import {
  type DeviceReference,
  type Expectations,
  expectationsFor,
  type WorkOutDisagreement,
  type WorkOutExpectations,
} from './expectations.ts';
import { type ExpectedRows, expectedRows } from './expected-rows.ts';
import {
  isLarge,
  leastMaySuffice,
  outputsOf,
  type ReferenceRuns,
  runPerturbed,
  runsLong,
  runsNeeded,
  runUnperturbed,
} from './reference-runs.ts';
import { areValuesPlaced } from './secret/secret-set.ts';
import { areValuesRepeated, areValuesTried } from './secret/sets-of-problem.ts';
import { disagreeBeside, drawAhead, drawBeside, expectBeside } from './threads/beside.ts';
import type { OracleThreads } from './threads/oracle-threads.ts';

/** Data to judge one check: the contents of the inputs, and the expectation of each output. */
export interface PreparedCheck {
  /** The problem's buffers, without workspaces. */
  readonly buffers: readonly PlannedBuffer[];
  readonly inputs: DrawnInputs;
  /** Worked out when first asked for. Rejects as `expectationsFor` does. */
  expectations(): Promise<Expectations>;
  /**
   * The same with the least tolerances that there can be, where the whole ones take a host seconds more: what passes these passes
   * those. Absent elsewhere.
   */
  leastExpectations?(): Promise<Expectations>;
  /**
   * With tolerances that more runs on perturbed inputs tell, before a result is called wrong: those of few runs are now and then too small by chance. Absent where no run on perturbed
   * inputs is needed.
   */
  surerExpectations?(): Promise<Expectations>;
  /** The inputs with another seed. */
  drawAgain(seed: number): Promise<DrawnInputs>;
  /** Expected values of rows that the seed chooses, if the whole reference takes long; otherwise of all rows. */
  sample(): Promise<ExpectedRows>;
  /** The same with the least tolerances, as {@link leastExpectations}. */
  leastSample?(): Promise<ExpectedRows>;
  /** The same as {@link surerExpectations}. */
  surerSample?(): Promise<ExpectedRows>;
}

/** Computes the expectations. */
export interface OracleTools {
  readonly deviceReference?: DeviceReference | undefined;
  /** Aborting ends every run of a reference at once. */
  readonly signal?: AbortSignal | undefined;
  /** Draw inputs and work out tolerances beside this thread. */
  readonly threads?: OracleThreads | undefined;
}

/**
 * Draws the inputs of a check. It computes the expectations of the outputs on the first request.
 *
 * @param drawn the inputs, if they are drawn already.
 */
export function prepareCheck(
  key: CheckKey,
  { deviceReference, signal, threads }: OracleTools = {},
  drawn?: DrawnInputs,
): PreparedCheck {
  const { problem, dimensions } = key;
  const buffers = expandBuffers(problem.file, dimensions);
  const inputs = drawn ?? drawInputs({ ...key, buffers });
  const placed = areValuesPlaced(key.generatorSet);
  const repeats = areValuesRepeated(problem.file, key.generatorSet);
  const tried = areValuesTried(problem.file, key.generatorSet);
  const onDevice = deviceReference !== undefined && isLarge(problem, dimensions);
  const request = { problem, buffers, inputs: inputs.tensors, dimensions, signal, placed, tried };
  const { perturbedRuns } = runsNeeded(problem, buffers, request);
  const isDivided =
    !onDevice &&
    !tried &&
    runsLong(problem, dimensions, inputs.tensors) &&
    leastMaySuffice(problem, buffers) &&
    perturbedRuns > 0;
  // Kept only where two kinds of expectations follow from them: they take as much memory as an expectation.
  const unperturbed = isDivided ? remembered(() => runUnperturbed(request)).get : () => runUnperturbed(request);
  const expect: WorkOutExpectations = (...request) => expectBeside(threads, ...request);
  const toExpectations = (runs: ReferenceRuns): Promise<Expectations> =>
    expect(problem, dimensions, { ...runs, inputs: inputs.tensors, repeats });
  const withPerturbed = async (sure: boolean): Promise<Expectations> => {
    if (onDevice)
      return expectationsFor({
        ...{ problem, dimensions, inputs: inputs.bytes, tensors: inputs.tensors, placed, repeats, tried, sure },
        ...{ deviceReference, signal, expect },
      });
    // Asked for at once: they may run side by side.
    const [runs, perturbed] = await allEnded([unperturbed(), runPerturbed({ ...request, sure })]);
    return toExpectations({ ...runs, ...perturbed });
  };
  const all = remembered(() => withPerturbed(false));
  const least = remembered(async () => toExpectations(await unperturbed()));
  const rowsOf = (how: { readonly isLeast?: true; readonly sure?: true } = {}) =>
    expectedRows({ ...key, ...how, buffers, inputs: inputs.tensors, signal });
  const sample = remembered(() => rowsOf());
  const wholeSample = async (): Promise<ExpectedRows> => {
    const isQuick = all.isKnown() || onDevice;
    return (isQuick ? undefined : await sample.get()) ?? { expectations: await all.get() };
  };
  const leastSample = remembered(async (): Promise<ExpectedRows> => {
    if (all.isKnown() || sample.isKnown()) return wholeSample();
    return (await rowsOf({ isLeast: true })) ?? { expectations: await least.get() };
  });
  // Not remembered: they are seldom asked for.
  const surer = (): Promise<Expectations> => withPerturbed(true);
  const surerSample = async (): Promise<ExpectedRows> =>
    (onDevice ? undefined : await rowsOf({ sure: true })) ?? { expectations: await surer() };
  return {
    buffers,
    inputs,
    expectations: all.get,
    leastExpectations: isDivided ? least.get : undefined,
    leastSample: isDivided ? leastSample.get : undefined,
    ...(perturbedRuns > 0 && { surerExpectations: surer, surerSample }),
    drawAgain: (seed) => drawBeside(threads, { ...key, seed }),
    sample: wholeSample,
  };
}

/** Asks once; again only after a failure, since another device or process may succeed next time. */
function remembered<T>(ask: () => Promise<T>): { get: () => Promise<T>; isKnown: () => boolean } {
  let answer: Promise<T> | undefined;
  return {
    get() {
      answer ??= ask().catch((error: unknown) => {
        answer = undefined;
        throw error;
      });
      return answer;
    },
    isKnown: () => answer !== undefined,
  };
}

/**
 * Caches prepared checks, so that all candidates of a run are judged on the same inputs and the reference runs only once.
 */
export interface ExpectationCache {
  check(key: CheckKey): PreparedCheck;
  /** Draws a check's inputs beside this thread, so that it is known soon. Never rejects: a mistake of the problem is told when it is asked for. */
  ahead(key: CheckKey): Promise<void>;
  /** As `disagreement` with what is expected, beside this thread. */
  readonly disagree: WorkOutDisagreement;
}

/** An eighth of the memory. On machines that run large workloads, this holds both checks of one. */
const DEFAULT_LIMIT_BYTES = Math.max(256 * 1024 * 1024, usableMemoryBytes() / 8);

export interface ExpectationCacheOptions extends OracleTools {
  readonly limitBytes?: number | undefined;
  /** Of several devices: has what the reference on the host computes. */
  readonly shared?: ExpectationCache | undefined;
}

/** Of so many caches at a time. */
export const limitBytesOf = (caches: number): number => Math.ceil(DEFAULT_LIMIT_BYTES / caches);

/**
 * A cache that evicts the least recently used checks beyond `limitBytes`, and uses the device reference for large shapes if
 * there is one.
 */
export function createExpectationCache(options: ExpectationCacheOptions = {}): ExpectationCache {
  const { limitBytes = DEFAULT_LIMIT_BYTES, shared, ...tools } = options;
  const drawing = new Map<string, Promise<void>>();
  const remembered = new Map<string, { prepared: PreparedCheck; bytes: number }>();
  const problemNumbers = new WeakMap<Problem, number>();
  let problemCount = 0;
  let usedBytes = 0;

  const nameOf = ({ problem, dimensions, seed, generatorSet }: CheckKey): string => {
    if (!problemNumbers.has(problem)) problemNumbers.set(problem, problemCount++);
    return JSON.stringify([problemNumbers.get(problem), valuesKey(dimensions), seed, generatorSet]);
  };
  const forgetOldest = (): void => {
    for (const [name, { bytes }] of remembered) {
      if (usedBytes <= limitBytes) return;
      remembered.delete(name);
      usedBytes -= bytes;
    }
  };

  const check = (key: CheckKey, drawn?: DrawnInputs): PreparedCheck => {
    const name = nameOf(key);
    const known = remembered.get(name);
    const entry = known ?? withBytes(prepareCheck(key, tools, drawn));
    remembered.delete(name);
    remembered.set(name, entry);
    if (!known) usedBytes += entry.bytes;
    forgetOldest();
    return entry.prepared;
  };
  const draw = async (threads: OracleThreads, key: CheckKey): Promise<void> => {
    try {
      check(key, await drawAhead(threads, key));
    } catch (error) {
      // Then it is drawn when it is asked for.
      if (!(error instanceof WarpsmithError) && !(error instanceof ThreadLost)) throw error;
    }
  };
  /** The cache that has a check, if not this one: a device's own reference computes large shapes. */
  const elsewhere = ({ problem, dimensions }: CheckKey): ExpectationCache | undefined =>
    isLarge(problem, dimensions) ? undefined : shared;
  return {
    check: (key) => elsewhere(key)?.check(key) ?? check(key),
    disagree: (...request) => disagreeBeside(tools.threads, ...request),
    async ahead(key) {
      const other = elsewhere(key);
      if (other) return other.ahead(key);
      const name = nameOf(key);
      if (!tools.threads || remembered.has(name)) return;
      // Two that judge at a time may ask for one check.
      const drawn = drawing.get(name) ?? draw(tools.threads, key).finally(() => drawing.delete(name));
      drawing.set(name, drawn);
      return drawn;
    },
  };
}

/** Float64 numbers that a prepared check keeps per output element: an expected value and a tolerance. */
const KEPT_NUMBERS = 2;
/** Both twice where there are least tolerances, and the oracle and the naive run. */
const KEPT_NUMBERS_WITH_LEAST = 6;

/** Bytes that a prepared check keeps in memory. */
function withBytes(prepared: PreparedCheck): { prepared: PreparedCheck; bytes: number } {
  const { inputs, buffers, leastExpectations } = prepared;
  const numbers = leastExpectations ? KEPT_NUMBERS_WITH_LEAST : KEPT_NUMBERS;
  let bytes = 0;
  for (const content of inputs.bytes.values()) bytes += content.byteLength;
  for (const tensor of Object.values(inputs.tensors)) bytes += tensor.byteLength;
  for (const buffer of outputsOf(buffers)) bytes += elementCountOf(buffer) * numbers * Float64Array.BYTES_PER_ELEMENT;
  return { prepared, bytes };
}
