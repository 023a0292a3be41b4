import { WarpsmithError } from './errors.ts';
import type {
  Dimensions,
  Float64Room,
  ReferenceFunction,
  ReferenceRowsFunction,
  ReferenceRun,
  ReferenceTensors,
  RunReference,
} from './problem.ts';
import { areSame, rounderFor } from './rounding.ts';
import { lazilyMapped, type SparseTensors, unmap } from './sparse-tensor.ts';
import { assignments } from './values.ts';

/** Describes a mistake of a reference, for the error. */
export interface ReferenceFault {
  readonly code:
    | 'reference-failed'
    | 'reference-output'
    | 'reference-changed-input'
    | 'reference-memory'
    | 'reference-rounds-nothing';
  /** Goes on after "the reference of NAME": `throws TypeError: …`. */
  readonly message: string;
  readonly received?: string;
  readonly expected: string;
  readonly hint: string;
  readonly stack?: string;
}

/** What reference.ts exports. */
export interface ReferenceModule {
  readonly reference: ReferenceFunction;
  readonly referenceRows?: ReferenceRowsFunction | undefined;
  /** The same, where only sparse inputs are worth it. */
  readonly referenceRowsOfSparse?: ReferenceRowsFunction | undefined;
  readonly mistakes?: Readonly<Record<string, ReferenceFunction>> | undefined;
}

/** Outputs, or the mistake of the reference. */
export type ReferenceOutcome =
  | { readonly ok: true; readonly outputs: ReferenceTensors }
  | { readonly ok: false; readonly fault: ReferenceFault };

/**
 * Calls a reference and checks that it returns float64 arrays and leaves its inputs unchanged. The caller's inputs may be
 * lost.
 *
 * @param before the inputs in other memory, but for sparse ones. Without them, nobody sees whether they were changed.
 * @param float64Room what the reference may use for large products.
 */
export function callReference(
  module: ReferenceModule,
  { sparse, ...run }: Omit<ReferenceRun, 'signal'>,
  before?: ReferenceTensors,
  float64Room?: (elements: number) => Float64Room,
): ReferenceOutcome {
  if (sparse === undefined) return callWith(module, run, before, float64Room);
  const { rows, mistake, dimensions } = run;
  const referenceRows = rowsOfSparse(module);
  // Never the whole reference: its outputs may be as long as its inputs.
  if (!referenceRows || !rows || mistake !== undefined) return { ok: false, fault: COMPUTES_NO_ROWS };
  const mapped: Record<string, Float64Array> = {};
  try {
    for (const [name, tensor] of Object.entries(sparse)) mapped[name] = lazilyMapped(tensor);
  } catch (error) {
    unmapAll(mapped, {});
    if (error instanceof RangeError) return { ok: false, fault: notMapped(sparse, error, dimensions) };
    throw error;
  }
  const inputs = { ...run.inputs, ...mapped };
  const outcome = callWith({ ...module, referenceRows }, { ...run, inputs }, before, float64Room);
  unmapAll(mapped, outcome.ok ? outcome.outputs : {});
  return outcome;
}

/** What computes rows of results on sparse inputs, if anything does. */
const rowsOfSparse = ({
  referenceRows,
  referenceRowsOfSparse,
}: Partial<ReferenceModule>): ReferenceRowsFunction | undefined => referenceRows ?? referenceRowsOfSparse;

/** But for those that the reference returned. */
function unmapAll(mapped: ReferenceTensors, outputs: ReferenceTensors): void {
  const returned = new Set(Object.values(outputs).map(({ buffer }) => buffer));
  for (const elements of Object.values(mapped)) if (!returned.has(elements.buffer)) unmap(elements);
}

function callWith(
  { reference, referenceRows, mistakes = {} }: ReferenceModule,
  { inputs, dimensions, rounding, rows, mistake }: Omit<ReferenceRun, 'signal' | 'sparse'>,
  before: ReferenceTensors | undefined,
  float64Room: ((elements: number) => Float64Room) | undefined,
): ReferenceOutcome {
  if (mistake !== undefined && !mistakes[mistake]) return { ok: false, fault: noSuchMistake(mistake, mistakes) };
  let outputs: unknown;
  try {
    const run = [{ ...inputs }, { ...dimensions }, rounderFor(rounding)] as const;
    if (mistake !== undefined) outputs = mistakes[mistake]!(...run, float64Room);
    else outputs = rows && referenceRows ? referenceRows(...run, rows, float64Room) : reference(...run, float64Room);
  } catch (error) {
    return { ok: false, fault: thrown(error, dimensions) };
  }
  const changed = before && Object.keys(before).find((name) => !areSame(before[name]!, inputs[name]!));
  const fault = changed !== undefined ? changedInput(changed) : wrongKind(outputs);
  return fault ? { ok: false, fault } : { ok: true, outputs: inOwnMemory(outputs as ReferenceTensors) };
}

/** Runs a reference in this process, for its own author: tests, and programs that use warpsmith. */
export function inProcess(reference: ReferenceFunction, others: Omit<ReferenceModule, 'reference'> = {}): RunReference {
  const run: RunReference = async ({ inputs, signal, ...rest }) => {
    signal?.throwIfAborted();
    const copies = Object.fromEntries(Object.entries(inputs).map(([name, values]) => [name, values.slice()]));
    const outcome = callReference({ reference, ...others }, { ...rest, inputs: copies }, inputs);
    if (outcome.ok) return outcome.outputs;
    const { stack: _, message, ...details } = outcome.fault;
    throw new WarpsmithError({ ...details, message: `the reference ${message}` });
  };
  return Object.assign(run, { takesSparse: async () => rowsOfSparse(others) !== undefined });
}

const COMPUTES_NO_ROWS: ReferenceFault = {
  code: 'reference-failed',
  message: 'computes no rows of results on sparse inputs',
  expected: 'export const referenceRows = (inputs, dimensions, round, rows) => …, and a run of rows',
  hint: 'problems/transpose/reference.ts is an example.',
};

/** Of the machine, not of the reference. */
const notMapped = (sparse: SparseTensors, { message }: RangeError, dimensions: Dimensions): ReferenceFault => ({
  code: 'reference-memory',
  message: `can't be given its inputs: ${lengthsOf(sparse)}, zero nearly everywhere`,
  received: `${message} for ${assignments(dimensions).join(', ')}`,
  expected: 'a machine that maps 8 bytes for each element, of which only those that are not zero take memory',
  hint: 'Use a smaller shape, or a machine with more memory.',
});

const lengthsOf = (sparse: SparseTensors): string =>
  Object.entries(sparse)
    .map(([name, { length }]) => `${name} of ${length} elements`)
    .join(', ');

const noSuchMistake = (mistake: string, mistakes: Readonly<Record<string, unknown>>): ReferenceFault => ({
  code: 'reference-failed',
  message: `exports no mistake '${mistake}', which problem.json names`,
  received: Object.keys(mistakes).join(', ') || 'no mistakes',
  expected: `export const mistakes = { '${mistake}': (inputs, dimensions, round) => … }`,
  hint: 'problems/softmax/reference.ts is an example.',
});

/** Arrays of a room are the next run's. */
const inOwnMemory = (outputs: ReferenceTensors): ReferenceTensors =>
  Object.fromEntries(
    Object.entries(outputs).map(([name, values]) => [
      name,
      values.byteLength === values.buffer.byteLength ? values : values.slice(),
    ]),
  );

const PURE_HINT = 'Work on a copy: const own = inputs.X.slice().';

const changedInput = (name: string): ReferenceFault => ({
  code: 'reference-changed-input',
  message: `changes its input '${name}'`,
  received: `other values in '${name}' after the call`,
  expected: 'a pure function of its inputs',
  hint: PURE_HINT,
});

const RETURNS = 'an object with a Float64Array for every output, row-major';

function wrongKind(outputs: unknown): ReferenceFault | undefined {
  const received = describeWrong(outputs);
  return received === undefined
    ? undefined
    : {
        code: 'reference-output',
        message: `returns ${received}`,
        received,
        expected: RETURNS,
        hint: 'problems/attention/reference.ts is an example.',
      };
}

function describeWrong(outputs: unknown): string | undefined {
  if (typeof outputs !== 'object' || outputs === null) return outputs === null ? 'null' : typeof outputs;
  if (outputs instanceof Promise) return 'a promise';
  const wrong = Object.entries(outputs).find(([, values]) => !(values instanceof Float64Array));
  return wrong && `'${wrong[0]}' as ${wrong[1] === null ? 'null' : kindOf(wrong[1])}`;
}

const kindOf = (value: unknown): string =>
  typeof value === 'object' ? (value?.constructor?.name ?? 'an object') : typeof value;

function thrown(error: unknown, dimensions: Dimensions): ReferenceFault {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return {
    code: 'reference-failed',
    message: `throws ${text}`,
    received: `${text} for ${assignments(dimensions).join(', ')}`,
    expected: `a function that returns ${RETURNS}, for every shape that problem.json admits`,
    hint: 'Correct the reference; the mistake is the problem’s, not a kernel’s.',
    stack: error instanceof Error ? error.stack : undefined,
  };
}
