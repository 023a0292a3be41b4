import { allEnded } from '../../core/all-ended.ts';
import { type DType, isFloating } from '../../core/dtype.ts';
import { WarpsmithError } from '../../core/errors.ts';
import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import type {
  Dimensions,
  Perturbation,
  Problem,
  ReferenceRun,
  ReferenceTensors,
  Rows,
  Tolerance,
} from '../../core/problem.ts';
import { type Rounding, roundAll } from '../../core/rounding.ts';
import type { SparseTensors } from '../../core/sparse-tensor.ts';
import { elementCountOf } from '../launches/layout.ts';
import { HOST_PERTURBATION, perturbationOf, perturbInputs, perturbSparse } from './perturbed-inputs.ts';
import { joinParts, rowLength, rowParts } from './row-parts.ts';
import { weightedInputs } from './secret/freedom.ts';
import { comparisonOf, toleranceRule } from './tolerances/index.ts';

/** All runs of the reference on some inputs that a comparison may need. */
export interface ReferenceRuns {
  /** Float64, unrounded. */
  readonly oracle: ReferenceTensors;
  /** The results that problem.json names, and the outputs, rounded. */
  readonly naive?: ReferenceTensors;
  /** The oracle of inputs changed by so much relative to themselves. */
  readonly perturbed?: readonly PerturbedRun[];
  /** The same of weighted inputs alone: how large the terms of their sums are. */
  readonly weighted?: readonly PerturbedRun[];
  /** What the reference was given: inputs may say which elements of outputs matter. */
  readonly inputs?: ReferenceTensors;
  /** Whether values of the inputs repeat or differ in size, so that errors add up. */
  readonly placed?: boolean;
  /** Whether an input holds one value nearly everywhere. */
  readonly repeats?: boolean;
  /** Whether the tolerance must bear what arithmetic errs on these inputs; otherwise they are not for this problem. */
  readonly tried?: boolean;
}

export interface PerturbedRun {
  readonly relative: number;
  readonly outputs: ReferenceTensors;
}

/** Buffers that a kernel must fill. */
export const outputsOf = (buffers: readonly PlannedBuffer[]): PlannedBuffer[] =>
  buffers.filter(({ role }) => role === 'out' || role === 'inout');

/**
 * Runs for outputs with few elements, whose neighbours do little to stabilise an estimate; and before a result is called wrong. Two runs estimate less than
 * an eighteenth of a condition once in 300 times, and where one score decides a whole row, its other elements do not help. Four do so once in 50,000 times, eight
 * once in 10⁹.
 */
const FEW_ELEMENTS = 64;
const PERTURBED_RUNS = { few: 4, many: 2, unlike: 8, sure: 8, weighted: 4 } as const;

/** Rows of results shorter than this are grouped with their neighbours. */
const OWN_GROUP = 64;

/** Which runs the problem's comparisons ask for beside the oracle, and how many on perturbed inputs. */
export function runsNeeded(
  { file }: Problem,
  buffers: readonly PlannedBuffer[],
  { placed = false, tried = false, sure = false }: Pick<ReferenceOptions, 'placed' | 'tried' | 'sure'> = {},
): { readonly naive: boolean; readonly perturbedRuns: number } {
  const needs = outputsOf(buffers).map(({ name }) => {
    const comparison = comparisonOf(file, name);
    return toleranceRule(comparison).needs(comparison);
  });
  const [naive, perturbed] = [needs.some((one) => one.naive), tried || needs.some((one) => one.perturbed)];
  const floating = outputsOf(buffers).filter(({ dtype }) => isFloating(dtype));
  const elementCounts = floating.map(elementCountOf);
  if (!perturbed || elementCounts.length === 0) return { naive, perturbedRuns: 0 };
  if (placed && floating.some(({ shape }) => (shape.at(-1) ?? 1) < OWN_GROUP))
    return { naive, perturbedRuns: PERTURBED_RUNS.unlike };
  const kind = sure ? 'sure' : Math.min(...elementCounts) < FEW_ELEMENTS ? 'few' : 'many';
  return { naive, perturbedRuns: PERTURBED_RUNS[kind] };
}

/** Among so many results, there is seldom one that is much smaller than its terms. */
const FEW_RESULTS = 2 ** 12;

/**
 * Whether an honest kernel may pass the least tolerances, without runs on perturbed inputs: where those allow a rounding of a row's largest value, or where there are few
 * results. Of millions of `conditioned` ones, some are much smaller than their terms.
 */
export const leastMaySuffice = ({ file }: Problem, buffers: readonly PlannedBuffer[]): boolean =>
  outputsOf(buffers).every(
    (buffer) => comparisonOf(file, buffer.name).kind !== 'conditioned' || elementCountOf(buffer) <= FEW_RESULTS,
  );

export interface ReferenceOptions {
  readonly signal?: AbortSignal | undefined;
  /** Only these, if the reference can compute single rows. */
  readonly rows?: Rows | undefined;
  /** Further inputs, with `rows`, for references that take such. */
  readonly sparse?: SparseTensors | undefined;
  /**
   * Values repeat or differ in size. So neighbours say little about how strongly a result reacts: short rows need more runs. And
   * errors add up.
   */
  readonly placed?: boolean;
  /** Runs on perturbed inputs, whatever the comparison needs. */
  readonly tried?: boolean;
  /** So many of these that no condition is underestimated by chance. */
  readonly sure?: boolean;
}

/** A problem's reference on some inputs. */
export interface HostReferenceRequest extends ReferenceOptions {
  readonly problem: Problem;
  readonly buffers: readonly PlannedBuffer[];
  readonly inputs: ReferenceTensors;
  readonly dimensions: Dimensions;
}

/**
 * Runs the reference as oracle (float64) and, if the comparison needs it, as naive run (named results and outputs rounded)
 * and on perturbed inputs.
 *
 * @throws WarpsmithError if the reference is at fault; the signal's reason when aborted.
 */
export async function runHostReference(
  problem: Problem,
  buffers: readonly PlannedBuffer[],
  inputs: ReferenceTensors,
  dimensions: Dimensions,
  options: ReferenceOptions = {},
): Promise<ReferenceRuns> {
  const request = { problem, buffers, inputs, dimensions, ...options };
  // Asked for at once: they may run side by side.
  const [unperturbed, perturbed] = await Promise.all([runUnperturbed(request), runPerturbed(request)]);
  return { ...unperturbed, ...perturbed };
}

/** The oracle and, if the comparison needs it, the naive run. @throws as {@link runHostReference}. */
export async function runUnperturbed(request: HostReferenceRequest): Promise<Omit<ReferenceRuns, keyof PerturbedRuns>> {
  const { problem, buffers, placed = false, tried = false } = request;
  const needed = runsNeeded(problem, buffers, { placed, tried });
  const [oracle, naive] = await Promise.all([
    runOnce(request, 'exact'),
    needed.naive ? runOnce(request, namedRounding(problem)) : undefined,
  ]);
  return { oracle, naive: naive ? roundedOutputs(buffers, naive) : undefined, placed, tried };
}

type PerturbedRuns = Pick<ReferenceRuns, 'perturbed' | 'weighted'>;

/** The oracles of perturbed inputs, if the comparison needs them. @throws as {@link runHostReference}. */
export async function runPerturbed(request: HostReferenceRequest): Promise<PerturbedRuns> {
  const { problem, buffers, sure = false } = request;
  const { perturbedRuns: count } = runsNeeded(problem, buffers, request);
  if (count === 0) return {};
  const ofAll = Array.from({ length: count }, (_, i) => perturbationOf(buffers, i, HOST_PERTURBATION));
  const names = sure ? weightedInputs(problem.file) : [];
  const ofWeighted = ofAll.slice(0, names.length > 0 ? PERTURBED_RUNS.weighted : 0).map((one) => ({ ...one, names }));
  const all = await allEnded([...ofAll, ...ofWeighted].map((perturbation) => runPerturbedBy(request, perturbation)));
  return { perturbed: all.slice(0, count), weighted: ofWeighted.length > 0 ? all.slice(count) : undefined };
}

async function runPerturbedBy(request: HostReferenceRequest, perturbation: Perturbation): Promise<PerturbedRun> {
  const { problem, inputs, sparse } = request;
  const changed = (): HostReferenceRequest => ({
    ...request,
    inputs: perturbInputs(inputs, perturbation),
    sparse: sparse && perturbSparse(sparse, perturbation),
  });
  const outputs = problem.reference.perturbs
    ? await runOnce(request, 'exact', perturbation)
    : await runOnce(changed(), 'exact');
  return { relative: perturbation.relative, outputs };
}

const runOnce = (
  { problem, buffers, inputs, sparse, dimensions, rows, signal }: HostReferenceRequest,
  rounding: Rounding,
  perturbation?: Perturbation,
): Promise<ReferenceTensors> =>
  runReference(problem, buffers, { inputs, sparse, dimensions, rounding, rows, perturbation, signal });

/** Of all comparisons together: one run of the reference gives every output. */
const namedRounding = ({ file: { comparison, outputs } }: Problem): Rounding => ({
  named: Object.assign({}, ...[comparison, ...Object.values(outputs).map((one) => one.comparison)].map(roundingsOf)),
});

const roundingsOf = (comparison: Tolerance | undefined): Readonly<Record<string, DType>> =>
  (comparison && 'roundings' in comparison && comparison.roundings) || {};

const roundedOutputs = (buffers: readonly PlannedBuffer[], outputs: ReferenceTensors): ReferenceTensors =>
  Object.fromEntries(outputsOf(buffers).map(({ name, dtype }) => [name, roundAll(outputs[name]!, dtype)]));

/** From so many floating-point operations on, reference.ts takes about a second. */
const MANY_FLOP = 1e9;

/** From so many elements on, a host takes some tens of milliseconds to change the inputs of a reference. */
const MANY_ELEMENTS = 2 ** 21;

/** Whether each run of the reference at this shape takes a host long, on perturbed inputs too. */
export const runsLong = (problem: Problem, dimensions: Dimensions, inputs: ReferenceTensors): boolean =>
  isLarge(problem, dimensions) || Object.values(inputs).some(({ length }) => length >= MANY_ELEMENTS);

/** Whether reference.ts takes a host seconds at this shape. */
export const isLarge = ({ file }: Problem, dimensions: Dimensions): boolean =>
  evaluateExpression(file.flop, dimensions) >= MANY_FLOP;

/**
 * Runs the reference and checks what it returns. A long run is computed in parts, by several processes, if the reference can compute
 * single rows.
 *
 * @throws WarpsmithError `reference-output` when an output is missing or has the wrong number of elements; as
 * {@link RunReference}.
 */
export async function runReference(
  problem: Problem,
  buffers: readonly PlannedBuffer[],
  run: ReferenceRun,
): Promise<ReferenceTensors> {
  const isDivisible = run.rows === undefined && run.mistake === undefined && isLarge(problem, run.dimensions);
  const count = isDivisible ? ((await problem.reference.sideBySide?.(run.signal)) ?? 1) : 1;
  return count > 1 ? runInParts(problem, buffers, run, count) : runAtOnce(problem, buffers, run);
}

/** If one part fails, the others are ended, and nothing still goes on when that is told. */
async function runInParts(
  problem: Problem,
  buffers: readonly PlannedBuffer[],
  run: ReferenceRun,
  count: number,
): Promise<ReferenceTensors> {
  const outputs = outputsOf(buffers);
  const failure = new AbortController();
  const signal = run.signal ? AbortSignal.any([run.signal, failure.signal]) : failure.signal;
  const failures: unknown[] = [];
  const parts = rowParts(outputs, count).map(async (rows) => {
    try {
      return { rows, tensors: await runAtOnce(problem, buffers, { ...run, rows, signal }) };
    } catch (error) {
      failures.push(error);
      failure.abort();
      throw error;
    }
  });
  await Promise.allSettled(parts);
  if (failures.length > 0) throw failures[0];
  return joinParts(outputs, await Promise.all(parts));
}

async function runAtOnce(
  problem: Problem,
  buffers: readonly PlannedBuffer[],
  run: ReferenceRun,
): Promise<ReferenceTensors> {
  const outputs = await problem.reference(run);
  for (const buffer of outputsOf(buffers)) {
    const received = outputs[buffer.name]?.length;
    const expected = elementCountOf(buffer);
    if (received === expected || (run.rows && received === elementsIn(run.rows, buffer))) continue;
    throw new WarpsmithError({
      code: 'reference-output',
      message: `${run.rows ? 'referenceRows' : 'the reference'} of ${problem.file.name} does not return output '${buffer.name}' as declared`,
      file: problem.referenceFile ?? problem.folder,
      path: buffer.name,
      received: received === undefined ? 'no such output' : `${received} elements`,
      expected: `${expected} elements, shape [${buffer.shape}]`,
      hint: 'Return float64 values for every output, row-major.',
    });
  }
  return outputs;
}

/** How many elements the chosen rows of an output have. */
const elementsIn = (rows: Rows, buffer: PlannedBuffer): number => rows[buffer.name]!.length * rowLength(buffer);
