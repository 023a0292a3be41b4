import { setImmediate } from 'node:timers/promises';
import { WarpsmithError } from '../../core/errors.ts';
import { evaluateExpression, namesInExpression } from '../../core/expressions/evaluate.ts';
import { completeDimensions, isShapeOf } from '../../core/plan/dimensions.ts';
import type { Dimensions, Problem, ProblemFile } from '../../core/problem.ts';
import { valuesKey } from '../../core/values.ts';
import { type Check, describeCheck, USUAL } from '../oracle/check.ts';
import { generatorSetNames, shapeChecks } from '../oracle/checks/listed.ts';
import { prepareCheck } from '../oracle/expectation-cache.ts';
import { isWithin } from '../oracle/shapes/cost.ts';
import { hiddenSignals, type Sight, sightOf } from './blind-checks.ts';
import { mutantsOf, mutantsOfAnyProblem } from './mutants/index.ts';
import type { Mutant, MutantContext } from './mutants/mutant.ts';
import { acceptsRight, type MutantResult, mutantContext, playMutant, reducedExtent } from './play-mutant.ts';

export interface MutantReport {
  id: string;
  title: string;
  /** `caught`: at least one check refuses it. `slipped`: it would pass. `equivalent`: its outputs are the right ones. */
  verdict: 'caught' | 'slipped' | 'equivalent' | 'not-applicable';
  results: MutantResult[];
}

/** What one check sees. */
export interface CheckReport {
  check: string;
  /** Of the timed workload, or as much of it as a host affords. */
  isTimed: boolean;
  outputs: Sight[];
  /** Number of wrong kernels caught, and names of those that pass although their outputs differ from the right ones. */
  caught: number;
  accepted: string[];
  /** Why the check is blind, which is an error of the problem; `null` if it is not. */
  blind: string | null;
}

/** What the problem's checks would catch. Plain JSON. */
export interface AuditReport {
  schemaVersion: 1;
  kind: 'audit';
  problem: string;
  seed: number;
  checks: string[];
  /** Check by check, in the same order. */
  sight: CheckReport[];
  mutants: MutantReport[];
  /** Ids of the wrong kernels that every check lets through. */
  letThrough: string[];
  /** Checks that refuse even the correctly rounded oracle. */
  falseAlarms: string[];
  /** Checks that `evaluate` and `optimize` refuse. */
  blindChecks: string[];
  /** Set if right is what another kernel computes. */
  reference?: 'original';
  /** Nothing let through, no false alarm, no blind check. */
  ok: boolean;
}

/**
 * Runs the problem's own check shapes, generators and comparison on generic wrong kernels, computed on the host, and
 * reports those that would pass. Needs no device.
 *
 * @throws the signal's reason when aborted; WarpsmithError for mistakes in the problem.
 */
export async function auditProblem(options: {
  problem: Problem;
  seed: number;
  signal?: AbortSignal;
  /** Called before each check. */
  onCheck?: (check: string, index: number, count: number) => void;
}): Promise<AuditReport> {
  const { problem, seed, signal, onCheck } = options;
  const checks = [...shapeChecks(problem.file), ...timedChecks(problem.file)];
  const mutants = mutantsOf(problem.file);
  const reports: MutantReport[] = mutants.map(({ id, title }) => ({
    id,
    title,
    verdict: 'not-applicable',
    results: [],
  }));
  const falseAlarms: string[] = [];
  const sight: CheckReport[] = [];
  for (const [index, check] of checks.entries()) {
    // Lets Ctrl-C and progress lines through between checks.
    await setImmediate();
    signal?.throwIfAborted();
    const name = describeCheck(check);
    onCheck?.(name, index, checks.length);
    const context = await contextOrTrouble(problem, check, seed, signal);
    if (typeof context === 'string') {
      sight.push({ check: name, isTimed: check.isMain, outputs: [], caught: 0, accepted: [], blind: context });
      continue;
    }
    if (!acceptsRight(context)) falseAlarms.push(name);
    const played: Played[] = [];
    for (const [i, mutant] of mutants.entries()) {
      if (!isPlayedOn(mutant, check)) continue;
      const result = await playMutant(mutant, context, name);
      played.push({ mutant, result });
      reports[i]!.results.push(result);
    }
    sight.push(checkReport(problem, context, check, played));
  }
  for (const [i, report] of reports.entries()) report.verdict = verdictOf(mutants[i]!, report.results);
  const letThrough = reports.filter(({ verdict }) => verdict === 'slipped').map(({ id }) => id);
  const blindChecks = sight.filter(isBlindForAll).map(({ check }) => check);
  return {
    schemaVersion: 1,
    kind: 'audit',
    problem: problem.file.name,
    seed,
    reference: problem.file.originalKernel === undefined ? undefined : 'original',
    checks: checks.map(describeCheck),
    sight,
    mutants: reports,
    letThrough,
    falseAlarms,
    blindChecks,
    ok: letThrough.length === 0 && falseAlarms.length === 0 && blindChecks.length === 0,
  };
}

/** The check's context, or why it has no expected outputs. */
async function contextOrTrouble(
  problem: Problem,
  check: Check,
  seed: number,
  signal: AbortSignal | undefined,
): Promise<MutantContext | string> {
  const { dimensions, generatorSet } = check;
  const prepared = prepareCheck({ problem, dimensions, generatorSet, seed }, { signal });
  try {
    return await mutantContext({ problem, check, prepared, seed, signal });
  } catch (error) {
    if (error instanceof WarpsmithError && error.details.code === 'uncalibratable') return error.message;
    throw error;
  }
}

interface Played {
  readonly mutant: Mutant;
  readonly result: MutantResult;
}

const isOfAnyProblem = ({ id }: Mutant): boolean => mutantsOfAnyProblem.some((any) => any.id === id);

/** At the timed shape, only kernels that are right elsewhere, and those that tell whether a check sees anything. */
const isPlayedOn = (mutant: Mutant, { isMain }: Check): boolean =>
  isMain ? mutant.isTimedOnly === true || isOfAnyProblem(mutant) : !mutant.isTimedOnly;

/** One kind of inputs that sees is enough at the timed shape, as it is for `evaluate`. */
const isBlindForAll = ({ isTimed, blind }: CheckReport, _: number, sight: readonly CheckReport[]): boolean =>
  blind !== null && (!isTimed || sight.every((other) => !other.isTimed || other.blind !== null));

function checkReport(
  problem: Problem,
  { expectations }: MutantContext,
  check: Check,
  played: readonly Played[],
): CheckReport {
  const outputs = [...expectations].map(([output, expectation]) => sightOf(output, expectation));
  const accepted = played.filter(({ result }) => result.outcome === 'slipped').map(({ mutant }) => mutant);
  const generic = accepted.filter(isOfAnyProblem);
  const reasons = [
    ...hiddenSignals(problem, outputs),
    ...(generic.length > 0 ? [`accepts ${generic.map(({ id }) => id).join(', ')}`] : []),
  ];
  return {
    check: describeCheck(check),
    isTimed: check.isMain,
    outputs,
    caught: played.filter(({ result }) => result.outcome === 'caught').length,
    accepted: accepted.map(({ id }) => id),
    blind: reasons.length > 0 ? reasons.join('; ') : null,
  };
}

/**
 * A mutant whose outputs equal the right ones, to the bit, wherever it applies is no wrong kernel. The exception is a
 * mistake that must show somewhere: then the checks have a hole.
 */
function verdictOf({ mustShow }: Mutant, results: readonly MutantResult[]): MutantReport['verdict'] {
  const has = (wanted: MutantResult['outcome']): boolean => results.some(({ outcome }) => outcome === wanted);
  if (has('caught')) return 'caught';
  if (has('slipped')) return 'slipped';
  if (!has('same')) return 'not-applicable';
  return mustShow ? 'slipped' : 'equivalent';
}

/** What the host computes some hundred times in seconds. */
const AFFORDABLE = { flop: 2 ** 23, elements: 2 ** 18 };

/** Largest sizes of the dimensions that are not reduced over, tried in this order. */
const CAPS = [1024, 256, 64, 17, 8, 4, 2];

/** Most halvings of the reduced extent: 2⁴⁰ becomes 1. */
const MOST_HALVINGS = 40;

/**
 * The timed workload as far as a host affords it, with every generator set, as `evaluate` runs them there: the longest
 * reduced axis of all workloads, and as little of the other dimensions as it takes. None if the problem lists that shape.
 */
function timedChecks(problem: ProblemFile): Check[] {
  const dimensions = timedShape(problem);
  const listed = shapeChecks(problem).map((check) => valuesKey(check.dimensions));
  if (!dimensions || listed.includes(valuesKey(dimensions))) return [];
  return generatorSetNames(problem).map((generatorSet) => ({
    ...{ dimensions, generatorSet },
    ...{ ...USUAL, isMain: true, isOnce: true },
  }));
}

function timedShape(problem: ProblemFile): Dimensions | undefined {
  // None if problem.json names no such axis.
  const kept = namesInExpression(reducedExtent(problem));
  const workload = largestWorkload(problem, kept);
  for (let halvings = 0; halvings <= MOST_HALVINGS; halvings++) {
    for (const cap of CAPS) {
      const shape = Object.fromEntries(
        Object.entries(workload).map(([name, value]) => {
          if (problem.dimensions[name]!.values) return [name, value];
          return [name, kept.includes(name) ? Math.ceil(value / 2 ** halvings) : Math.min(value, cap)];
        }),
      );
      if (isShapeOf(problem, shape) && isWithin(AFFORDABLE, problem, shape, 1)) return shape;
    }
  }
  return undefined;
}

/** The first of those with the longest reduced axis, or with the most work if no axis is reduced. */
function largestWorkload(problem: ProblemFile, kept: readonly string[]): Dimensions {
  const sizeOf = (dimensions: Dimensions): number =>
    kept.length > 0
      ? kept.reduce((product, name) => product * dimensions[name]!, 1)
      : evaluateExpression(problem.flop, dimensions);
  return problem.workloads
    .map(({ dimensions }) => completeDimensions(problem.dimensions, dimensions))
    .reduce((largest, one) => (sizeOf(one) > sizeOf(largest) ? one : largest));
}
