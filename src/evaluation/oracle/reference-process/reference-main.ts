import { stripTypeScriptTypes } from 'node:module';
import process from 'node:process';
import { callReference, type ReferenceModule } from '../../../core/call-reference.ts';
import type {
  Perturbation,
  ReferenceFunction,
  ReferenceRowsFunction,
  ReferenceTensors,
  Rows,
} from '../../../core/problem.ts';
import type { SparseTensors } from '../../../core/sparse-tensor.ts';
import type { LineMessage } from '../../../process/line-messages.ts';
import { serveLines } from '../../../process/serve-lines.ts';
import { float64Room } from '../float64/room.ts';
import { perturbInputs, perturbSparse } from '../perturbed-inputs.ts';
import { confine } from './confine.ts';
import { type Answer, type Question, sparseOf, tensorsOf, withTensors } from './protocol.ts';

/*
 * The process in which a problem's reference runs. One argument: the URL of the module. It starts under Node's permission
 * model (see reference-host.ts) and closes its gaps before it loads the module.
 */

const url = process.argv[2]!;
const texts = new Map<string, string>();
let loaded: ReferenceModule | undefined;
/** Inputs of the last run. Those of one check come once, and are run as they are and perturbed. */
let kept: ReferenceTensors = {};
/** What the module gets of each, which it may change. The next run has the same places, so that the system need not clear others. */
const places = new Map<string, ArrayBuffer>();

const answer = (header: Answer): LineMessage => withTensors(header, {});

function strip(text: string): Answer {
  try {
    return { kind: 'stripped', javaScript: stripTypeScriptTypes(text) };
  } catch {
    return { kind: 'stripped' };
  }
}

async function load(javaScript: string | undefined): Promise<Answer> {
  if (javaScript !== undefined) texts.set(url, javaScript);
  try {
    const module: Record<string, unknown> = await import(/* @vite-ignore */ url);
    const { reference, referenceRows, referenceRowsOfSparse, mistakes } = module;
    if (typeof reference === 'function') {
      loaded = {
        reference: reference as ReferenceFunction,
        referenceRows: rowsFunction(referenceRows),
        referenceRowsOfSparse: rowsFunction(referenceRowsOfSparse),
        mistakes: typeof mistakes === 'object' ? (mistakes as Record<string, ReferenceFunction>) : undefined,
      };
    }
    return { kind: 'loaded', exports: Object.keys(module), hasReference: loaded !== undefined };
  } catch (error) {
    const isError = error instanceof Error;
    return {
      kind: 'not-loaded',
      name: isError ? error.name : typeof error,
      message: isError ? error.message : `${error}`,
      stack: isError && typeof error.stack === 'string' ? error.stack : undefined,
    };
  }
}

const rowsFunction = (exported: unknown): ReferenceRowsFunction | undefined =>
  typeof exported === 'function' ? (exported as ReferenceRowsFunction) : undefined;

const rowsFrom = (names: readonly string[], message: LineMessage): Rows =>
  Object.fromEntries(Object.entries(tensorsOf(names, message)).map(([name, rows]) => [name, Uint32Array.from(rows)]));

/** Another array each time: a module may know its arrays again. */
function placeFor(name: string, length: number): Float64Array {
  const bytes = length * Float64Array.BYTES_PER_ELEMENT;
  const known = places.get(name);
  const place = known?.byteLength === bytes ? known : new ArrayBuffer(bytes);
  places.set(name, place);
  return new Float64Array(place);
}

/** What the module gets: the inputs, perturbed perhaps, in other memory than they are kept in. */
function givenOf(inputs: ReferenceTensors, perturbation: Perturbation | undefined): ReferenceTensors {
  const given: Record<string, Float64Array> = perturbation
    ? perturbInputs(inputs, perturbation, placeFor)
    : { ...inputs };
  for (const [name, values] of Object.entries(inputs)) {
    if (given[name] !== values) continue;
    given[name] = placeFor(name, values.length);
    given[name].set(values);
  }
  return given;
}

function run(question: Question & { command: 'run' }, message: LineMessage): LineMessage {
  const { names, kept: known, keeps, rowsOf } = question;
  const sent = names.filter((name) => !known.includes(name));
  const given = { ...kept, ...tensorsOf(sent, message) };
  const inputs = Object.fromEntries(names.map((name) => [name, given[name]!]));
  kept = keeps ? inputs : {};
  for (const name of places.keys()) if (!names.includes(name)) places.delete(name);
  const others = message.payloads.slice(sent.length);
  const sparse = question.sparse.length > 0 ? sparseOf(question.sparse, others) : undefined;
  const pieces = question.sparse.reduce((sum, { at }) => sum + at.length, 0);
  const rows = rowsOf && rowsFrom(rowsOf, { ...message, payloads: others.slice(pieces) });
  try {
    return runEach(question, inputs, sparse, rows);
  } finally {
    if (!keeps) places.clear();
  }
}

/** One run for each change of the inputs. */
function runEach(
  question: Question & { command: 'run' },
  inputs: ReferenceTensors,
  sparse: SparseTensors | undefined,
  rows: Rows | undefined,
): LineMessage {
  const { dimensions, rounding, mistake, changes } = question;
  const outputs: ReferenceTensors[] = [];
  for (const change of changes) {
    // That a reference changes its inputs is seen in the runs on unperturbed ones, of which every check has one.
    const call = {
      ...{ dimensions, rounding, mistake, rows },
      inputs: givenOf(inputs, change ?? undefined),
      sparse: change && sparse ? perturbSparse(sparse, change) : sparse,
    };
    const outcome = callReference(loaded!, call, change ? undefined : inputs, float64Room);
    if (!outcome.ok) return answer({ kind: 'fault', fault: outcome.fault });
    // The module may give back what it was given, and the next run has the same places.
    outputs.push(changes.length > 1 ? copied(outcome.outputs) : outcome.outputs);
  }
  const tensors = outputs.flatMap((one) => Object.values(one));
  return withTensors({ kind: 'done', names: Object.keys(outputs[0]!) }, tensors);
}

const copied = (tensors: ReferenceTensors): ReferenceTensors =>
  Object.fromEntries(Object.entries(tensors).map(([name, values]) => [name, values.slice()]));

serveLines(async (message) => {
  const question = message.header as unknown as Question;
  if (question.command === 'run') return run(question, message);
  return answer(question.command === 'strip' ? strip(question.text) : await load(question.javaScript));
});
confine(url, texts);
