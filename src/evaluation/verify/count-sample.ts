import { sizeOfDType } from '../../core/dtype.ts';
import type { Coverage } from '../../core/evaluation.ts';
import type { LaunchPlan, PlannedBuffer } from '../../core/launch-plan.ts';
import type { Rows } from '../../core/problem.ts';
import { assignments, sum, valuesKey } from '../../core/values.ts';
import { createStream } from '../../stats/random.ts';
import { NAN_POISON } from '../launches/poison.ts';
import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import { DECLARED } from '../oracle/check.ts';
import { compareRows } from '../oracle/compare-rows.ts';
import type { PreparedCheck } from '../oracle/expectation-cache.ts';
import { chooseFrom, expectationsOfRows, gatherRows, LEAST_ROWS } from '../oracle/expected-rows.ts';
import { isLarge, outputsOf } from '../oracle/reference-runs.ts';
import { rowCount, rowLength } from '../oracle/row-parts.ts';
import { CorrectnessTally } from './correctness-tally.ts';
import { describeWrong, passes, refused } from './judged-check.ts';
import { openCheck } from './open-check.ts';
import { runChecks, type Verified, type VerifyRequest } from './verify.ts';

/** Of a workload of which only about so many CTAs are run. */
type SampleRequest = VerifyRequest & { readonly sampleCtas: number };

/**
 * Verifies a candidate at all shapes but the main workload's, then counts a part of the workload's CTAs. Nothing is verified there.
 *
 * @throws as `verify`.
 */
export async function verifyBesideSample(request: SampleRequest): Promise<Verified | Refused> {
  const others = await runChecks(request, true);
  if (!others.ok) return others;
  const sample = await countSample(request);
  const coverage = withSample(others.coverage, request, sample.ok ? sample.sampledCtas : undefined);
  if (!sample.ok) return { correctness: others.correctness, ...sample, coverage };
  const { plan, counters, printed } = sample;
  return { ok: true, correctness: others.correctness, coverage, plan, counters, printed };
}

/** Says what was left out. */
function withSample(coverage: Coverage, { dimensions }: SampleRequest, sampledCtas: Coverage['sampledCtas']): Coverage {
  const shape = assignments(dimensions).join(', ');
  const others = coverage.leftOut.filter(({ check }) => !check.startsWith(`${shape} `));
  const reason = 'of this shape, only a sample of the CTAs ran';
  return {
    ...coverage,
    sampledCtas,
    generatorSets: [],
    leftOut: [...others, { check: `every check at ${shape}`, reason }],
  };
}

/** What a part of a workload's CTAs shows. */
type CountedSample = { readonly ok: true } & Pick<Verified, 'plan' | 'counters' | 'printed'> & {
    readonly sampledCtas: NonNullable<Coverage['sampledCtas']>;
  };

/**
 * Runs about so many CTAs of the main workload, counted, and compares some of what they wrote. That shows wrong results at this size,
 * but no right ones: most of the output was not computed.
 */
async function countSample(request: SampleRequest): Promise<CountedSample | Refused> {
  const { dimensions, sampleCtas } = request;
  const opened = await openCheck(request, { dimensions, generatorSet: DECLARED, isMain: true });
  if (!opened.ok) return opened;
  const { name, plan, prepared, runs } = opened;
  try {
    const run = await runs.sample(sampleCtas);
    if (!run.ok) return hasLaterLaunches(plan) ? fedByPart(run) : run;
    // What a later launch computes follows from all CTAs of an earlier one.
    const compared = hasLaterLaunches(plan) ? NOTHING : await compareWritten(request, prepared, run);
    if (compared.wrong)
      return { ...refused('wrong', compared.wrong.reason, `${name} · ${run.conditions.name}`), ...compared.wrong };
    const { counters, printed } = run;
    const [ran, of] = [sum(counters.map((one) => one.countedCtas)), sum(counters.map((one) => one.ctaCount))];
    return { ok: true, plan, counters, printed, sampledCtas: { run: ran, of, comparedElements: compared.elements } };
  } finally {
    await runs.close();
  }
}

const hasLaterLaunches = ({ steps }: LaunchPlan): boolean => steps.filter(({ kind }) => kind === 'launch').length > 1;

/** A launch may stop at what earlier ones have not computed, which is no mistake of the kernel. */
const fedByPart = (stopped: Refused): Refused => ({
  ...stopped,
  status: stopped.status === 'timed-out' ? 'timed-out' : 'unsupported',
  reason: `a sample of CTAs can't show this kernel: a launch stopped, perhaps at what CTAs left out would have computed: ${stopped.reason}`,
});

const NOTHING = { elements: 0, wrong: undefined };

/** Compares some rows in which the sample wrote, where it did. */
async function compareWritten(
  { problem, dimensions, seed, signal }: VerifyRequest,
  { buffers, inputs }: PreparedCheck,
  { outputs: got }: RunResult,
): Promise<{ readonly elements: number; readonly wrong: Pick<Refused, 'reason' | 'correctness'> | undefined }> {
  const outputs = outputsOf(buffers);
  // Other outputs hold values from the start, and a reference that can't compute single rows may take hours for all.
  const canTell = outputs.every(({ role, significant }) => role === 'out' && significant === undefined);
  const isQuick = !isLarge(problem, dimensions) || ((await problem.reference.sideBySide?.(signal)) ?? 1) > 1;
  if (!canTell || !isQuick) return NOTHING;
  const written = new Map(outputs.map((buffer) => [buffer.name, writtenElements(buffer, got.get(buffer.name)!)]));
  const rows: Rows = Object.fromEntries(
    outputs.map((buffer) => {
      const stream = createStream(seed, valuesKey(dimensions), 'rows of the sample', buffer.name);
      return [buffer.name, chooseFrom(rowsWith(written.get(buffer.name)!, buffer), LEAST_ROWS, stream)];
    }),
  );
  const key = { problem, dimensions, generatorSet: DECLARED, buffers, inputs: inputs.tensors, signal };
  const expected = await expectationsOfRows({ ...key, rows });
  let elements = 0;
  const expectations = new Map(
    outputs.map((buffer) => {
      const marks = written.get(buffer.name)!;
      const own = expected.rows ? gatherRows(marks, rows[buffer.name]!, rowLength(buffer)) : marks;
      elements += own.reduce((count, mark) => count + mark, 0);
      return [buffer.name, { ...expected.expectations.get(buffer.name)!, insignificant: own.map((mark) => 1 - mark) }];
    }),
  );
  const verdicts = compareRows(outputs, { ...expected, expectations }, got);
  if (passes(verdicts)) return { elements, wrong: undefined };
  const tally = new CorrectnessTally();
  tally.add(verdicts);
  return { elements, wrong: { reason: describeWrong(verdicts)!, correctness: tally.summary() } };
}

/** One byte an element: 1 where it no longer holds the poison. */
function writtenElements({ dtype }: PlannedBuffer, bytes: Uint8Array): Uint8Array {
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
