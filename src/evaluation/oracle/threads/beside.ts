import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import type { Dimensions, Problem } from '../../../core/problem.ts';
import { ThreadLost } from '../../../process/task-threads.ts';
import { elementCountOf } from '../../launches/layout.ts';
import { type CheckKey, type DrawnInputs, drawInputs } from '../draw-inputs.ts';
import { type Expectations, expectationsFrom, hasSignificantParts } from '../expectations.ts';
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

/** As `expectationsFrom`, by a thread if there is one. @throws as that. */
export async function expectBeside(
  threads: OracleThreads | undefined,
  problem: Problem,
  dimensions: Dimensions,
  runs: ReferenceRuns,
): Promise<Expectations> {
  const buffers = expandBuffers(problem.file, dimensions);
  const expectHere = (): Expectations => expectationsFrom(problem, buffers, dimensions, runs);
  const elements = outputsOf(buffers).reduce((sum, buffer) => sum + elementCountOf(buffer), 0);
  if (!threads || elements < LEAST_ELEMENTS) return expectHere();
  // Inputs say only which elements matter.
  const sent = hasSignificantParts(buffers) ? runs : { ...runs, inputs: undefined };
  return orHere(threads.ask('expect', { file: problem.file, dimensions, runs: sent }), expectHere);
}

async function orHere<T>(asked: Promise<T>, here: () => T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ThreadLost) return here();
    throw error;
  }
}
