import type { Timing } from '../../core/timing.ts';
import type { KernelCost, PatternPrior, Priors } from '../events.ts';
import type { EvaluationRow } from './rows.ts';
import { type MoveWithRun, type RunIndex, withRunIndex } from './run-index.ts';

/** What the next run is about. */
export interface PriorsQuery {
  /** Name of the problem. */
  problem: string;
  device: { name: string; kind: 'virtual' | 'cuda' };
  /** Names of the kernels that it may evaluate. */
  rungs: readonly string[];
}

/** Fewest attempts for which a scope is used; with fewer, the next wider scope is. */
const ATTEMPTS_FOR_A_SCOPE = 3;

/**
 * The results of each pattern in earlier runs of the store, and the cost of evaluations. Uses only runs with times of the
 * same kind: a predicted gain is never a prior for a measured run, or the reverse.
 */
export function readPriors(store: string, query: PriorsQuery): Priors {
  const kind: Timing['kind'] = query.device.kind === 'cuda' ? 'measured' : 'predicted';
  return withRunIndex(store, (index) => ({
    patterns: patternPriors(
      index.moves({ kind }).filter(({ repeated }) => repeated === 0),
      query,
    ),
    costs: kernelCosts(index, query, kind),
  }));
}

/** Narrowest first. */
const SCOPES: readonly [scope: PatternPrior['scope'], admits: (move: MoveWithRun, query: PriorsQuery) => boolean][] = [
  ['problem-and-device', (move, query) => move.problem === query.problem && move.device === query.device.name],
  ['device', (move, query) => move.device === query.device.name],
  ['all', () => true],
];

function patternPriors(moves: readonly MoveWithRun[], query: PriorsQuery): PatternPrior[] {
  const patterns = [...new Set(moves.map(({ pattern }) => pattern))].sort();
  return patterns.map((pattern) => {
    const ofPattern = moves.filter((move) => move.pattern === pattern);
    const scopes = SCOPES.map(([scope, admits]) => ({
      scope,
      attempts: ofPattern.filter((move) => admits(move, query)),
    }));
    const { scope, attempts } =
      scopes.find((candidate) => candidate.attempts.length >= ATTEMPTS_FOR_A_SCOPE) ?? scopes.at(-1)!;
    return { pattern, scope, ...realised(attempts) };
  });
}

/** Results of all attempts at a pattern, failed ones included. */
export function realised(
  attempts: readonly Pick<MoveWithRun, 'decision' | 'ratio'>[],
): Pick<PatternPrior, 'attempts' | 'kept' | 'realisedGain'> {
  const kept = attempts.filter(({ decision }) => decision === 'keep');
  const logarithms = kept.flatMap(({ ratio }) => (ratio !== null && ratio > 0 ? [Math.log(ratio)] : []));
  const mean = logarithms.reduce((sum, value) => sum + value, 0) / Math.max(1, logarithms.length);
  return { attempts: attempts.length, kept: kept.length, realisedGain: Math.exp(mean) };
}

function kernelCosts(index: RunIndex, { problem, device, rungs }: PriorsQuery, kind: Timing['kind']): KernelCost[] {
  const evaluations = index.costs({ problem, device: device.name, kind });
  return rungs.flatMap((kernel) => {
    const compiled = evaluations.filter((row) => row.kernel === kernel && row.compileMs > 0);
    // What was only repeated took no time to run.
    const run = evaluations.filter((row) => row.kernel === kernel && row.status === 'passed' && row.runMs > 0);
    if (compiled.length === 0 || run.length === 0) return [];
    return [{ kernel, compileMs: medianOf(compiled, 'compileMs'), runMs: medianOf(run, 'runMs') }];
  });
}

function medianOf(rows: readonly EvaluationRow[], field: 'compileMs' | 'runMs'): number {
  const values = rows.map((row) => row[field]).sort((a, b) => a - b);
  const middle = Math.floor(values.length / 2);
  return values.length % 2 === 1 ? values[middle]! : (values[middle - 1]! + values[middle]!) / 2;
}
