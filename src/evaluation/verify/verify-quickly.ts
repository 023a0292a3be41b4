import type { Coverage } from '../../core/evaluation.ts';
import type { Dimensions } from '../../core/problem.ts';
import { fitsSharedMemory } from '../launches/fits-shared-memory.ts';
import type { Refused } from '../launches/refusal.ts';
import { type Check, DECLARED } from '../oracle/check.ts';
import { listedChecks } from '../oracle/checks/listed.ts';
import { cheapestToRepeat } from '../oracle/checks/repeated.ts';
import { compareRows } from '../oracle/compare-rows.ts';
import { outputsOf } from '../oracle/reference-runs.ts';
import { NATURAL } from './check-runs.ts';
import { CorrectnessTally } from './correctness-tally.ts';
import { meanwhile } from './judge-check.ts';
import { judgeOnce } from './judge-once.ts';
import { describeWrong, passes, refused } from './judged-check.ts';
import { openCheck } from './open-check.ts';
import type { Verified, VerifyRequest } from './verify-request.ts';
import { blaming } from './who-wrote.ts';

/** How much a quick look leaves out, for who reads its coverage. */
const LEFT_OUT = 'a quick look runs two checks, once each';

type Asked = Pick<VerifyRequest, 'problem' | 'candidate' | 'dimensions' | 'seed' | 'oracle'>;

/** The small check, if the kernel takes a shape for one, and the shapes that it does not take. */
function chooseChecks(
  { problem, candidate: { kernel, parameters } }: Asked,
  fits?: (shape: Dimensions) => boolean,
): { small?: Check; excludedShapes: Dimensions[] } {
  const { checks, excludedShapes } = listedChecks({ problem: problem.file, kernel: kernel.file, parameters, fits });
  return { small: checks.length > 0 ? cheapestToRepeat(problem.file, checks) : undefined, excludedShapes };
}

/** Works out what the checks of a quick look expect, before there is code to run. Trouble shows again in the checks. */
export async function anticipateQuickly(asked: Asked): Promise<void> {
  const { problem, dimensions, seed, oracle } = asked;
  try {
    const { small } = chooseChecks(asked);
    // The small one first: it starts the reference's process.
    for (const check of [...(small ? [small] : []), { dimensions, generatorSet: DECLARED }]) {
      const { dimensions: shape, generatorSet } = check;
      await oracle.check({ problem, seed, dimensions: shape, generatorSet }).sample();
    }
  } catch {
    // As said.
  }
}

/**
 * A quick look at a candidate: a check of one small shape, then the counted run of the main workload, of which some rows are
 * compared. Each runs once. What comes of two runs that differ, of repeated launches, of drawn shapes and of other inputs is not
 * looked for: a candidate that gets through is not verified.
 *
 * @throws as `verify`.
 */
export async function verifyQuickly(request: VerifyRequest): Promise<Verified | Refused> {
  const { signal } = request;
  const { spec } = request.device;
  const { resources } = request.module;
  const { small, excludedShapes } = chooseChecks(request, (shape) =>
    fitsSharedMemory(() => request.planFor(shape), { spec, resources }),
  );
  const tally = new CorrectnessTally();
  const coverage = quickCoverage(small, excludedShapes);
  const refusal = small && (await smallCheck(request, small, tally));
  if (refusal) return { ...refusal, coverage, correctness: tally.summary() };
  signal?.throwIfAborted();

  const opened = await openCheck(request);
  if (!opened.ok) return opened;
  const { name, plan, prepared, runs } = opened;
  try {
    const [run, expected] = await Promise.all([runs.natural(), meanwhile(() => prepared.sample())]);
    if ('error' in expected) throw expected.error;
    if (!run.ok) return { ...run, coverage, correctness: tally.summary() };
    const outputs = outputsOf(prepared.buffers);
    const verdicts = compareRows(outputs, expected.value, run.outputs);
    tally.add(verdicts);
    const correctness = tally.summary()!;
    if (passes(verdicts))
      return { ok: true, correctness, coverage, plan, counters: run.counters, printed: run.printed };
    const wrong = refused('wrong', describeWrong(verdicts)!, `${name} · ${NATURAL.name}`);
    const blamed = await blaming(wrong, { runs, run, outputs, verdicts });
    return { ...blamed, printed: run.printed, coverage, correctness };
  } finally {
    await runs.close();
  }
}

async function smallCheck(request: VerifyRequest, check: Check, tally: CorrectnessTally): Promise<Refused | undefined> {
  const opened = await openCheck(request, { ...check, isMain: false });
  if (!opened.ok) return opened;
  const { prepared, runs } = opened;
  try {
    // The counted run needs the counting code anyway, and compiling a second variant takes longer than counting here.
    return await judgeOnce({ runs, prepared, tally, seed: request.seed, isCounted: true, mustAgree: false });
  } finally {
    await runs.close();
  }
}

const quickCoverage = (small: Check | undefined, excludedShapes: Dimensions[]): Coverage => ({
  checkShapes: small ? 1 : 0,
  excludedShapes,
  drawnShapes: [],
  generatorSets: [],
  leftOut: [{ check: 'every other check', reason: LEFT_OUT }],
  fixedDimensions: [],
  timedShapeOnly: small === undefined,
});
