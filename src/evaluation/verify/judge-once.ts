import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { decode } from '../../core/rounding.ts';
import { multiIndexOf } from '../launches/layout.ts';
import { createStream } from '../launches/random.ts';
import type { Refused } from '../launches/refusal.ts';
import { compareOutput, type OutputVerdict } from '../oracle/compare.ts';
import type { PreparedCheck } from '../oracle/expectation-cache.ts';
import { type ExpectedRows, gatherRows } from '../oracle/expected-rows.ts';
import { outputsOf } from '../oracle/reference-runs.ts';
import { type CheckRuns, NATURAL } from './check-runs.ts';
import type { CorrectnessTally } from './correctness-tally.ts';
import type { Outputs } from './differences.ts';
import { meanwhile } from './judge-check.ts';
import { describeWrong, passes, refused, type Verdicts } from './judged-check.ts';

/**
 * Runs one check once, in one of the two ways that others are run in, and compares what is expected: of some rows where
 * the whole reference takes long. What runs in different orders and over different poisons show is left to those others.
 */
export const judgeOnce = async (request: {
  runs: CheckRuns;
  prepared: PreparedCheck;
  tally: CorrectnessTally;
  seed: number;
}): Promise<Refused | undefined> => {
  const { runs, prepared, tally, seed } = request;
  const trial = createStream(seed, runs.name, 'the one run').bits(0) % 2 === 0 ? NATURAL : runs.reordered;
  const [run, expected] = await Promise.all([runs.run(trial), meanwhile(() => prepared.sample())]);
  if ('error' in expected) throw expected.error;
  if (!run.ok) return run;
  const verdicts = compareRows(outputsOf(prepared.buffers), expected.value, run.outputs);
  tally.add(verdicts);
  return passes(verdicts) ? undefined : refused('wrong', describeWrong(verdicts)!, `${runs.name} · ${trial.name}`);
};

/** Compares what is expected of some rows, or of all, with whole outputs. */
export const compareRows = (
  outputs: readonly PlannedBuffer[],
  { rows, expectations }: ExpectedRows,
  got: Outputs,
): Verdicts =>
  new Map(
    outputs.map((buffer) => {
      const { name, dtype, shape } = buffer;
      const values = decode(got.get(name)!, dtype);
      const chosen = rows?.[name];
      if (!chosen) return [name, compareOutput(buffer, expectations.get(name)!, values)];
      const length = shape.at(-1) ?? 1;
      const cut = { name, shape: [chosen.length, length] };
      const verdict = compareOutput(cut, expectations.get(name)!, gatherRows(values, chosen, length));
      return [name, inPlace(verdict, buffer, chosen)];
    }),
  );

/** The elements that it names at their places in the whole output. */
const inPlace = (verdict: OutputVerdict, { shape }: PlannedBuffer, rows: Uint32Array): OutputVerdict => {
  const place = <T extends { index: number[] }>(element: T): T => {
    const [row, column] = element.index as [number, number];
    return { ...element, index: multiIndexOf(shape, rows[row]! * (shape.at(-1) ?? 1) + column) };
  };
  const { nearest, firstWrong } = verdict;
  return {
    ...verdict,
    ...(nearest && { nearest: place(nearest) }),
    ...(firstWrong && { firstWrong: place(firstWrong) }),
  };
};
