import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeCandidate } from '../../core/candidate.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import type { Candidate, Kernel } from '../../core/kernel.ts';
import { comparesWithStart, type JudgedGoal, judgeGoals } from '../../core/lessons/judge-goals.ts';
import { completeParameters } from '../../core/plan/parameters.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import type { LessonCheckView } from '../../reports/documents/lesson-check.ts';
import { loadKernel, loadKernelUnder } from '../loading/load-kernel.ts';
import { loadProblem } from '../loading/load-problem.ts';
import { openSession, type Session, type Surroundings, seedsOf } from '../session.ts';
import { chooseWorkload } from '../workload.ts';
import { aboutLesson, findLesson, LESSON_FILE, type Lesson, numberAfter, readLessonFile } from './lessons.ts';
import { noteSolved } from './progress.ts';

/** The folder of the learner's kernel, in the copy and in the course. */
export const KERNEL_FOLDER = 'kernel';

const candidateOf = (kernel: Kernel): Candidate => makeCandidate(kernel, completeParameters(kernel.file, {}));

/** @throws WarpsmithError `not-a-lesson`. */
function requireLesson(folder: string): void {
  if (existsSync(join(folder, LESSON_FILE))) return;
  const below = existsSync(folder)
    ? readdirSync(folder).filter((name) => existsSync(join(folder, name, LESSON_FILE)))
    : [];
  const [one = '03_bank_conflicts'] = below;
  throw new WarpsmithError({
    code: 'not-a-lesson',
    message: `${folder} is not the folder of a lesson.`,
    file: resolve(folder),
    received: below.length > 0 ? `a folder with the lessons ${below.join(', ')}` : 'a folder without lesson.json',
    expected: 'the folder that `warpsmith learn 03` made',
    hint: `For example: warpsmith learn check ${one}`,
  });
}

/** Judges candidates of one lesson, as often as is needed. */
function judgeOf(lesson: Lesson, session: Session, { signal, onStage }: Surroundings) {
  return async (candidate: Candidate, isStart: boolean): Promise<Evaluation> => {
    const problem = await loadProblem(lesson.folder);
    const workload = chooseWorkload(problem.file, lesson.file.workload);
    const seed = seedsOf(session, { problem, judged: [candidate], asked: workload })();
    // Nobody doubts the start: its counters and its time are all that is asked.
    const quick = isStart ? true : undefined;
    return session.evaluator.evaluate({ problem, candidate, workload, seed, signal, onStage, quick });
  };
}

/** What became of a learner's candidate. */
export type JudgedLesson = Pick<
  LessonCheckView,
  'solved' | 'isRight' | 'goals' | 'notJudged' | 'evaluation' | 'startNs'
>;

/**
 * Judges a candidate against the goals of a lesson, on the lesson's device.
 *
 * @throws WarpsmithError for what is no fault of the kernel's code, such as a mistake in kernel.json.
 */
export async function judgeLesson(
  lesson: Lesson,
  candidate: Candidate,
  session: Session,
  around: Surroundings,
): Promise<JudgedLesson> {
  const judge = judgeOf(lesson, session, around);
  const evaluation = await judge(candidate, false);
  if (evaluation.error) throw new WarpsmithError(evaluation.error);
  const isRight = evaluation.status === 'passed' && leftOutShapes(evaluation) === 0;
  const start =
    isRight && comparesWithStart(lesson.file)
      ? await judge(candidateOf((await loadKernel(join(lesson.folder, KERNEL_FOLDER))).kernel), true)
      : undefined;
  const goals: JudgedGoal[] = isRight ? judgeGoals(lesson.file, evaluation, start) : [];
  return {
    solved: isRight && goals.every(({ holds }) => holds),
    ...{ isRight, goals, notJudged: isRight ? [] : lesson.file.goals, evaluation },
    startNs: start?.timing?.medianNs ?? null,
  };
}

/**
 * Judges the learner's kernel against the goals of its lesson: on the virtual device that the lesson names, by the problem that came
 * with warpsmith, whatever the copy has become.
 *
 * @throws WarpsmithError `not-a-lesson`, `unknown-lesson`; for a mistake in kernel.json; for a missing compiler.
 */
export async function checkLesson(asked: RequestOf<'learn'> & Surroundings): Promise<LessonCheckView> {
  const { folder, threads, ...around } = completeRequest('learn', asked);
  requireLesson(folder);
  const lesson = await findLesson((await readLessonFile(folder)).name);
  const problem = await loadProblem(lesson.folder);
  const candidate = candidateOf(await loadKernelUnder(join(folder, KERNEL_FOLDER), problem));
  await using session = await openSession({ ...around, device: lesson.file.device, threads });
  const judged = await judgeLesson(lesson, candidate, session, around);
  if (judged.solved) await noteSolved(lesson.file, resolve(folder));
  return {
    ...{ schemaVersion: 1, kind: 'lesson-check' },
    lesson: aboutLesson(lesson),
    folder,
    ...judged,
    next: numberAfter(lesson),
  };
}

/** A kernel whose limits turn check shapes away is right for the others only. */
const leftOutShapes = ({ coverage }: Evaluation): number => coverage?.excludedShapes.length ?? 0;
