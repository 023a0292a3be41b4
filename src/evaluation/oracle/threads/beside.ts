import type { PlannedBuffer } from '../../../core/launch-plan.ts';
import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import type { Dimensions, Problem } from '../../../core/problem.ts';
import { memoryOf } from '../../../process/memory-of.ts';
import { ThreadLost } from '../../../process/task-threads.ts';
import { elementCountOf } from '../../launches/layout.ts';
import { disagreement } from '../disagreement.ts';
import { type CheckKey, type DrawnInputs, drawInputs } from '../draw-inputs.ts';
import {
  type Expectations,
  expectationsFrom,
  hasSignificantParts,
  type WorkOutDisagreement,
  type WorkOutExpectations,
} from '../expectations.ts';
import { type InputsToPerturb, perturbedBytes } from '../perturbed-bytes.ts';
import { outputsOf, type ReferenceRuns } from '../reference-runs.ts';
import type { OracleThreads } from './oracle-threads.ts';

/** What fewer elements take is less than what asking a thread takes. */
const LEAST_ELEMENTS = 4096;

/** Inputs of a check, drawn by a thread if there is one. @throws as `drawInputs`. */
export async function drawBeside(threads: OracleThreads | undefined, key: CheckKey): Promise<DrawnInputs> {
  const drawHere = (): DrawnInputs => drawInputs({ ...key, buffers: expandBuffers(key.problem.file, key.dimensions) });
  return threads ? orHere(drawAhead(threads, key), drawHere) : drawHere();
}

/** The same by a thread alone. @throws ThreadLost; as `drawInputs`. */
export function drawAhead(threads: OracleThreads, key: CheckKey): Promise<DrawnInputs> {
  const { dimensions, seed, generatorSet } = key;
  const { folder, file } = key.problem;
  return threads.ask('draw', { folder, file, dimensions, seed, generatorSet });
}

/** As `perturbedBytes`, by a thread if there is one: it is sent the bytes, which are a quarter of what they are as numbers. */
export async function perturbBeside(
  threads: OracleThreads | undefined,
  { file }: Problem,
  dimensions: Dimensions,
  given: InputsToPerturb,
  run: number,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const perturbHere = (): Map<string, Uint8Array> => perturbedBytes(expandBuffers(file, dimensions), given, run);
  const { inputs } = given;
  return threads ? orHere(threads.ask('perturb', { file, dimensions, inputs, run }), perturbHere) : perturbHere();
}

/** As `expectationsFrom`, by a thread if there is one. @throws as that. */
export function expectBeside(threads: OracleThreads | undefined, ...request: Parameters<WorkOutExpectations>) {
  const [problem, dimensions, runs, again] = request;
  const buffers = expandBuffers(problem.file, dimensions);
  const expectHere = (runs: ReferenceRuns): Expectations => expectationsFrom(problem, buffers, dimensions, runs);
  const ask = (threads: OracleThreads, sent: ReferenceRuns, given: Iterable<ArrayBuffer>): Promise<Expectations> =>
    threads.ask('expect', { file: problem.file, dimensions, runs: sent }, given);
  return withRuns(threads, { buffers, runs, again }, ask, expectHere);
}

/** As `disagreement` with what is expected from these runs, by a thread if there is one. @throws as `expectationsFrom`. */
export function disagreeBeside(threads: OracleThreads | undefined, ...request: Parameters<WorkOutDisagreement>) {
  const [problem, dimensions, { runs, outputs, again }] = request;
  const buffers = expandBuffers(problem.file, dimensions);
  const disagreeHere = (runs: ReferenceRuns): string | undefined =>
    disagreement(buffers, expectationsFrom(problem, buffers, dimensions, runs), outputs);
  const ask = (threads: OracleThreads, sent: ReferenceRuns, given: Iterable<ArrayBuffer>) =>
    threads.ask('disagree', { file: problem.file, dimensions, runs: sent, outputs }, given);
  return withRuns(threads, { buffers, runs, again }, ask, disagreeHere);
}

/** What is worked out from runs of a reference, and how they are had again if they went to a thread that was lost with them. */
interface RunsToSend {
  readonly buffers: readonly PlannedBuffer[];
  readonly runs: ReferenceRuns;
  readonly again: (() => Promise<ReferenceRuns>) | undefined;
}

async function withRuns<T>(
  threads: OracleThreads | undefined,
  { buffers, runs, again }: RunsToSend,
  ask: (threads: OracleThreads, sent: ReferenceRuns, given: Iterable<ArrayBuffer>) => Promise<T>,
  here: (runs: ReferenceRuns) => T,
): Promise<T> {
  const elements = outputsOf(buffers).reduce((sum, buffer) => sum + elementCountOf(buffer), 0);
  if (!threads || elements < LEAST_ELEMENTS) return here(runs);
  // Inputs say only which elements matter. They are others', too, and never given away.
  const sent = hasSignificantParts(buffers) ? runs : { ...runs, inputs: undefined };
  const { oracle, naive, perturbed } = runs;
  try {
    return await ask(threads, sent, again ? memoryOf([oracle, naive, perturbed]) : []);
  } catch (error) {
    if (!(error instanceof ThreadLost)) throw error;
    return here(again && areGone(runs) ? await again() : runs);
  }
}

const areGone = ({ oracle }: ReferenceRuns): boolean => Object.values(oracle).some(({ buffer }) => isDetached(buffer));

const isDetached = (memory: ArrayBufferLike): boolean => memory instanceof ArrayBuffer && memory.detached;

async function orHere<T>(asked: Promise<T>, here: () => T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ThreadLost) return here();
    throw error;
  }
}
