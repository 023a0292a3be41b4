import { availableParallelism } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { type ComparedSizes, sizesOfShape, unionOfSizes } from '../../core/compared-sizes.ts';
import type { LaunchCounters } from '../../core/counters.ts';
import { isEquality, type ObservedDecision } from '../../core/decisions.ts';
import type { Device } from '../../core/device.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { ConditionCoverage, Correctness, Coverage } from '../../core/evaluation.ts';
import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { LaunchPlan, PlannedLaunch } from '../../core/launch-plan.ts';
import { functionsOf } from '../../core/plan/declared-steps.ts';
import { completeDimensions } from '../../core/plan/dimensions.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import { isDomainSet } from '../../core/plan/generator-sets.ts';
import { planScope } from '../../core/plan/scope.ts';
import type { Printed } from '../../core/printed.ts';
import type { Dimensions, Problem, ProblemFile } from '../../core/problem.ts';
import type { Suite } from '../../core/suites.ts';
import { valuesKey } from '../../core/values.ts';
import { createStream } from '../../stats/random.ts';
import { knownBlindnessOf, refuseBlindCheck, refuseBlindWorkload } from '../audit/blind-checks.ts';
import { fitsSharedMemory } from '../launches/fits-shared-memory.ts';
import { planOrRefusal } from '../launches/plan-refusal.ts';
import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import { type UnwaitedLaunch, unwaitedLaunch } from '../launches/unwaited-launch.ts';
import { type Check, DECLARED, describeCheck, extremeCheck, onceAt } from '../oracle/check.ts';
import {
  cheapestToRepeat,
  checksFor,
  checksOfMemory,
  furtherGeneratorSets,
  otherInputs,
  shapeForValues,
  shapesToPlan,
  shapesToSample,
} from '../oracle/checks.ts';
import { type ChecksRequest, takesShape, threadsOf } from '../oracle/checks-request.ts';
import { shapesForConditions } from '../oracle/condition-shapes.ts';
import { costsLittle, hasSeveralTiles } from '../oracle/drawn-shapes.ts';
import type { CheckKey, ExpectationCache } from '../oracle/expectation-cache.ts';
import { isLarge, outputsOf } from '../oracle/reference-runs.ts';
import {
  isStorable,
  levelsOf,
  type SecretSet,
  secretSetOf,
  setsAbout,
  setsOfExactly,
  setsOfIntegersAbout,
  setsOfWords,
} from '../oracle/secret-sets.ts';
import { leavesSizes } from '../oracle/secret-variants.ts';
import { rmsOf } from '../oracle/tolerances/calibrated.ts';
import { aimedShapes, firstFitting, foreseen, functionsIn } from './aimed-shapes.ts';
import { CheckRuns } from './check-runs.ts';
import { CorrectnessTally } from './correctness-tally.ts';
import { shapesOfEqualSizes } from './equal-sizes.ts';
import { InputDescent } from './input-descent.ts';
import { InputGuide } from './input-guide.ts';
import { InputSolver } from './input-solver.ts';
import { irregularSizes, rareShapes } from './irregular-sizes.ts';
import { jointShapes } from './joint-shapes.ts';
import { judgeCheck } from './judge-check.ts';
import { judgeOnce } from './judge-once.ts';
import { judgeMemory, judgeRepeatedLaunches } from './judge-repeated-launches.ts';
import { judgeSamples } from './judge-samples.ts';
import { refused } from './judged-check.ts';
import { MetInputs } from './met-inputs.ts';
import { conditionCoverage } from './one-way-conditions.ts';
import { shapesBeyondReach } from './shapes-beyond-reach.ts';
import { raggedShapesForSteps, shapesForSteps } from './step-shapes.ts';
import { numbersOfSteps, shapesAtThresholds } from './threshold-shapes.ts';

export interface VerifyRequest {
  readonly device: Device;
  readonly module: LoadedModule;
  readonly problem: Problem;
  readonly candidate: Candidate;
  /** The main workload's. */
  readonly dimensions: Dimensions;
  /** Cache state at the start of the counted run; `cold` by default. */
  readonly cache?: 'hot' | 'cold';
  readonly seed: number;
  /** On more shapes, with every generator set. */
  readonly thorough?: boolean;
  /** Also on shapes as large as users' own; of a thorough verification. */
  readonly large?: boolean;
  /** Shapes to verify besides, once each. */
  readonly suites?: readonly Suite[] | undefined;
  readonly oracle: ExpectationCache;
  /**
   * The launch sequence for these dimensions, on a device with the device's own number of multiprocessors unless another is given. May throw
   * WarpsmithError, which makes the candidate `invalid`.
   */
  readonly planFor: (dimensions: Dimensions, multiprocessors?: number) => LaunchPlan;
  /**
   * What so many of the next checks expect is worked out while one is judged. By default, as many as idle cores can work out; none on a
   * virtual device, which uses all cores itself.
   */
  readonly checksAhead?: number | undefined;
  /** Wall-clock limit of each run, in ms. */
  readonly timeoutMs: number;
  /** Warp instructions one CTA may execute; the device's own limit when absent. */
  readonly instructionsPerCta?: number;
  readonly signal?: AbortSignal;
  /** Told before each check. */
  readonly onCheck?: (check: { readonly check: string; readonly index: number; readonly count: number }) => void;
}

/** A candidate that passed every check, with the main workload's plan and counters. */
export interface Verified {
  readonly ok: true;
  /** Absent if nothing was compared, which only a sample of CTAs allows. */
  readonly correctness: Correctness | undefined;
  readonly coverage: Coverage;
  readonly plan: LaunchPlan;
  readonly counters: LaunchCounters[];
  /** What the kernels printed in the counted run. */
  readonly printed?: Printed;
}

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
type ChecksPassed = {
  readonly ok: true;
  readonly coverage: Coverage;
  readonly correctness: Correctness | undefined;
} & {
  readonly main: Pick<Verified, 'plan' | 'counters' | 'printed'> | undefined;
};

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
  const larger = largerToWatch(request, checks);
  const watched = new Set([...watchedChecks(checks, dimensions, seed), ...larger]);
  const { dear = [], cheap = [] } = Object.groupBy(checks, ({ isLarge }) => (isLarge ? 'dear' : 'cheap'));
  const queue = [...repeatedFirst(cheap, cheapest), ...larger];
  // In turns, so that a shape with several generator sets meets both contents of memory.
  const firstOverZeros = createStream(seed, 'memory of second runs').bits(0) % 2;
  const launched = new Set<string>();
  const begun = new Set<Check>();
  let [index, remembers, isSlowWhenLarge] = [0, false, false];
  const memory = (): Check[] =>
    checksOfMemory(choice, coverage.drawnShapes).slice(0, remembers ? undefined : Number(thorough));
  const further = [aimedChecks, irregularChecks, thresholdChecks, jointChecks, constantChecks, memory];
  const isSampled = thorough && large && !request.device.measuring && !isLong(request);
  const guide = new InputGuide(seed, met);
  const followingFromOthers = async (): Promise<Check | undefined> =>
    (await solver.next()) ?? (await descent.next()) ?? guide.next();
  const next = async (): Promise<Check | undefined> => {
    while (queue.length === 0 && further.length > 0) queue.push(...further.shift()!(request, choice, coverage));
    return queue.shift() ?? (thorough ? await followingFromOthers() : undefined) ?? dear.shift();
  };
  const addSeeing = async (tolerances: 'least' | 'all'): Promise<void> => {
    const seeing = await seeingAtTimedShape(request, coverage, tolerances);
    if (seeing && !queue.some((other) => isSameCheck(other, seeing))) queue.push(seeing);
  };
  for (let chosen = await next(); chosen; chosen = await next()) {
    request.signal?.throwIfAborted();
    if (withoutMain && isSameShape(chosen.dimensions, dimensions)) continue;
    index += 1;
    request.onCheck?.({ check: describeCheck(chosen), index, count: index + queue.length });
    workOutAhead(request, queue, begun);
    const check = chosen.isLarge && isSlowWhenLarge ? undefined : await bearable(request, chosen);
    if (!check) continue;
    const trouble = check.isDrawn && !isSecret(check) ? await troubleWithDrawn(request, check) : undefined;
    if (trouble !== undefined) {
      coverage.leftOut.push({ check: describeCheck(check), ...trouble });
      continue;
    }
    if (check.isMain) await addSeeing('least');
    const isRepeated = chosen === cheapest || (check.isMain && isCheapToRepeat(request));
    const repeatWith = isRepeated ? otherInputs(problem.file, check, { checks, seed }) : undefined;
    const overZeros = check.isMain || index % 2 === firstOverZeros;
    const how = { findsRaces: watched.has(chosen), overZeros, repeatWith, remembers };
    const result = await verifyCheck(request, check, tally, how);
    const correctness = tally.summary();
    if (!result.ok && check.isLarge && result.status === 'timed-out' && !request.device.measuring) {
      isSlowWhenLarge = true;
      coverage.leftOut.push({ check: describeCheck(check), reason: `${TOO_LONG}: ${result.reason}` });
      continue;
    }
    if (!result.ok) return { ...result, coverage, correctness };
    if (check.isMain && result.neededMore) await addSeeing('all');
    coverage.compared = withShape(coverage.compared, problem.file, check.dimensions);
    if (check.isMain) main = result;
    remembers ||= result.remembers;
    for (const name of functionsIn(() => result.plan)) launched.add(name);
    const ways = request.device.recentWays?.(request.module);
    if (ways && canBeChanged(problem.file, check)) met.learn(check, ways);
  }
  const onSample = (check: string): void => request.onCheck?.({ check, index: index + 1, count: index + 1 });
  const samples = isSampled
    ? await judgeSamples({ ...request, onSample }, [...dearShapes(request, choice), shapesToSample(choice)])
    : undefined;
  if (samples && !samples.ok) return { ...samples, coverage, correctness: tally.summary() };
  if (samples) coverage.sampledShapes = [...samples.sampled];
  for (const name of launchedBy(request).filter((one) => !launched.has(one)))
    coverage.leftOut.push({ check: `steps that launch ${name}`, reason: NEVER_RAN });
  coverage.conditions = conditionsOf(request);
  return { ok: true, correctness: tally.summary(), coverage, main };
}

const isSameShape = (one: Dimensions, other: Dimensions): boolean => valuesKey(one) === valuesKey(other);

/** A reference's process keeps one core busy, and so do compilers. */
const CHECKS_AHEAD = Math.min(8, Math.floor(availableParallelism() / 4));

/** Inputs and results of larger checks take memory, and a GPU works out what takes a host long. */
const MOST_BYTES_AHEAD = 16 * 1024 ** 2;

/** Begins what the next checks expect, once. A mistake of the problem is told when it is their turn. */
function workOutAhead(request: VerifyRequest, next: readonly Check[], begun: Set<Check>): void {
  const { device, oracle, problem, seed, checksAhead = device.measuring ? CHECKS_AHEAD : 0 } = request;
  for (const check of next.slice(0, checksAhead)) {
    if (begun.has(check)) continue;
    begun.add(check);
    const { dimensions, generatorSet, isOnce } = check;
    const bytes = expandBuffers(problem.file, dimensions).reduce((sum, buffer) => sum + buffer.bytes, 0);
    if (bytes > MOST_BYTES_AHEAD || isLarge(problem, dimensions)) continue;
    const secret = secretSetOf(generatorSet);
    const [first = generatorSet] = secret ? levelsOf(secret) : [];
    try {
      const prepared = oracle.check({ problem, seed, dimensions, generatorSet: first });
      const expected: Promise<unknown> = isOnce ? prepared.sample() : prepared.expectations();
      expected.catch(() => {});
    } catch (error) {
      if (!(error instanceof WarpsmithError)) throw error;
    }
  }
}

/** A kernel that is slow for large sizes is not wrong there, and one that never ends is seen at smaller ones. */
const TOO_LONG = 'a simulator takes too long for it';

const NEVER_RAN = 'their `when` was 0 in every check, so what they compute was not verified';

/** How many shapes are drawn for conditions that went one way: cheap ones, and those that take some seconds. */
const AIMED_SHAPES = {
  ample: { most: 4, ofEach: { least: 2, most: 3 } },
  cheap: { most: 3, ofEach: { least: 1, most: 3 } },
  dear: { most: 1, ofEach: { least: 1, most: 1 } },
  ofSteps: 4,
  ragged: 4,
  equal: 4,
} as const;

/** Sizes that are whole tiles of any kernel, and how many shapes with one are looked at where sizes are to be equal. */
const WHOLE_TILES = [64, 128, 192, 256, 320];
const MOST_OF_WHOLE_TILES = 24;

/** Names of the functions that the candidate's steps launch. */
const launchedBy = ({ candidate }: VerifyRequest): string[] => functionsOf(candidate.kernel.file.steps);

/**
 * Checks of shapes in which conditions of the candidate's code go the way that they have not gone. Only for candidates that have such
 * conditions.
 */
function aimedChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { device, module, planFor } = request;
  if (!device.decisions || isLong(request)) return [];
  const { cheap, ample, dear, varied, poolAround, isFit, isCheap, checksAt } = shapesForConditions(
    choice,
    device.constants?.(module).sizes ?? [],
  );
  const aim = { device, module, planFor, isFit };
  const drawn = [...coverage.drawnShapes];
  const isAmple = (shape: Dimensions): boolean => hasSeveralTiles(request.problem.file, shape);
  drawn.push(...aimedShapes({ ...aim, pool: ample, drawn: drawn.filter(isAmple), ...AIMED_SHAPES.ample }));
  drawn.push(...aimedShapes({ ...aim, pool: cheap, drawn, ...AIMED_SHAPES.cheap }));
  drawn.push(...aimedShapes({ ...aim, pool: dear, drawn, ...AIMED_SHAPES.dear }));
  const wholeTiles = (): readonly Dimensions[] => poolAround(WHOLE_TILES).slice(0, MOST_OF_WHOLE_TILES);
  const equal = { ...aim, problem: request.problem.file, pool: () => [...wholeTiles(), ...ample()], isCheap };
  drawn.push(...shapesOfEqualSizes({ ...equal, drawn: drawn.filter(isAmple), most: AIMED_SHAPES.equal }));
  const ofSteps = { planFor, isFit, drawn, functions: launchedBy(request), most: AIMED_SHAPES.ofSteps };
  const ofConditions = numbersOfSteps(request.candidate.kernel.file).flatMap((size) => [size, 2 * size, 3 * size]);
  drawn.push(...shapesForSteps({ ...ofSteps, pool: () => [...poolAround(ofConditions), ...varied()] }));
  const { candidate, dimensions: timed, seed } = request;
  const { file: problem } = request.problem;
  const scopeOf = (dimensions: Dimensions) =>
    planScope({
      problem,
      parameters: candidate.parameters,
      dimensions,
      device: { smCount: device.spec.smCount.value },
    });
  drawn.push(
    ...raggedShapesForSteps({
      ...{ problem, kernel: candidate.kernel.file, timed, seed, scopeOf, isCheap, isFit, drawn },
      most: AIMED_SHAPES.ragged,
    }),
  );
  const found = drawn.slice(coverage.drawnShapes.length);
  coverage.drawnShapes = drawn;
  return found.flatMap(checksAt);
}

/** Shapes too dear to be run whole in which conditions go the way that they have gone in no check, a list for each. */
function dearShapes(request: VerifyRequest, choice: ChecksRequest): Dimensions[][] {
  const { device, module, planFor, problem } = request;
  const takes = takesShape(choice);
  const sizes = device.constants?.(module).sizes ?? [];
  return shapesBeyondReach({ device, module, planFor, problem: problem.file, sizes, takes });
}

/** How many shapes of irregular sizes are run. */
const MOST_IRREGULAR = 4;

/** Checks of sizes at which the launches are not as at the sizes beside them: about sizes, not inputs. Only for candidates that have such. */
function irregularChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { candidate, dimensions, device, thorough } = request;
  const problem = request.problem.file;
  if (isLong(request)) return [];
  const scope = planScope({
    ...{ problem, parameters: candidate.parameters, dimensions },
    device: { smCount: device.spec.smCount.value },
  });
  const open = Object.keys(problem.dimensions).filter((name) => !problem.dimensions[name]!.values);
  const sizes = irregularSizes(candidate.kernel.file, scope, open);
  const rare = rareShapes(candidate.kernel.file, scope, open).map((shape) => ({ ...dimensions, ...shape }));
  if (sizes.length === 0 && rare.length === 0) return [];
  const { poolAround, isFit } = shapesForConditions(choice, []);
  const beside = sizes.length === 0 ? [] : poolAround(sizes, thorough ? 'whole' : 'cheap');
  const found = [...firstFitting(rare, isFit, MOST_IRREGULAR), ...firstFitting(beside, isFit, MOST_IRREGULAR)];
  coverage.drawnShapes = [...coverage.drawnShapes, ...found];
  return found.map(extremeCheck);
}

/** Of shapes beside numbers with which the candidate compares sizes. */
const MOST_AT_THRESHOLDS = 8;

/** Checks of shapes beside the numbers with which the candidate's code compares sizes. Only for candidates that do. */
function thresholdChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { device, module, planFor, dimensions: timed, candidate } = request;
  if (!device.decisions || isLong(request)) return [];
  const { poolAround, isFit, checksAtThreshold } = shapesForConditions(choice, []);
  const shapes = shapesAtThresholds({
    ...{ device, module, planFor, isFit, poolAround, timed, kernel: candidate.kernel.file },
    drawn: coverage.drawnShapes,
    most: MOST_AT_THRESHOLDS,
  });
  coverage.drawnShapes = [...coverage.drawnShapes, ...shapes.map(({ dimensions }) => dimensions)];
  let untimed = 0;
  return shapes.flatMap(({ dimensions, isUntimed }) =>
    checksAtThreshold(dimensions, isUntimed, isUntimed ? untimed++ : untimed),
  );
}

/** Shapes in which rare ways of conditions come together. */
const MOST_JOINT = { usual: 6, thorough: 16 } as const;

/** Checks of shapes in which rare ways of several conditions of the candidate's code come together. */
function jointChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { device, module, planFor, problem, dimensions: timed, seed, thorough = false } = request;
  if (!device.decisions || isLong(request)) return [];
  const { isFit, isCheap, sizes } = shapesForConditions(choice, device.constants?.(module).sizes ?? []);
  const shapes = jointShapes({
    ...{ device, module, planFor, isFit, isCheap, sizes, timed, seed },
    problem: problem.file,
    drawn: [
      ...problem.file.checkShapes.map(({ dimensions }) => completeDimensions(problem.file.dimensions, dimensions)),
      ...coverage.drawnShapes,
    ].filter((shape) => isCheap(shape)),
    most: MOST_JOINT[thorough ? 'thorough' : 'usual'],
  });
  coverage.drawnShapes = [...coverage.drawnShapes, ...shapes];
  return shapes.map((dimensions) => onceAt(dimensions, DECLARED));
}

/** How many generator sets are tried for numbers of the code, and for how many of those whose conditions went both ways. */
const SETS_OF_CONSTANTS = { all: 6, bothWays: 2 } as const;

/** Of whole numbers that values are compared with: most of them. */
const MOST_INTEGERS = 6;

/**
 * Checks with inputs about as large as what the candidate's code compares values with, and with inputs that are exactly what it asks for.
 * Only for code that does.
 */
function constantChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { problem } = request;
  const decisions = valueDecisions(request);
  const floats = decisions.filter(({ isFloat }) => isFloat);
  const [oneWay, bothWays] = [true, false].map((isOneWay) =>
    floats
      .filter(({ wasTrue, wasFalse }) => (wasTrue && wasFalse) !== isOneWay)
      .flatMap(({ constant }) => setsAbout(problem.file, constant)),
  ) as [string[], string[]];
  const about = [...new Set([...oneWay, ...bothWays.slice(0, SETS_OF_CONSTANTS.bothWays)])];
  const exactly = floats.filter(({ comparison }) => isEquality(comparison)).map(({ constant }) => constant);
  const whole = decisions.filter(({ isFloat }) => !isFloat);
  const integers = whole.flatMap(({ constant }) => setsOfIntegersAbout(problem.file, constant));
  const exactIntegers = whole.filter(({ comparison }) => isEquality(comparison)).map(({ constant }) => constant);
  const words = setsOfWords(problem.file, exactIntegers);
  const sets = [
    ...about.slice(0, SETS_OF_CONSTANTS.all),
    ...setsOfExactly(problem.file, exactly),
    ...words,
    ...[...new Set(integers)].slice(0, MOST_INTEGERS),
  ];
  const dimensions = shapeForValues(choice, coverage.drawnShapes);
  // Sizes may bound whole numbers, and the timed ones are usual.
  const isBesideTimed = costsLittle(problem.file, request.dimensions) && !isSameShape(dimensions, request.dimensions);
  return [
    ...sets.map((generatorSet) => onceAt(dimensions, generatorSet)),
    ...(isBesideTimed ? words : []).map((generatorSet) => onceAt(request.dimensions, generatorSet)),
  ];
}

/** Comparisons with a number that do not follow from the launch. */
function valueDecisions({
  device,
  module,
  planFor,
  dimensions,
}: VerifyRequest): (ObservedDecision & { constant: number })[] {
  const all = device.decisions?.(module).decisions ?? [];
  const ofLaunch = foreseen({ device, module, planFor }, dimensions, [...all.keys()]);
  return all.flatMap((decision, place) => {
    const { constant, isSettled, isFloat } = decision;
    const isOfValues = isFloat || (!isSettled && !ofLaunch.has(place));
    return isOfValues && constant !== undefined && Number.isFinite(constant) ? [{ ...decision, constant }] : [];
  });
}

/** Inputs of cheap shapes, without special values, whose results are of the usual size. */
const canBeChanged = (problem: ProblemFile, { dimensions, generatorSet, isExtreme }: Check): boolean =>
  !isExtreme &&
  costsLittle(problem, dimensions) &&
  !isDomainSet(problem, generatorSet) &&
  !leavesSizes(secretSetOf(generatorSet)?.kind ?? '');

/** Places of the decisions that do not follow from the launch. */
function placesOfValues({ device, module, planFor, dimensions }: VerifyRequest): number[] {
  const all = device.decisions?.(module).decisions ?? [];
  const ofLaunch = foreseen({ device, module, planFor }, dimensions, [...all.keys()]);
  return all.flatMap(({ isSettled }, place) => (isSettled || ofLaunch.has(place) ? [] : [place]));
}

/** Which ways the candidate's conditions went in all runs so far; `undefined` where the device can't see them. */
function conditionsOf({ device, module, candidate }: VerifyRequest): ConditionCoverage | undefined {
  const observed = device.decisions?.(module);
  return observed && conditionCoverage(observed, candidate.kernel.sources);
}

/** Sizes that were compared, with those of one more shape. */
function withShape(sizes: ComparedSizes | undefined, problem: ProblemFile, dimensions: Dimensions): ComparedSizes {
  const added = sizesOfShape(problem, dimensions, expandBuffers(problem, dimensions));
  return sizes ? unionOfSizes(sizes, added) : added;
}

/** Drawing shapes plans hundreds of them, so that longer sequences would take longer to plan than to run. */
const MOST_PLANNED_LAUNCHES = 256;

const isLong = ({ planFor, dimensions }: VerifyRequest): boolean =>
  launchesOf(() => planFor(dimensions)).length > MOST_PLANNED_LAUNCHES;

/** All launches of the sequence; none if the plan has a mistake, which is reported elsewhere. */
function launchesOf(plan: () => LaunchPlan): PlannedLaunch[] {
  try {
    return plan().steps.filter((step) => step.kind === 'launch');
  } catch (error) {
    if (error instanceof WarpsmithError) return [];
    throw error;
  }
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
 * Why the problem's own inputs or reference fail for a drawn shape. Its author never saw that shape, and the kernel is not
 * to blame, so the check is skipped.
 */
async function troubleWithDrawn(
  request: VerifyRequest,
  check: Check,
): Promise<{ reason: string; code: string } | undefined> {
  const { problem, seed, oracle, signal } = request;
  const { dimensions, generatorSet } = check;
  try {
    const prepared = oracle.check({ problem, seed, dimensions, generatorSet });
    if (check.isExtreme) {
      const { expectations } = await prepared.sample();
      // Infinity is right where the inputs have it.
      if (isDomainSet(problem.file, generatorSet)) return undefined;
      return isStorable(problem.file, { buffers: prepared.buffers, expectations }) ? undefined : TOO_GREAT;
    }
    await refuseBlindCheck({ problem, check, prepared, seed, signal });
    return undefined;
  } catch (error) {
    if (error instanceof WarpsmithError) return { reason: error.message, code: error.details.code };
    throw error;
  }
}

const TOO_GREAT = { reason: 'right results come near the largest value of their dtype', code: 'not-storable' };

const isSecret = ({ generatorSet }: Check): boolean => secretSetOf(generatorSet) !== undefined;

/**
 * A check with secret inputs, made milder until the right results are numbers that every honest kernel can compute and store,
 * and the tolerance shows wrong ones. If none is mild enough: the declared inputs at a drawn shape, nothing where those run
 * anyway. Other checks stay as they are.
 */
async function bearable(request: VerifyRequest, check: Check): Promise<Check | undefined> {
  const secret = secretSetOf(check.generatorSet);
  if (!secret) return check;
  for (const generatorSet of levelsOf(secret)) {
    const milder = { ...check, generatorSet };
    if (await isBearable(request, milder, secretSetOf(generatorSet)!)) return milder;
  }
  return check.isOnce && !check.isExtreme ? undefined : { ...check, generatorSet: DECLARED };
}

async function isBearable(request: VerifyRequest, check: Check, secret: SecretSet): Promise<boolean> {
  const { problem, seed, oracle } = request;
  const { dimensions, generatorSet } = check;
  try {
    const prepared = oracle.check({ problem, seed, dimensions, generatorSet });
    const { expectations } = await prepared.sample();
    if (!isStorable(problem.file, { buffers: prepared.buffers, expectations, secret })) return false;
    if (leavesSizes(secret.kind) && !(await givesResultsAsLarge(request, check))) return false;
  } catch (error) {
    if (error instanceof WarpsmithError) return false;
    throw error;
  }
  return !check.isDrawn || (await troubleWithDrawn(request, check)) === undefined;
}

/** Results of other inputs from the same distribution are as large, give or take so much. */
const SAME_SIZE = 2;

/** Whether the inputs of a check give results as large as those of the declared ones at its shape; not asked where only some rows are computed. */
async function givesResultsAsLarge(
  { problem, seed, oracle }: VerifyRequest,
  { dimensions, generatorSet }: Check,
): Promise<boolean> {
  const [ours, declared] = await Promise.all(
    [generatorSet, DECLARED].map((set) => oracle.check({ problem, seed, dimensions, generatorSet: set }).sample()),
  );
  if (ours!.rows || declared!.rows) return false;
  return [...declared!.expectations].every(([name, { want }]) => {
    const ratio = rmsOf(ours!.expectations.get(name)!.want) / rmsOf(want);
    return ratio >= 1 / SAME_SIZE && ratio <= SAME_SIZE;
  });
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
    const check: Check = { dimensions, generatorSet, isMain: false, isOnce: true, isDrawn: false };
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
  const { problem, dimensions, seed, oracle } = request;
  const check: Check = { dimensions, generatorSet: DECLARED, isMain: true, isOnce: true, isDrawn: false };
  const name = describeCheck(check);
  const plan = planOrRefusal(request, dimensions, name);
  if ('ok' in plan) return plan;
  const { inputs } = oracle.check({ problem, seed, dimensions, generatorSet: DECLARED });
  const runs = await CheckRuns.open({ ...request, name, plan, contents: inputs.bytes, isMain: true });
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

/**
 * The checks on which to look for races: of those that run twice, one of every shape except the timed one. It
 * takes up to seven times as long.
 */
function watchedChecks(checks: readonly Check[], timed: Dimensions, seed: number): ReadonlySet<Check> {
  const byShape = Map.groupBy(
    checks.filter(({ dimensions, isOnce }) => dimensions !== timed && !isOnce),
    ({ dimensions }) => JSON.stringify(dimensions),
  );
  const draws = createStream(seed, 'checks on which races are looked for');
  return new Set([...byShape.values()].map((all, i) => all[draws.bits(i) % all.length]!));
}

/** Such launches are watched where CTAs tell one another: of dozens of CTAs, and no more than some seconds. */
const WATCHED = { threads: { least: 2 ** 12, most: 2 ** 17 }, flop: 2e7 } as const;

/** Reads from device memory that may find what another CTA has written. */
const READS_OTHERS = /\b(?:ld\.(?:volatile|relaxed|acquire)|atom)\.(?!(?:[\w:]+\.)*shared)/;

/**
 * Of a kernel whose CTAs tell one another something, the largest such shape, again: a look-back goes beyond the first few CTAs only where there are
 * many.
 */
function largerToWatch(request: VerifyRequest, checks: readonly Check[]): Check[] {
  const { code } = request.module;
  const ptx = code.kind === 'ptx' ? code.text : code.ptx;
  if (!request.thorough || request.device.measuring || ptx === undefined || !READS_OTHERS.test(ptx)) return [];
  if (isLong(request)) return [];
  const threads = (check: Check): number => threadsOf(launchesOf(() => request.planFor(check.dimensions)));
  return checks
    .filter(({ isExtreme, isLarge, generatorSet }) => isExtreme && !isLarge && generatorSet === DECLARED)
    .filter(({ dimensions }) => evaluateExpression(request.problem.file.flop, dimensions) <= WATCHED.flop)
    .map((check) => ({ check, threads: threads(check) }))
    .filter((one) => one.threads >= WATCHED.threads.least && one.threads <= WATCHED.threads.most)
    .toSorted((a, b) => b.threads - a.threads)
    .slice(0, 1)
    .map(({ check }) => ({ ...check, isOnce: false }));
}

/**
 * `remembers`: the kernel may find something of earlier launches. `neededMore`: the check's least tolerances were not enough for it.
 */
type CheckResult =
  | ({ ok: true; remembers: boolean; neededMore: boolean } & Pick<Verified, 'plan' | 'counters' | 'printed'>)
  | Refused;

/** A thorough verification has larger shapes beyond all others: a run there may take so many times as long. */
const EXTREME_PATIENCE = 3;

/** Whether it read shared memory that it had not written. */
const readsLeftovers = ({ uninitialisedRead }: RunResult): boolean => uninitialisedRead !== undefined;

async function verifyCheck(
  request: VerifyRequest,
  check: Check,
  tally: CorrectnessTally,
  options: {
    findsRaces: boolean;
    overZeros: boolean;
    repeatWith: Pick<CheckKey, 'generatorSet' | 'seed'> | undefined;
    /** The kernel may find something of earlier launches. */
    remembers: boolean;
  },
): Promise<CheckResult> {
  const { findsRaces, overZeros, repeatWith, remembers } = options;
  const { problem, seed, oracle } = request;
  const { dimensions, generatorSet, isMain } = check;
  const name = describeCheck(check);
  const plan = planOrRefusal(request, dimensions, name, check.multiprocessors);
  if ('ok' in plan) return plan;
  const unwaited = unwaitedLaunch(plan, request.module.code, request.candidate.kernel.sources);
  if (unwaited) return refused('unsafe', describeUnwaited(unwaited), name);
  const prepared = oracle.check({ problem, seed, dimensions, generatorSet });
  if (!check.isOnce && !isMain && !check.isExtreme)
    await refuseBlindCheck({ problem, check, prepared, seed, signal: request.signal });
  const memory = { contents: prepared.inputs.bytes, overZeros };
  const timeoutMs = request.timeoutMs * (request.thorough && check.isExtreme ? EXTREME_PATIENCE : 1);
  const runs = await CheckRuns.open({ ...request, timeoutMs, name, plan, ...memory, isMain, findsRaces });
  const judge = async (): Promise<CheckResult> => {
    if (check.isOnce) {
      const refusal = await judgeOnce({ runs, prepared, tally, seed });
      return refusal ?? { ok: true, plan, counters: [], remembers: runs.remembers, neededMore: false };
    }
    const isBitwise = problem.file.determinism === 'bitwise';
    const passed = await judgeCheck({ runs, prepared, tally, isBitwise });
    if (!passed.ok) return passed;
    const unread = isMain && refuseUnread(problem, dimensions, plan, passed.first, name);
    if (unread) return unread;
    const other = repeatWith && oracle.check({ problem, dimensions, ...repeatWith });
    const repeated = { problem, dimensions, passed, seed };
    const refusal = check.isForMemory
      ? await judgeMemory(repeated, remembers)
      : other && (await judgeRepeatedLaunches({ ...repeated, other }));
    return (
      refusal ?? {
        ok: true,
        plan,
        counters: passed.first.counters,
        neededMore: passed.neededMore,
        printed: passed.first.printed,
        remembers: runs.remembers || readsLeftovers(passed.first),
      }
    );
  };
  try {
    const result = await judge();
    return result.ok ? result : { ...result, printed: result.printed ?? runs.printed };
  } finally {
    await runs.close();
  }
}

const describeUnwaited = ({ functionName, earlier, buffer }: UnwaitedLaunch): string =>
  `race: ${functionName} may start before ${earlier} has ended (programmaticDependent) and never executes griddepcontrol.wait ` +
  `(cudaGridDependencySynchronize), but both get ${buffer}`;

/**
 * Refuses a kernel that read fewer distinct bytes of its inputs than the problem requires: it samples, or knows the answer.
 * The requirement never exceeds the size of the inputs. Only a virtual device counts read bytes.
 */
function refuseUnread(
  { file }: Problem,
  dimensions: Dimensions,
  { buffers }: LaunchPlan,
  { readBytes, conditions }: RunResult,
  check: string,
): Refused | undefined {
  if (!readBytes) return undefined;
  const inputs = buffers.filter(({ role }) => role === 'in' || role === 'inout');
  const sum = (bytesOf: (input: LaunchPlan['buffers'][number]) => number): number =>
    inputs.reduce((total, input) => total + bytesOf(input), 0);
  const needed = Math.min(
    evaluateExpression(file.minimumReadBytes, dimensions),
    sum(({ bytes }) => bytes),
  );
  const read = sum(({ name }) => readBytes.get(name) ?? 0);
  if (read >= needed) return undefined;
  const each = inputs.map(({ name, bytes }) => `${name}: ${readBytes.get(name) ?? 0} of ${bytes}`).join(', ');
  return refused(
    'wrong',
    `reads ${read} distinct bytes of its inputs (${each}); at least ${needed} must be read ` +
      `(minimumReadBytes = ${file.minimumReadBytes})`,
    `${check} · ${conditions.name}`,
  );
}
