import type { Evaluation } from '../evaluation.ts';
import type { Finding } from '../finding.ts';
import { FIGURE_ROWS } from './figures.ts';
import type { LessonFile, LessonGoal } from './lesson.ts';

type FigureGoal = Extract<LessonGoal, { kind: 'figure' }>;

/** What became of one goal. Numbers are in the unit of the figure. */
export interface JudgedGoal {
  readonly goal: LessonGoal;
  readonly holds: boolean;
  /** What a figure goal counted; absent where the kernel has no such figure. */
  readonly value?: number | undefined;
  /** The limit, worked out where it is a multiple of the start's; absent where the start has no such figure. */
  readonly limit?: number | undefined;
  /** The finding that is still there, or that explains the figure. */
  readonly finding?: Finding | undefined;
}

/** Whether the goals of a lesson need the start judged as well. */
export const comparesWithStart = ({ goals }: Pick<LessonFile, 'goals'>): boolean =>
  goals.some((goal) => goal.kind === 'figure' && goal.ofStart);

/**
 * Judges the goals of a lesson. A figure that a kernel does not have is 0: a kernel without loads has no sectors per load.
 *
 * @param evaluation of the learner's kernel, which passed.
 * @param start the lesson's start on the same device and workload; may be absent if no goal compares with it.
 */
export const judgeGoals = (
  { goals }: Pick<LessonFile, 'goals'>,
  evaluation: Evaluation,
  start: Evaluation | undefined,
): JudgedGoal[] =>
  goals.map((goal) =>
    goal.kind === 'figure' ? judgeFigure(goal, evaluation, start) : judgeFinding(goal, evaluation.findings),
  );

function judgeFigure(goal: FigureGoal, evaluation: Evaluation, start: Evaluation | undefined): JudgedGoal {
  const { of } = FIGURE_ROWS[goal.figure];
  const value = of(evaluation);
  const bound = (goal.atMost ?? goal.atLeast)!;
  const unit = goal.ofStart ? start && of(start) : 1;
  const limit = unit === undefined ? undefined : bound * unit;
  // Written so that a missing limit fails.
  const holds =
    goal.atMost === undefined ? (value ?? 0) >= (limit ?? Number.NaN) : (value ?? 0) <= (limit ?? Number.NaN);
  return { goal, holds, value, limit };
}

function judgeFinding(goal: Extract<LessonGoal, { kind: 'no-finding' }>, findings: readonly Finding[]): JudgedGoal {
  const finding = findings.find(({ id }) => id === goal.finding);
  return { goal, holds: finding === undefined, finding };
}
