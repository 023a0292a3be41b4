import { isDeepStrictEqual } from 'node:util';
import { allEnded } from '../../core/all-ended.ts';
import { type ComparedSizes, sizesOfShape, unionOfSizes } from '../../core/compared-sizes.ts';
import type { ConditionCoverage, Coverage } from '../../core/evaluation.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import { isDomainSet } from '../../core/plan/generator-sets.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { NEVER_RAN } from '../../core/unreached.ts';
import { isSame } from '../../core/values.ts';
import { createStream } from '../../stats/random.ts';
import { knownBlindnessOf, refuseBlindWorkload } from '../audit/blind-checks.ts';
import { fitsSharedMemory } from '../launches/fits-shared-memory.ts';
import { planOrRefusal } from '../launches/plan-refusal.ts';
import type { Refused } from '../launches/refusal.ts';
import { type Check, DECLARED, describeCheck, USUAL } from '../oracle/check.ts';
import { checksFor } from '../oracle/checks/choose.ts';
import { cheapestToRepeat, checksOfMemory, otherInputs } from '../oracle/checks/repeated.ts';
import { type ChecksRequest, takesShape } from '../oracle/checks/request.ts';
import { furtherGeneratorSets } from '../oracle/checks/sets.ts';
import { shapesBeyondMemory, shapesToPlan, shapesToSample } from '../oracle/checks/shapes.ts';
import { outputsOf } from '../oracle/reference-runs.ts';
import { secretSetOf } from '../oracle/secret/secret-set.ts';
import { leavesSizes } from '../oracle/secret/variants/index.ts';
import { costsLittle } from '../oracle/shapes/cost.ts';
import { functionsIn } from './aimed-shapes.ts';
import { troubleOf } from './bearable.ts';
import { boundsOfLaunches } from './bounds-of-launches.ts';
import { constantChecks, placesOfValues } from './checks-of-values.ts';
import { constantResults } from './constant-results.ts';
import { CorrectnessTally } from './correctness-tally.ts';
import { InputDescent } from './input-descent.ts';
import { InputGuide } from './input-guide.ts';
import { InputSolver } from './input-solver.ts';
import { NoTolerances } from './judge-once.ts';
import { judgePagedSamples } from './judge-paged-samples.ts';
import { judgeSamples, type SamplesRequest } from './judge-samples.ts';
import { oneWayChoices } from './launch-expressions.ts';
import { LookAhead } from './look-ahead.ts';
import { MetInputs } from './met-inputs.ts';
import { aimedChecks, dearShapes } from './of-code/aimed.ts';
import { choiceChecks, jointChecks, scarceChecks, seldomChecks, thresholdChecks } from './of-code/conditions.ts';
import { edgeChecks, irregularChecks, manyPartsChecks, tileCountChecks, turnChecks } from './of-code/launches.ts';
import { limitChecks, multipleChecks, quotientChecks } from './of-code/numbers.ts';
import { conditionCoverage, describeResults } from './one-way-conditions.ts';
import { openCheck } from './open-check.ts';
import { blocksFollowSizes, functionsNotTaken, mayBeLaunched } from './reachable-steps.ts';
import { verifyCheck } from './verify-check.ts';
import { isLong, launchesOf, type Verified, type VerifyRequest } from './verify-request.ts';
import { largerToWatch, watchedChecks } from './watched-checks.ts';
import { WidthSearch } from './width-shapes.ts';

/** Checks that follow from the candidate's own code, each kind after the runs of those before. */
const CHECKS_OF_CODE = [
  ...[aimedChecks, irregularChecks, edgeChecks, turnChecks, manyPartsChecks, tileCountChecks],
  ...[thresholdChecks, jointChecks, seldomChecks, multipleChecks, limitChecks, quotientChecks, constantChecks],
] as const;

/**
 * Runs a candidate on every check, usually twice: natural order over NaN poison, then a seeded CTA and warp order over
 * finite poison with every buffer at its declared alignment. On one check, and on the main workload if times are measured,
 * repeats launches as a measurement does. Compares every output of every run, whole except for further inputs of large
 * workloads. Stops at the first failure.
 *
 * @throws the signal's reason when aborted; WarpsmithError if the problem itself is at fault.
 */
export async function verify(request: VerifyRequest): Promise<Verified | Refused> {
  const verified = await runChecks(request);
  if (!verified.ok) return verified;
  const { correctness, coverage, main } = verified;
  return { ok: true, correctness, coverage, ...main! };
}

/** What all checks show, or all but those of the main workload's shape, which need not leave any. */
interface ChecksPassed extends Pick<Verified, 'ok' | 'coverage' | 'correctness'> {
  readonly main: Pick<Verified, 'plan' | 'counters' | 'printed'> | undefined;
}

/** As {@link verify}; optionally without the main workload's shape. */
export async function runChecks(request: VerifyRequest, withoutMain = false): Promise<ChecksPassed | Refused> {
  const met = new MetInputs(() => placesOfValues(request));
  await using solver = new InputSolver(request, met);
  await using descent = new InputDescent(request, met);
  const tally = new CorrectnessTally();
  let main: ChecksPassed['main'];
  const { problem, candidate, dimensions, seed, thorough = false, large = false, suites } = request;
  const { kernel, parameters } = candidate;
  const { spec } = request.device;
  const { resources } = request.module;
  const fits = (shape: Dimensions) => fitsSharedMemory(() => request.planFor(shape), { spec, resources });
  const choice: ChecksRequest = {
    ...{ problem: problem.file, kernel: kernel.file, parameters, dimensions, seed, thorough, large, suites, fits },
    isEmulated: request.device.measuring === undefined,
    smCount: spec.smCount.value,
    launches: isLong(request) ? undefined : (shape) => launchesOf(() => request.planFor(shape)),
  };
  const { checks, coverage } = checksFor(choice);
  for (const shape of isLong(request) ? [] : shapesToPlan(choice)) {
    const plan = planOrRefusal(request, shape, describeCheck({ dimensions: shape, generatorSet: DECLARED }));
    if ('ok' in plan) return { ...plan, coverage };
  }
  const cheapest = cheapestToRepeat(problem.file, checks);
  const larger = largerToWatch(request, checks, takesShape(choice));
  const watched = new Set([...watchedChecks(checks, dimensions, seed), ...larger]);
  const { dear = [], cheap = [] } = Object.groupBy(checks, ({ isLarge }) => (isLarge ? 'dear' : 'cheap'));
  const queue = [...repeatedFirst(cheap, cheapest), ...larger];
  // In turns, so that a shape with several generator sets meets both contents of memory.
  const firstOverZeros = createStream(seed, 'memory of second runs').bits(0) % 2;
  const launched = new Set<string>();
  const ahead = new LookAhead(request);
  let [index, remembers, isSlowWhenLarge] = [0, false, false];
  const memory = (): Check[] =>
    checksOfMemory(choice, coverage.drawnShapes).slice(0, remembers ? undefined : Number(thorough));
  const ran: Check[] = [];
  const widths = thorough && !isLong(request) ? new WidthSearch(request, choice) : undefined;
  const widthChecks = async (): Promise<Check[]> => (await widths?.checks(coverage, ran)) ?? [];
  const further = [
    ...CHECKS_OF_CODE,
    // Before ways meet other inputs, so that those of dearer shapes do, too.
    () => choiceChecks(request, choice, ran),
    () => scarceChecks(request, choice, ran),
    widthChecks,
    memory,
  ];
  const isSampled = thorough && large && !request.device.measuring && !isLong(request);
  const guide = new InputGuide(seed, met);
  const followingFromOthers = async (): Promise<Check | undefined> =>
    (await solver.next()) ?? (await descent.next()) ?? guide.next();
  const next = async (): Promise<Check | undefined> => {
    while (queue.length === 0 && further.length > 0) queue.push(...(await further.shift()!(request, choice, coverage)));
    return queue.shift() ?? (thorough ? await followingFromOthers() : undefined) ?? dear.shift();
  };
  const addSeeing = async (tolerances: 'least' | 'all'): Promise<void> => {
    const seeing = await seeingAtTimedShape(request, coverage, tolerances);
    if (seeing && !queue.some((other) => isSameCheck(other, seeing))) queue.push(seeing);
  };
  for (let chosen = await next(); chosen; chosen = await next()) {
    request.signal?.throwIfAborted();
    if (withoutMain && isSame(chosen.dimensions, dimensions)) continue;
    index += 1;
    request.onCheck?.({ check: describeCheck(chosen), index, count: index + queue.length });
    ahead.begin(queue);
    const ready = chosen.isLarge && isSlowWhenLarge ? undefined : await ahead.ready(chosen);
    if (!ready) continue;
    const { check, trouble } = ready;
    if (trouble !== undefined) {
      coverage.leftOut.push({ check: describeCheck(check), ...trouble });
      continue;
    }
    const isRepeated = chosen === cheapest || (check.isMain && isCheapToRepeat(request));
    const repeatWith = isRepeated ? otherInputs(problem.file, check, { checks, seed }) : undefined;
    const overZeros = check.isMain || index % 2 === firstOverZeros;
    const beside = (): void =>
      ahead.prepare(queue[0] ?? (further.length === 0 && !isSlowWhenLarge ? dear[0] : undefined));
    const how = { findsRaces: watched.has(chosen), overZeros, repeatWith, remembers, beside };
    const seen = check.isMain ? addSeeing('least') : undefined;
    // A virtual GPU runs meanwhile: at a large shape, the main thread would otherwise keep one core busy for seconds, and the others idle.
    if (request.device.measuring) await seen;
    const verified = verifyCheck(request, check, tally, how).catch((error: unknown) => {
      request.signal?.throwIfAborted();
      if (error instanceof NoTolerances && check.isDrawn) return { trouble: troubleOf(error) };
      throw error;
    });
    const [, result] = await allEnded([seen, verified]);
    if ('trouble' in result) {
      coverage.leftOut.push({ check: describeCheck(check), ...result.trouble });
      continue;
    }
    const correctness = tally.summary();
    if (!result.ok && check.isLarge && result.status === 'timed-out' && !request.device.measuring) {
      // What comes before them may be dearer than they are.
      isSlowWhenLarge ||= further.length === 0;
      coverage.leftOut.push({ check: describeCheck(check), reason: `${TOO_LONG}: ${result.reason}` });
      continue;
    }
    if (!result.ok) return { ...result, coverage, correctness };
    if (check.isMain && result.neededMore) await addSeeing('all');
    ran.push(check);
    coverage.compared = withShape(coverage.compared, problem.file, check.dimensions);
    if (check.isMain) main = result;
    remembers ||= result.remembers;
    for (const name of functionsIn(() => result.plan)) launched.add(name);
    const ways = request.device.recentWays?.(request.module);
    if (ways && canBeChanged(problem.file, check)) met.learn(check, ways);
  }
  if (isSampled) {
    const onSample = (check: string): void => request.onCheck?.({ check, index: index + 1, count: index + 1 });
    const samples = await judgeAllSamples({ ...request, onSample }, choice);
    if (!samples.ok) return { ...samples, coverage, correctness: tally.summary() };
    coverage.sampledShapes = [...samples.sampled];
  }
  const never = mayBeLaunched(request).filter((one) => !launched.has(one));
  const notTaken =
    never.length > 0 ? functionsNotTaken(request, coverage.drawnShapes, takesShape(choice)) : new Set<string>();
  for (const name of never)
    coverage.leftOut.push({
      check: `steps that launch ${name}`,
      ...(notTaken.has(name) ? { reason: WHY_NOT_TAKEN } : { reason: WHY_NEVER_RAN, code: NEVER_RAN }),
    });
  const unreachedWidths = widths?.unreached(ran) ?? [];
  if (unreachedWidths.length > 0) coverage.unreachedWidths = unreachedWidths;
  coverage.conditions = conditionsOf(request, coverage.drawnShapes);
  if (coverage.conditions && !isLong(request)) {
    const ofLaunches = oneWayChoices(request, ran, takesShape(choice));
    if (ofLaunches.length > 0) coverage.conditions.ofLaunches = ofLaunches;
  }
  if (coverage.conditions && thorough) {
    const results = describeResults(await constantResults(request, met), kernel.sources);
    if (results.length > 0) coverage.conditions.constantResults = results;
  }
  return { ok: true, correctness: tally.summary(), coverage, main };
}

/** Of shapes that fit a device, and of those that don't. */
async function judgeAllSamples(
  request: VerifyRequest & SamplesRequest,
  choice: ChecksRequest,
): ReturnType<typeof judgeSamples> {
  const fitting = await judgeSamples(request, [...dearShapes(request, choice), shapesToSample(choice)]);
  if (!fitting.ok) return fitting;
  const paged = await judgePagedSamples(request, shapesBeyondMemory(choice));
  return paged.ok ? { ok: true, sampled: [...fitting.sampled, ...paged.sampled] } : paged;
}

/** A kernel that is slow for large sizes is not wrong there, and one that never ends is seen at smaller ones. */
const TOO_LONG = 'a simulator takes too long for it';

const WHY_NOT_TAKEN = 'the kernel takes no shape in which they run, with these parameters on this device';
const WHY_NEVER_RAN = 'their `when` was 0 in every check';

/** Inputs of cheap shapes, without special values, whose results are of the usual size. */
const canBeChanged = (problem: ProblemFile, { dimensions, generatorSet, isExtreme }: Check): boolean =>
  !isExtreme &&
  costsLittle(problem, dimensions) &&
  !isDomainSet(problem, generatorSet) &&
  !leavesSizes(secretSetOf(generatorSet)?.kind ?? '');

/** Which ways the candidate's conditions went in all runs so far; `undefined` where the device can't see them. */
function conditionsOf(request: VerifyRequest, shapes: readonly Dimensions[]): ConditionCoverage | undefined {
  const { device, module, planFor, candidate, problem } = request;
  const observed = device.decisions?.(module);
  if (!observed) return undefined;
  const bounds = isLong(request)
    ? new Set<number>()
    : boundsOfLaunches({ device, module, planFor, problem: problem.file }, shapes);
  const isBlockFixed = !blocksFollowSizes(request);
  const decisions = observed.decisions
    .filter((_, place) => !bounds.has(place))
    .map((decision) => ({ ...decision, isSettled: decision.isSettled && isBlockFixed }));
  const inputsAreFinite = !Object.values(problem.file.inputs).some(({ domain = [] }) =>
    domain.some((special) => /infinity|nan/.test(special)),
  );
  return conditionCoverage({ ...observed, decisions }, candidate.kernel.sources, { inputsAreFinite });
}

/** Sizes that were compared, with those of one more shape. */
function withShape(sizes: ComparedSizes | undefined, problem: ProblemFile, dimensions: Dimensions): ComparedSizes {
  const added = sizesOfShape(problem, dimensions, expandBuffers(problem, dimensions));
  return sizes ? unionOfSizes(sizes, added) : added;
}

/**
 * The check whose launches are repeated comes before others of its shape. So a kernel that keeps results in a variable meets its
 * first other inputs where they are known for such, and is told why it is wrong.
 */
function repeatedFirst(checks: readonly Check[], repeated: Check): Check[] {
  const at = checks.findIndex(({ dimensions }) => dimensions === repeated.dimensions);
  return [...checks.slice(0, at), repeated, ...checks.slice(at).filter((check) => check !== repeated)];
}

/**
 * If the declared inputs are blind at the timed shape, as in a very long sum of values of one sign: a check of that shape
 * with a generator set that is not.
 *
 * @throws WarpsmithError `blind-check` if all generator sets are blind.
 */
async function seeingAtTimedShape(
  request: VerifyRequest,
  coverage: Coverage,
  tolerances: 'least' | 'all',
): Promise<Check | undefined> {
  const { problem, dimensions, seed, oracle, signal } = request;
  const whyBlind = (generatorSet: string, withLeast = false): Promise<string | undefined> => {
    const prepared = oracle.check({ problem, seed, dimensions, generatorSet });
    return knownBlindnessOf({ problem, check: { dimensions, generatorSet }, prepared, seed, withLeast, signal });
  };
  const why = await whyBlind(DECLARED, tolerances === 'least');
  if (why === undefined) return undefined;
  const declared = describeCheck({ dimensions, generatorSet: DECLARED });
  for (const generatorSet of furtherGeneratorSets(problem.file, seed)) {
    if ((await whyBlind(generatorSet)) !== undefined) continue;
    const check: Check = { dimensions, generatorSet, ...USUAL, isOnce: true };
    const name = describeCheck(check);
    coverage.generatorSets = [...new Set([...coverage.generatorSets, generatorSet])];
    coverage.leftOut = coverage.leftOut.filter((left) => left.check !== name);
    coverage.leftOut.push({ check: declared, reason: `blind, ${why}; ${generatorSet} inputs show it there` });
    return check;
  }
  return refuseBlindWorkload(problem, declared, why);
}

const isSameCheck = (a: Check, b: Check): boolean =>
  a.generatorSet === b.generatorSet && isDeepStrictEqual(a.dimensions, b.dimensions);

/**
 * The counted run alone, for a candidate that passed before. Compares nothing, so it needs no reference.
 *
 * @throws the signal's reason when aborted.
 */
export async function countOnly(
  request: VerifyRequest,
  passedBefore: Pick<Verified, 'correctness' | 'coverage'>,
): Promise<Verified | Refused> {
  const opened = await openCheck(request);
  if (!opened.ok) return opened;
  const { plan, runs } = opened;
  try {
    const first = await runs.natural();
    return first.ok ? { ok: true, ...passedBefore, plan, counters: first.counters, printed: first.printed } : first;
  } finally {
    await runs.close();
  }
}

/** Outputs up to this size can be compared a dozen more times without a noticeable delay. */
const MOST_REPEATED_BYTES = 8 * 1024 ** 2;

/** Whether to repeat launches on the main workload, too: if running and comparing are quick. */
function isCheapToRepeat({ device, problem, dimensions }: VerifyRequest): boolean {
  const bytes = outputsOf(expandBuffers(problem.file, dimensions)).reduce((sum, output) => sum + output.bytes, 0);
  return device.measuring !== undefined && bytes <= MOST_REPEATED_BYTES;
}
