import type { Timing } from '../../core/timing.ts';
import { nonEmpty } from '../../core/values.ts';
import {
  type ArmPrior,
  type KernelCost,
  type Lesson,
  MOST_TURN_GAIN,
  type MoveRecord,
  type PatternPrior,
  type Priors,
} from '../events.ts';
import type { TurnRow } from './arm-turns.ts';
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
  return withRunIndex(store, (index) => {
    const moves = index.moves({ kind }).filter(({ repeated }) => repeated === 0);
    const [lessons, caught] = [lessonsOf(moves, query), caughtIn(moves, query)];
    const arms = armPriors(index.turns({ problem: query.problem, device: query.device.name, kind }));
    return {
      patterns: patternPriors(moves, query),
      costs: kernelCosts(index, query, kind),
      lessons: nonEmpty(lessons),
      caught: nonEmpty(caught),
      arms: nonEmpty(arms),
    };
  });
}

/** Enough for an author to read, and to rank by. */
const MOST_LESSONS = 24;
const NO_FINDING = 'none';

/** By finding, pattern and device: those of this device first, then those that gained most. */
function lessonsOf(moves: readonly MoveWithRun[], { device }: PriorsQuery): Lesson[] {
  const groups = Map.groupBy(
    moves.filter(({ finding }) => finding !== NO_FINDING),
    (move) => JSON.stringify([move.finding, move.pattern, move.device]),
  );
  const lessons = [...groups.values()].map((of): Lesson => {
    const [{ finding, pattern, device: on }] = of as [MoveWithRun];
    return { finding, pattern, device: on, ...realised(of), ...bestWritten(of) };
  });
  const gain = ({ kept, realisedGain }: Lesson): number => kept * Math.log(realisedGain);
  const isHere = (lesson: Lesson): number => (lesson.device === device.name ? 1 : 0);
  return lessons.sort((a, b) => isHere(b) - isHere(a) || gain(b) - gain(a)).slice(0, MOST_LESSONS);
}

/** What an author says is worth something only beside the evaluation that bore it out. */
function bestWritten(moves: readonly MoveWithRun[]): Pick<Lesson, 'best'> {
  const kept = moves.filter(
    ({ decision, ratio, change }) => decision === 'keep' && ratio !== null && writtenIn(change),
  );
  const [first] = kept.toSorted((a, b) => b.ratio! - a.ratio!);
  if (!first) return {};
  const { hypothesis } = writtenIn(first.change)!;
  return { best: { hypothesis, ratio: first.ratio!, evidence: `${first.run}/${first.evaluation}` } };
}

function writtenIn(change: string): Extract<MoveRecord, { kind: 'written' }> | undefined {
  const move = JSON.parse(change) as MoveRecord;
  return move.kind === 'written' ? move : undefined;
}

/** By the author of the move, or of the kernel whose setting it is. */
function caughtIn(moves: readonly MoveWithRun[], { problem }: PriorsQuery): NonNullable<Priors['caught']> {
  const authors = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const { run, change, wrongWhenTimed, problem: of } of moves) {
    const move = JSON.parse(change) as MoveRecord;
    if (move.kind === 'written') authors.set(`${run} ${move.kernel}`, move.author);
    const author = 'kernel' in move ? authors.get(`${run} ${move.kernel}`) : undefined;
    if (author === undefined || wrongWhenTimed === 0 || of !== problem) continue;
    counts.set(author, (counts.get(author) ?? 0) + 1);
  }
  return [...counts].map(([author, count]) => ({ author, count }));
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

/** Of this problem on this device only: what another one says of who writes well is as good as chance. */
function armPriors(turns: readonly TurnRow[]): ArmPrior[] {
  return [...Map.groupBy(turns, ({ arm }) => arm)].map(([arm, of]) => {
    const mean = (value: (turn: TurnRow) => number): number =>
      of.reduce((total, turn) => total + value(turn), 0) / of.length;
    const used = {
      evaluations: mean(({ evaluations }) => evaluations),
      seconds: mean(({ seconds }) => seconds),
      gpuSeconds: mean(({ gpuSeconds }) => gpuSeconds),
      money: mean(({ money }) => money),
      tokens: mean(({ tokens }) => tokens),
      tokenMoney: mean(({ tokenMoney }) => tokenMoney),
    };
    return { arm, turns: of.length, gain: mean(({ gain }) => Math.min(MOST_TURN_GAIN, gain)), used };
  });
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
