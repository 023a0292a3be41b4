import { WarpsmithError } from '../../core/errors.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import type { FailureStatus } from '../../core/status.ts';
import { createStream, type RandomStream } from '../../stats/random.ts';
import { FINITE_POISON } from '../launches/poison.ts';
import type { Refused } from '../launches/refusal.ts';
import { nameInSlot, repeatPlan } from '../launches/repeat-plan.ts';
import type { RunResult } from '../launches/run-once.ts';
import type { PreparedCheck } from '../oracle/expectation-cache.ts';
import { type Expectations, expectationsFor } from '../oracle/expectations.ts';
import { NATURAL, type Trial } from './check-runs.ts';
import { countOf, elementsLike, type Outputs, placeOf } from './differences.ts';
import { explainHistory, refuseUninitialised, skipsWork } from './explain-difference.ts';
import type { PassedCheck } from './judge-check.ts';
import { judgeLaunchesInRow, judgeManyLaunches } from './judge-many-launches.ts';
import { judgeOlderReads } from './judge-older-reads.ts';
import {
  cameOutOtherwise,
  compareOutputs,
  describeDifference,
  describeWrong,
  type JudgedCheck,
  mayBeChance,
  passes,
  refused,
  type Verdicts,
} from './judged-check.ts';
import { altered, noise, shuffled } from './leftovers.ts';
import {
  type Contents,
  inputsWithRows,
  mayChange,
  mixed,
  OTHERS,
  RESEMBLANCES,
  type Resemblance,
  resembling,
  type Scale,
  scaled,
  withNeighboursExchanged,
  withOneOther,
  withRowsExchanged,
} from './resembling-inputs.ts';

/** Launches in a row without a look between them. */
const BURST_LAUNCHES = 4;

/** A check whose launches are repeated. */
interface Repeated {
  readonly problem: Problem;
  readonly dimensions: Dimensions;
  /** The check, passed, whose buffers and module are still there. */
  readonly passed: PassedCheck;
  /** Seeds the contents of the outputs, and the choice of inputs for each launch. */
  readonly seed: number;
  /** What shared and local memory hold when a CTA begins. */
  readonly privateMemory?: 'leftovers';
}

interface Repetition extends Repeated {
  /** Other inputs of the same shapes. */
  readonly other: PreparedCheck;
  /** Whether a thousand launches are made in a row, too. */
  readonly goesOn: boolean;
}

/**
 * Repeats a right kernel's launches as a measurement does, in situations in which remembering earlier launches would save
 * work: over its own results, with new inputs in the same buffers, and several times in a row.
 */
export async function judgeRepeatedLaunches(repetition: Repetition): Promise<Refused | undefined> {
  const { runs } = repetition.passed.judged;
  const refusal = await judgeLaunches({ ...repetition, privateMemory: 'leftovers' });
  if (!refusal)
    return (
      (await judgeOverZeros(repetition)) ??
      (repetition.goesOn ? judgeLaunchesInRow(runs, isRightIn(repetition)) : undefined)
    );
  // If the kernel keeps nothing in global memory: does the refusal depend on shared and local memory of earlier launches?
  if (!runs.choosesPrivateMemory || runs.remembers) return refusal;
  await runs.replaceInputs(runs.contents);
  const withoutLeftovers = await judgeLaunches(repetition);
  if (withoutLeftovers) return refusal;
  return { ...refusal, reason: `what earlier launches left in shared or local memory matters: ${refusal.reason}` };
}

/** Zeros in outputs, undefined workspaces, shared and local memory. */
async function judgeOverZeros({ passed }: Repetition): Promise<Refused | undefined> {
  const { judged, first, verdicts } = passed;
  const { runs, outputs, tally } = judged;
  await runs.replaceInputs(runs.contents);
  const run = await runs.zeroed();
  if (!run.ok) return run;
  if (cameOutOtherwise(judged, first, run))
    return refuseUninitialised(runs.name, describeDifference(outputs, first.outputs, run.outputs)!, 'zeros');
  tally.add(verdicts);
  return undefined;
}

async function judgeLaunches(repetition: Repetition): Promise<Refused | undefined> {
  const overResults = await judgeOverResults(repetition);
  if (overResults) return overResults;
  const renewed = await judgeNewInputs(repetition);
  if (!renewed.ok) return renewed;
  return (
    (await judgeBurst(repetition, renewed)) ??
    (await judgeResemblingInputs(repetition)) ??
    judgeOverAlmostRight(repetition, renewed)
  );
}

/** A trial with what shared and local memory hold. */
const trialOf = ({ privateMemory }: Pick<Repeated, 'privateMemory'>, trial: Trial): Trial => ({
  ...trial,
  privateMemory,
});

const streamOf = ({ passed, seed }: Repeated, what: string): RandomStream =>
  createStream(seed, passed.judged.runs.name, what);

/** Contents of every write-only output, made from the given results. */
const leftoversOf = (
  { outputs }: JudgedCheck,
  results: Outputs,
  make: (elements: Uint8Array, dtype: JudgedCheck['outputs'][number]['dtype']) => Uint8Array,
): Map<string, Uint8Array> =>
  new Map(
    outputs.filter(({ role }) => role === 'out').map(({ name, dtype }) => [name, make(results.get(name)!, dtype)]),
  );

/** The same inputs again, over the results of the first run with some elements secretly altered. */
async function judgeOverResults(repetition: Repetition): Promise<Refused | undefined> {
  const { judged, first, verdicts } = repetition.passed;
  const { runs, outputs, tally } = judged;
  const stream = streamOf(repetition, 'altered results');
  const leftovers = leftoversOf(judged, first.outputs, (elements, dtype) => altered(elements, dtype, stream));
  const trial = trialOf(repetition, {
    name: 'a run over earlier results, some altered',
    poison: FINITE_POISON,
    leftovers,
  });
  const run = await runs.run(trial);
  if (!run.ok) return run;
  if (!cameOutOtherwise(judged, first, run)) {
    tally.add(verdicts);
    return undefined;
  }
  const left = elementsLike(outputs, run.outputs, first.outputs, leftovers);
  const afresh = await runs.runAfresh(trial);
  if (!afresh.ok) return afresh;
  const name = `${runs.name} · ${trial.name}`;
  if (cameOutOtherwise(judged, afresh, run)) {
    return left?.all ? refused('wrong', skipsWork(left), name) : explainHistory(judged, run, afresh);
  }
  const difference = left?.all
    ? `${countOf(left)} are left as they lay, first ${placeOf(left)}`
    : describeDifference(outputs, first.outputs, run.outputs)!;
  return refused('unsafe', `output depends on what it held before: ${difference}`, name);
}

/** A right run on the other inputs, with its expectation. */
interface Renewed {
  readonly ok: true;
  readonly run: RunResult;
  readonly verdicts: Verdicts;
  readonly expectations: Expectations;
}

/** New inputs in the same buffers, with the old results still in the outputs. */
async function judgeNewInputs(repetition: Repetition): Promise<Renewed | Refused> {
  const { passed, other } = repetition;
  const { judged, first } = passed;
  const { runs, outputs, tally } = judged;
  let expectations = runs.allowed(await other.expectations());
  await runs.replaceInputs(other.inputs.bytes);
  const leftovers = leftoversOf(judged, first.outputs, (elements) => elements);
  const trial = trialOf(repetition, {
    name: 'a run with new inputs over the results of the old ones',
    poison: FINITE_POISON,
    leftovers,
  });
  const run = await runs.run(trial);
  if (!run.ok) return run;
  let verdicts = compareOutputs(outputs, expectations, run.outputs);
  if (other.surerExpectations && !passes(verdicts) && mayBeChance(verdicts)) {
    expectations = runs.allowed(await other.surerExpectations());
    verdicts = compareOutputs(outputs, expectations, run.outputs);
  }
  tally.add(verdicts);
  if (passes(verdicts)) return { ok: true, run, verdicts, expectations };

  const renewed: JudgedCheck = { ...judged, expectations };
  return explainStale(renewed, first, run, verdicts);
}

/**
 * Inputs that differ from the last ones in few elements, and then those with a few neighbours exchanged, each over the results of the ones before:
 * a kernel that looks at some of its output, and takes it for what it would write, leaves the others.
 */
async function judgeOverAlmostRight(repetition: Repetition, { run: last }: Renewed): Promise<Refused | undefined> {
  const { passed, other } = repetition;
  const { runs } = passed.judged;
  const { buffers } = runs.plan;
  const streams = (how: string) => (input: string) => streamOf(repetition, `over results of ${how} ${input}`);
  const few = mixed(other.inputs.bytes, runs.contents, { buffers, streamOf: streams('almost the same') });
  const exchanged = withNeighboursExchanged(few, { buffers, streamOf: streams('exchanged') });
  const first = await judgeOver(repetition, last, few, 'differ in few elements');
  if (!first.ok) return first;
  const second = await judgeOver(repetition, first, exchanged, 'have neighbours exchanged');
  return second.ok ? judgeOverOtherRows(repetition, { last: second, inputs: exchanged }) : second;
}

/** The last inputs with rows exchanged, over their results: a sum over a tile's bits stays. */
async function judgeOverOtherRows(
  repeated: Repeated,
  { last, inputs }: { readonly last: RunResult; readonly inputs: Contents },
): Promise<Refused | undefined> {
  const { buffers } = repeated.passed.judged.runs.plan;
  const names = inputsWithRows(inputs, buffers);
  if (names.length === 0) return undefined;
  const rows = withRowsExchanged(inputs, names, { buffers, stream: streamOf(repeated, 'rows over results') });
  const run = await judgeOver(repeated, last, rows, 'have rows exchanged');
  return run.ok ? undefined : run;
}

/** Inputs over the results of those before. */
function judgeOver(
  repeated: Repeated,
  { outputs }: Pick<RunResult, 'outputs'>,
  inputs: Contents,
  how: string,
): Promise<RunResult | Refused> {
  const trial: Trial = {
    name: `a run over the results of inputs that ${how}`,
    poison: FINITE_POISON,
    leftovers: leftoversOf(repeated.passed.judged, outputs, (elements) => elements),
  };
  return judgeAgainstAfresh(repeated, { inputs, trial }, (difference) => [
    'unsafe',
    `output depends on what it held before, results of inputs that ${how}: ${difference}`,
  ]);
}

/** Whether a wrong run on new inputs shows the old results, and whether the kernel put them there. */
async function explainStale(
  renewed: JudgedCheck,
  old: RunResult,
  run: RunResult,
  verdicts: Verdicts,
): Promise<Refused> {
  const { runs, outputs, expectations } = renewed;
  const name = `${runs.name} · ${run.conditions.name}`;
  const [repoisoned, afresh] = [await runs.run(NATURAL), await runs.runAfresh(NATURAL)];
  if (!repoisoned.ok) return repoisoned;
  if (!afresh.ok) return afresh;
  if (!passes(compareOutputs(outputs, expectations, afresh.outputs))) {
    return refused('wrong', describeWrong(verdicts)!, name);
  }
  const remembered = elementsLike(outputs, repoisoned.outputs, afresh.outputs, old.outputs);
  if (remembered) return refused('wrong', remembersResults(countOf(remembered)), name);
  const left = elementsLike(outputs, run.outputs, afresh.outputs, old.outputs);
  if (!left?.all) return explainHistory(renewed, run, afresh);
  if (cameOutOtherwise(renewed, afresh, repoisoned)) return refused('wrong', skipsWork(left), name);
  const difference = `${countOf(left)} are left as they lay, first ${placeOf(left)}`;
  return refused('unsafe', `output depends on what it held before: ${difference}`, name);
}

const remembersResults = (elements: string): string =>
  `output is that of earlier inputs, in ${elements}: the kernel remembers results, by the address of its inputs or in a ` +
  'workspace or __device__ variable';

/**
 * Inputs that agree with those of the launch before in most elements, in all but their greatest, or in everything but their order,
 * and the earlier ones again: a kernel that knows inputs by a few of them or by a checksum takes these for the same, and one
 * that trusts what it kept, such as a maximum or a partial sum, is wrong. Last, in all but one element. Only for kernels that have a
 * memory, and for inputs whose elements do not depend on one another.
 */
async function judgeResemblingInputs(repetition: Repetition): Promise<Refused | undefined> {
  const { passed, other, problem } = repetition;
  const { runs } = passed.judged;
  if (!runs.remembers) return undefined;
  const { buffers } = runs.plan;
  const streams = (how: string) => (input: string) => streamOf(repetition, `${how} ${input}`);
  const base = mixed(other.inputs.bytes, runs.contents, { buffers, streamOf: streams('almost the same') });
  const first = await judgeResembling(repetition, base, 'differ from the last ones in few elements');
  if (!first.ok) return first;
  for (const how of RESEMBLANCES) {
    const inputs = resembling(base, how, { buffers, problem: problem.file, streamOf: streams(how) });
    const next = await judgeResembling(repetition, inputs, how);
    if (!next.ok) return next;
    const back = await judgeResembling(repetition, base, `are the last but one; the last ones ${how}`, first);
    if (!back.ok) return back;
  }
  return (
    (await judgeExchangedRows(repetition, { base, first })) ??
    (await judgeOneOther(repetition, base)) ??
    judgeScaled(repetition, base)
  );
}

/**
 * Rows exchanged in all inputs, and in all but one: who adds hashes of rows up, or of rows that belong together, takes them for the same, though they may come in an order that matters.
 *
 * @param last the last inputs, and what they give.
 */
async function judgeExchangedRows(
  repeated: Repeated,
  last: { readonly base: Contents; readonly first: RunResult },
): Promise<Refused | undefined> {
  const { base, first } = last;
  const { buffers } = repeated.passed.judged.runs.plan;
  const names = inputsWithRows(base, buffers);
  const choices = names.length > 1 ? [names, ...names.map((but) => names.filter((name) => name !== but))] : [names];
  for (const [i, inputs] of choices.entries()) {
    if (inputs.length === 0) continue;
    const how = `have two rows of ${inputs.join(' and ')} exchanged`;
    const exchanged = withRowsExchanged(base, inputs, { buffers, stream: streamOf(repeated, `exchanged rows ${i}`) });
    const next = await judgeResembling(repeated, exchanged, how);
    if (!next.ok) return next;
    const back = await judgeResembling(repeated, base, `are the last but one; the last ones ${how}`, first);
    if (!back.ok) return back;
  }
  return undefined;
}

/** As large as may be, and then as small: what a kernel has kept of the large ones, such as a running total, holds no bit of the small ones' results. */
async function judgeScaled(repeated: Repeated, base: Contents): Promise<Refused | undefined> {
  const request = { buffers: repeated.passed.judged.runs.plan.buffers, problem: repeated.problem.file };
  for (const [scale, how] of SCALES) {
    const inputs = scaled(base, scale, request);
    const run = inputs && (await judgeAfterOthers(repeated, inputs, how));
    if (run && !run.ok) return run;
  }
  return undefined;
}

const SCALES = [
  ['most', 'are far larger than the last ones'],
  ['least', 'are far smaller than the last ones'],
] as const satisfies readonly (readonly [Scale, string])[];

/** Large inputs are recognised by samples, or by checksums. */
const CHECKSUMS: readonly Resemblance[] = ['have the same sums', 'have the same exclusive or'];

/**
 * A check of a larger shape. A kernel may look at its output, or use what it kept, for large inputs only; and one that knows inputs by samples
 * knows all that a small check has.
 */
export async function judgeMemory(repeated: Repeated, remembers: boolean): Promise<Refused | undefined> {
  const { judged, first } = repeated.passed;
  const { runs } = judged;
  const { buffers } = runs.plan;
  const own = { ...repeated, privateMemory: 'leftovers' } as const;
  const streams = (how: string) => (input: string) => streamOf(own, `${how} ${input}`);
  const exchanged = withNeighboursExchanged(runs.contents, { buffers, streamOf: streams('exchanged') });
  const over = await judgeOver(own, first, exchanged, 'have neighbours exchanged');
  if (!over.ok) return over;
  const otherRows = await judgeOverOtherRows(own, { last: over, inputs: exchanged });
  if (otherRows) return otherRows;
  if (!remembers) return undefined;
  const again = (): Promise<RunResult | Refused> => judgeResembling(own, runs.contents, 'are the last ones', first);
  const alike = CHECKSUMS.map((how) => () => {
    const request = { buffers, problem: repeated.problem.file, streamOf: streams(how) };
    return judgeResembling(own, resembling(runs.contents, how, request), how);
  });
  // What is remembered is that of the check's own inputs, before each of the others.
  for (const step of [again, () => judgeOneOther(own, runs.contents), ...alike.flatMap((one) => [again, one])]) {
    const result = await step();
    if (result?.ok === false) return result;
  }
  const atRest = await judgeAtRest(own);
  if (atRest) return atRest;
  const inAnotherOrder = 'are the same values in another order';
  const request = { buffers, problem: repeated.problem.file, streamOf: streams(inAnotherOrder) };
  const others = resembling(runs.contents, inAnotherOrder, request);
  const isRight = isRightIn(own);
  // What is wrong whatever older reads give is told so.
  return (await judgeManyLaunches(runs, isRight)) ?? judgeOlderReads(judged, { others, first, isRight });
}

/** In each input in turn, one element is another: as large as the others, and far larger, since a long sum's tolerance hides one of the usual size. */
async function judgeOneOther(repeated: Repeated, base: Contents): Promise<Refused | undefined> {
  const { passed, problem } = repeated;
  for (const input of passed.judged.runs.plan.buffers) {
    if (!base.has(input.name) || !mayChange(input)) continue;
    for (const how of OTHERS) {
      const stream = (name: string): RandomStream => streamOf(repeated, `one other ${how} ${name}`);
      const inputs = withOneOther(base, input, { problem: problem.file, how, streamOf: stream });
      const run = inputs && (await judgeResembling(repeated, inputs, `differ in one element of ${input.name}`));
      if (run && !run.ok) return run;
    }
  }
  return undefined;
}

/** So many launches on the same inputs, as long as there is time: a kernel may remember only what has not changed for some. */
const AT_REST = { launches: 130, ms: 2000 } as const;

/** After these, one element of each input in turn is another, as far as may be. */
async function judgeAtRest(repeated: Repeated): Promise<Refused | undefined> {
  const { passed, problem } = repeated;
  const { runs } = passed.judged;
  for (const input of runs.plan.buffers) {
    if (!runs.contents.has(input.name) || !mayChange(input)) continue;
    const stream = (name: string): RandomStream => streamOf(repeated, `one other at rest ${input.name} ${name}`);
    const request = { problem: problem.file, streamOf: stream };
    const inputs = OTHERS.toReversed()
      .map((size) => withOneOther(runs.contents, input, { ...request, how: size }))
      .find((contents) => contents !== undefined);
    if (!inputs) continue;
    await runs.replaceInputs(runs.contents);
    const end = performance.now() + AT_REST.ms;
    let made = 0;
    for (; made < AT_REST.launches && performance.now() < end; made++) {
      const run = await runs.run(NATURAL);
      if (!run.ok) return run;
    }
    const how = `differ in one element of ${input.name} from those of ${made} launches before`;
    const after = await judgeResembling(repeated, inputs, how);
    if (!after.ok) return after;
  }
  return undefined;
}

/** A run on inputs that resemble those of the launches before. */
function judgeResembling(
  repeated: Repeated,
  inputs: Contents,
  how: string,
  known?: RunResult,
): Promise<RunResult | Refused> {
  const trial = { ...NATURAL, name: `a run with inputs that ${how}` };
  return judgeAgainstAfresh(repeated, { inputs, trial, known }, (difference) => [
    'wrong',
    `results of earlier inputs come back for others that resemble them: these ${how}; ${difference}`,
  ]);
}

/** A run on inputs that do not resemble those of the launches before. */
function judgeAfterOthers(repeated: Repeated, inputs: Contents, how: string): Promise<RunResult | Refused> {
  const trial = { ...NATURAL, name: `a run with inputs that ${how}` };
  return judgeAgainstAfresh(repeated, { inputs, trial }, (difference) => [
    'wrong',
    `the launch before matters, where inputs ${how}: ${difference}`,
  ]);
}

interface Compared {
  readonly inputs: Contents;
  readonly trial: Trial;
  /** What these inputs give without earlier launches, if that is known. */
  readonly known?: RunResult | undefined;
}

/**
 * A run on these inputs, and what it must be: the same without earlier launches, or right.
 * @param explain what it is called if it is neither, and why.
 */
async function judgeAgainstAfresh(
  repeated: Repeated,
  { inputs, trial, known }: Compared,
  explain: (difference: string) => readonly [FailureStatus, string],
): Promise<RunResult | Refused> {
  const { judged } = repeated.passed;
  const { runs, outputs, isBitwise } = judged;
  await runs.replaceInputs(inputs);
  const run = await runs.run(trialOf(repeated, trial));
  if (!run.ok) return run;
  const afresh = known ?? (await runs.runAfresh({ ...NATURAL, name: trial.name }));
  if (!afresh.ok) return afresh;
  const difference = describeDifference(outputs, afresh.outputs, run.outputs);
  if (difference === undefined || (!isBitwise && (await isRight(repeated, inputs, run)))) return afresh;
  return refused(...explain(difference), runs.name);
}

/** Whether a run on the check's own inputs is as the first one was, or right where bits may differ. */
const isRightIn =
  (repeated: Repeated) =>
  async (run: RunResult): Promise<boolean> => {
    const { judged, first } = repeated.passed;
    const { outputs, isBitwise, runs } = judged;
    const differs = describeDifference(outputs, first.outputs, run.outputs) !== undefined;
    return !differs || (!isBitwise && (await isRight(repeated, runs.contents, run)));
  };

/** By the oracle; also where it has no answer. */
async function isRight({ problem, dimensions, passed }: Repeated, inputs: Contents, run: RunResult): Promise<boolean> {
  try {
    const { outputs, runs } = passed.judged;
    const expectations = runs.allowed(await expectationsFor({ problem, dimensions, inputs, placed: true, sure: true }));
    return passes(compareOutputs(outputs, expectations, run.outputs));
  } catch (error) {
    if (error instanceof WarpsmithError) return true;
    throw error;
  }
}

/** One launch of the burst. */
interface BurstLaunch {
  readonly inputs: ReadonlyMap<string, Uint8Array>;
  readonly leftovers: ReadonlyMap<string, Uint8Array>;
  /** The required result, from an earlier run on the same inputs. */
  readonly want: RunResult;
  readonly verdicts: Verdicts;
  readonly expectations: Expectations;
}

/** Several launches in a row, each in its own buffers, with old or new inputs over different leftovers. */
async function judgeBurst(repetition: Repetition, renewed: Renewed): Promise<Refused | undefined> {
  const { judged } = repetition.passed;
  const { runs, tally } = judged;
  const launches = burstLaunches(repetition, renewed);
  const inEverySlot = <T>(of: (launch: BurstLaunch) => ReadonlyMap<string, T>): Map<string, T> =>
    new Map(
      launches.flatMap((launch, i) => [...of(launch)].map(([name, value]) => [nameInSlot(name, i), value] as const)),
    );
  const trial = trialOf(repetition, {
    name: `${BURST_LAUNCHES} launches in a row`,
    poison: FINITE_POISON,
    leftovers: inEverySlot(({ leftovers }) => leftovers),
  });
  const plan = repeatPlan(runs.plan, BURST_LAUNCHES);
  const run = await runs.runElsewhere(
    trial,
    plan,
    inEverySlot(({ inputs }) => inputs),
  );
  if (!run.ok) return run;
  for (const [i, launch] of launches.entries()) {
    const outputs = new Map(judged.outputs.map(({ name }) => [name, run.outputs.get(nameInSlot(name, i))!]));
    const reason = launchTrouble({ ...judged, expectations: launch.expectations }, launch, { ...run, outputs });
    if (reason) return refused('wrong', `launch ${i + 1} of ${BURST_LAUNCHES} in a row: ${reason}`, runs.name);
    tally.add(launch.verdicts);
  }
  return undefined;
}

function burstLaunches(repetition: Repetition, renewed: Renewed): BurstLaunch[] {
  const { passed, other } = repetition;
  const { judged, first, verdicts } = passed;
  const stream = streamOf(repetition, 'launches in a row');
  const old = { inputs: judged.runs.contents, want: first, verdicts, expectations: judged.expectations };
  const renewedInputs = { inputs: other.inputs.bytes, want: renewed.run, ...renewed };
  const turn = stream.bits(0);
  return Array.from({ length: BURST_LAUNCHES }, (_, i) => {
    const [own, foreign] = (i + turn) % 2 === 0 ? [old, renewedInputs] : [renewedInputs, old];
    const { source, make } = LEFTOVERS[(i + (turn >>> 1)) % LEFTOVERS.length]!;
    const results = (source === 'own' ? own : foreign).want.outputs;
    const drawn = streamOf(repetition, `leftovers of launch ${i}`);
    return { ...own, leftovers: leftoversOf(judged, results, (elements, dtype) => make(elements, dtype, drawn)) };
  });
}

/**
 * The initial outputs of a burst's launches (results of the same or of the other inputs), and the checks of their final
 * ones.
 */
const LEFTOVERS: readonly { source: 'own' | 'foreign'; make: typeof altered }[] = [
  { source: 'own', make: noise },
  { source: 'own', make: shuffled },
  { source: 'foreign', make: (elements) => elements },
  { source: 'own', make: altered },
];

function launchTrouble(judged: JudgedCheck, launch: BurstLaunch, run: RunResult): string | undefined {
  if (!cameOutOtherwise(judged, launch.want, run)) return undefined;
  const left = elementsLike(judged.outputs, run.outputs, launch.want.outputs, launch.leftovers);
  if (left?.all) return skipsWork(left);
  return describeDifference(judged.outputs, launch.want.outputs, run.outputs)!;
}
