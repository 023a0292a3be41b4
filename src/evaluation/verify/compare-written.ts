import { sizeOfDType } from '../../core/dtype.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import type { Dimensions, Problem, Rows } from '../../core/problem.ts';
import { valuesKey } from '../../core/values.ts';
import { createStream } from '../../stats/random.ts';
import { NAN_POISON } from '../launches/poison.ts';
import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import { DECLARED } from '../oracle/check.ts';
import { compareRows } from '../oracle/compare-rows.ts';
import type { PreparedCheck } from '../oracle/expectation-cache.ts';
import { chooseFrom, expectationsOfRows, gatherRows, LEAST_ROWS } from '../oracle/expected-rows.ts';
import { isLarge, leastMaySuffice, outputsOf } from '../oracle/reference-runs.ts';
import { rowCount, rowLength } from '../oracle/row-parts.ts';
import { CorrectnessTally } from './correctness-tally.ts';
import { describeWrong, passes, type Verdicts } from './judged-check.ts';

/** What a part of a launch's CTAs wrote, beside what is right. */
interface Written {
  /** How many elements were compared. */
  readonly elements: number;
  readonly wrong: Pick<Refused, 'reason' | 'correctness'> | undefined;
}

export const NOTHING_WRITTEN: Written = { elements: 0, wrong: undefined };

interface WrittenRequest {
  readonly problem: Problem;
  readonly dimensions: Dimensions;
  readonly seed: number;
  readonly prepared: PreparedCheck;
  /** Over NaN poison. */
  readonly run: RunResult;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Compares some rows in which a sample of CTAs wrote, where it did. Nothing where that can't be told, or where the reference takes long.
 *
 * @throws as the reference.
 */
export async function compareWritten(request: WrittenRequest): Promise<Written> {
  const { problem, dimensions, seed, signal, prepared, run } = request;
  const { buffers, inputs } = prepared;
  const { outputs: got } = run;
  const outputs = outputsOf(buffers);
  // Other outputs hold values from the start, and a reference that can't compute single rows may take hours for all.
  const canTell = outputs.every(({ role, significant }) => role === 'out' && significant === undefined);
  const isQuick = !isLarge(problem, dimensions) || ((await problem.reference.sideBySide?.(signal)) ?? 1) > 1;
  if (!canTell || !isQuick) return NOTHING_WRITTEN;
  const written = new Map(outputs.map((buffer) => [buffer.name, writtenElements(buffer, got.get(buffer.name)!)]));
  const rows: Rows = Object.fromEntries(
    outputs.map((buffer) => {
      const stream = createStream(seed, valuesKey(dimensions), 'rows of the sample', buffer.name);
      return [buffer.name, chooseFrom(rowsWith(written.get(buffer.name)!, buffer), LEAST_ROWS, stream)];
    }),
  );
  const key = { problem, dimensions, generatorSet: DECLARED, buffers, inputs: inputs.tensors, signal };
  const compared = async (how: { isLeast?: true; sure?: true }): Promise<{ verdicts: Verdicts; elements: number }> => {
    const expected = await expectationsOfRows({ ...key, rows, ...how });
    let elements = 0;
    const expectations = new Map(
      outputs.map((buffer) => {
        const marks = written.get(buffer.name)!;
        const own = expected.rows ? gatherRows(marks, rows[buffer.name]!, rowLength(buffer)) : marks;
        elements += own.reduce((count, mark) => count + mark, 0);
        const insignificant = own.map((mark) => 1 - mark);
        return [buffer.name, { ...expected.expectations.get(buffer.name)!, insignificant }];
      }),
    );
    return { verdicts: compareRows(outputs, { ...expected, expectations }, got), elements };
  };
  // What passes the least tolerances passes the others, which take several runs of the reference.
  let { verdicts, elements } = await compared(leastMaySuffice(problem, buffers) ? { isLeast: true } : {});
  if (!passes(verdicts)) ({ verdicts, elements } = await compared({ sure: true }));
  if (passes(verdicts)) return { elements, wrong: undefined };
  const tally = new CorrectnessTally();
  tally.add(verdicts);
  return { elements, wrong: { reason: describeWrong(verdicts)!, correctness: tally.summary() } };
}

/** One byte an element: 1 where it no longer holds the poison. */
export function writtenElements({ dtype }: PlannedBuffer, bytes: Uint8Array): Uint8Array {
  const size = sizeOfDType(dtype);
  const marks = new Uint8Array(bytes.length / size);
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== NAN_POISON.byteValue) marks[Math.floor(i / size)] = 1;
  return marks;
}

function rowsWith(marks: Uint8Array, buffer: PlannedBuffer): number[] {
  const length = rowLength(buffer);
  const rows: number[] = [];
  for (let row = 0; row < rowCount(buffer); row++) {
    const start = row * length;
    if (marks.subarray(start, start + length).includes(1)) rows.push(row);
  }
  return rows;
}
