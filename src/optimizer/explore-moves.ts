import { makeCandidate } from '../core/candidate.ts';
import type { Kernel, ParameterValues } from '../core/kernel.ts';
import { validAssignments } from '../core/plan/parameters.ts';
import type { Dimensions } from '../core/problem.ts';
import type { MoveRecord } from '../store/events.ts';
import { onRung, type ProposedMove } from './propose-moves.ts';
import type { Best } from './run.ts';

/** Most parameters that an exploring move changes at once. */
const MOST_CHANGES = 2;

type Explored = Pick<ProposedMove, 'key' | 'change' | 'candidate' | 'reason'>;

/**
 * What to try when no finding suggests anything more: the other rungs, later ones first, then settings near the best.
 * Only worth it where times are measured, since a prediction is no sharper than most of these changes, and where
 * counters may not tell all.
 */
export const exploreMoves = (best: Best, rungs: readonly Kernel[], dimensions: Dimensions): ProposedMove[] =>
  [...otherRungs(best, rungs, dimensions), ...nearSettings(best, dimensions)].map((explored) => ({
    ...explored,
    pattern: { id: 'explore', title: 'Try the other rungs, and the other settings one or two changes at a time' },
    finding: {
      id: 'none',
      estimatedSpeedup: 1,
      evidence: 'no finding of the best candidate suggests another move',
    },
    expectedGain: 1,
    confidence: 0,
  }));

/** The best candidate's successors on the other rungs: later ones, then earlier ones, the nearest first. */
export function otherRungs({ candidate }: Best, rungs: readonly Kernel[], dimensions: Dimensions): Explored[] {
  const from = candidate.kernel.file.name;
  const own = rungs.findIndex(({ file }) => file.name === from);
  const ordered = [...rungs.slice(own + 1), ...rungs.slice(0, Math.max(0, own)).reverse()];
  return ordered.flatMap((rung): Explored[] => {
    const successor = onRung(candidate, rung, dimensions);
    const to = rung.file.name;
    if (!successor) return [];
    return [
      {
        key: `explore/${to}`,
        change: { kind: 'rung', from, to },
        candidate: successor,
        reason: 'a rung that has not been tried',
      },
    ];
  });
}

/** Every other setting of the best candidate's kernel that differs in one parameter, then in two; nearest values first. */
export function nearSettings(best: Best, dimensions: Dimensions): Explored[] {
  const { kernel, parameters } = best.candidate;
  return validAssignments(kernel.file, dimensions)
    .map((values) => ({ values, changes: changesFrom(parameters, values), distance: distance(best, values) }))
    .filter(({ changes }) => changes.length >= 1 && changes.length <= MOST_CHANGES)
    .sort((a, b) => a.changes.length - b.changes.length || a.distance - b.distance)
    .map(({ values, changes }) => ({
      key: `explore/${kernel.file.name}.${changes.map(({ parameter, to }) => `${parameter}=${to}`).join(',')}`,
      change: moveOf(kernel.file.name, changes),
      candidate: makeCandidate(kernel, values),
      reason: 'a setting near the best that has not been tried',
    }));
}

type Change = { parameter: string; from: number; to: number };

const changesFrom = (from: ParameterValues, to: ParameterValues): Change[] =>
  Object.entries(to)
    .filter(([parameter, value]) => from[parameter] !== value)
    .map(([parameter, value]) => ({ parameter, from: from[parameter]!, to: value }));

const moveOf = (kernel: string, changes: readonly Change[]): MoveRecord =>
  changes.length === 1
    ? { kind: 'parameter', kernel, ...changes[0]! }
    : { kind: 'parameters', kernel, changes: [...changes] };

/** Steps along the lists of allowed values, all parameters together. */
const distance = ({ candidate: { kernel, parameters } }: Best, values: ParameterValues): number =>
  Object.entries(kernel.file.parameters ?? {}).reduce((sum, [name, declaration]) => {
    const place = (value: number | undefined) => declaration.values.indexOf(value!);
    return sum + Math.abs(place(parameters[name]) - place(values[name]));
  }, 0);
