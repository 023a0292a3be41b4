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
 * @param before the inputs in other memory. Without them, nobody sees whether they were changed.
 * @param float64Room what the reference may use for large products.
 */
export function callReference(
  { reference, referenceRows, mistakes = {} }: ReferenceModule,
  { inputs, dimensions, rounding, rows, mistake }: Omit<ReferenceRun, 'signal'>,
  before?: ReferenceTensors,
  float64Room?: (elements: number) => Float64Room,
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
  const changed = before && Object.keys(inputs).find((name) => !areSame(before[name]!, inputs[name]!));
  const fault = changed !== undefined ? changedInput(changed) : wrongKind(outputs);
  return fault ? { ok: false, fault } : { ok: true, outputs: inOwnMemory(outputs as ReferenceTensors) };
}

/** Runs a reference in this process, for its own author: tests, and programs that use warpsmith. */
export const inProcess =
  (reference: ReferenceFunction, others: Omit<ReferenceModule, 'reference'> = {}): RunReference =>
  async ({ inputs, signal, ...run }) => {
    signal?.throwIfAborted();
    const copies = Object.fromEntries(Object.entries(inputs).map(([name, values]) => [name, values.slice()]));
    const outcome = callReference({ reference, ...others }, { ...run, inputs: copies }, inputs);
    if (outcome.ok) return outcome.outputs;
    const { stack: _, message, ...details } = outcome.fault;
    throw new WarpsmithError({ ...details, message: `the reference ${message}` });
  };

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
