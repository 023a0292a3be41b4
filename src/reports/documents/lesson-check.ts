import type { Evaluation } from '../../core/evaluation.ts';
import { FIGURE_ROWS, type LessonFigure } from '../../core/lessons/figures.ts';
import type { JudgedGoal } from '../../core/lessons/judge-goals.ts';
import type { LessonGoal } from '../../core/lessons/lesson.ts';
import * as doc from '../document.ts';
import { describeDiagnostic, formatFigure, formatNs } from '../format.ts';
import { describeEvidence } from '../sections/findings.ts';
import type { LessonAbout } from './course.ts';
import { statusText, troubleLines } from './evaluation.ts';

/** What the referee says of a learner's kernel. */
export interface LessonCheckView {
  schemaVersion: 1;
  kind: 'lesson-check';
  lesson: LessonAbout;
  folder: string;
  solved: boolean;
  /** Passed, on every check shape of the problem: no limit of its kernel.json turns one away. */
  isRight: boolean;
  /** Empty if the kernel is not right. */
  goals: readonly JudgedGoal[];
  /** The goals of a kernel that is not right. */
  notJudged: readonly LessonGoal[];
  evaluation: Evaluation;
  /** Predicted; `null` where no goal compares with the start. */
  startNs: number | null;
  /** The number of the lesson after this one. */
  next: string | null;
}

/** A figure in its unit: `17.8 µs`, `4`, `83 %`. */
export const figureText = (figure: LessonFigure, value: number): string =>
  figure === 'time' ? formatNs(value) : `${formatFigure(value)}${FIGURE_ROWS[figure].unit ?? ''}`;

/** A goal in words. */
export function goalText(goal: LessonGoal, limit?: number): string {
  if (goal.kind === 'no-finding') return `the finding ${goal.finding} is gone`;
  const { figure, atMost, atLeast, ofStart } = goal;
  const bound = (atMost ?? atLeast)!;
  const side = atMost === undefined ? 'at least' : 'at most';
  const text = ofStart ? `${formatFigure(bound)} × the start's` : figureText(figure, bound);
  const worked = ofStart && limit !== undefined ? ` (${figureText(figure, limit)})` : '';
  return `${FIGURE_ROWS[figure].label}: ${side} ${text}${worked}`;
}

const HOLDS = doc.good('holds');
const FAILS = doc.bad('not yet');

interface Row {
  readonly goal: string;
  readonly got: string;
  readonly state: doc.Inline;
}

function rowOf({ goal, holds, value, limit, finding }: JudgedGoal): Row {
  const counted = goal.kind === 'figure' && value !== undefined ? figureText(goal.figure, value) : '';
  return { goal: goalText(goal, limit), got: finding ? 'still there' : counted, state: holds ? HOLDS : FAILS };
}

const rowsOf = ({ isRight, goals, notJudged, evaluation }: LessonCheckView): Row[] => [
  { goal: 'right on every check', got: evaluation.status, state: isRight ? HOLDS : FAILS },
  ...goals.map(rowOf),
  ...notJudged.map((goal) => ({ goal: goalText(goal), got: '', state: '–' })),
];

/** What to think about while a goal does not hold. */
export const hintsOf = ({ goal, finding }: JudgedGoal): string[] => [
  ...(goal.hint === undefined ? [] : [goal.hint]),
  ...(finding ? [`${finding.title}: ${describeEvidence(finding)}. ${finding.advice}`] : []),
];

/** Why a kernel is not right, and where: a line each. */
export function mistakeLines(evaluation: Evaluation): string[] {
  const { status, diagnostics = [], coverage } = evaluation;
  const turnedAway = coverage?.excludedShapes.length ?? 0;
  return [
    status === 'passed'
      ? `The \`limits\` in kernel.json turn ${turnedAway} check shapes away. The kernel has to take them.`
      : doc.plainOf(statusText(evaluation)),
    ...troubleLines(evaluation),
    ...diagnostics.filter(({ severity }) => severity === 'error').map(describeDiagnostic),
  ];
}

/** Goal by goal what holds, and a hint where one does not. */
export function lessonCheckDocument(view: LessonCheckView): doc.Document {
  const { lesson, solved, goals, folder, next } = view;
  const hints = goals.filter(({ holds }) => !holds).flatMap(hintsOf);
  return doc.documentOf(
    [`Lesson ${lesson.number}, ${lesson.title}: `, solved ? doc.good('solved') : doc.bad('not solved yet')],
    [
      doc.table('Goals', rowsOf(view), [
        doc.words('goal', ({ goal }) => goal),
        doc.figures('yours', ({ got }) => got),
        doc.names('', ({ state }) => state),
      ]),
      view.isRight ? null : doc.list(mistakeLines(view.evaluation)),
    ],
    [
      doc.section('hints', 'Hints', [doc.list(hints)]),
      doc.section('next', solved ? 'Next' : 'Look closer', [
        doc.codeBlock(
          'sh',
          solved
            ? `warpsmith learn${next === null ? '' : ` ${next}`}`
            : `warpsmith diagnose ${folder}/kernel --device ${view.evaluation.device.id}`,
        ),
      ]),
    ],
  );
}
