// Judges the start and the kept solution of every lesson of the course, and writes what their pages show:
//   node scripts/record-course.ts            all; then npm run figures
//   node scripts/record-course.ts 03 07      only these, beside what is recorded of the others
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Lesson, loadLessons } from '../src/app/course/lessons.ts';
import { loadKernelUnder } from '../src/app/loading/load-kernel.ts';
import { loadProblem } from '../src/app/loading/load-problem.ts';
import { openSession } from '../src/app/session.ts';
import { chooseWorkload } from '../src/app/workload.ts';
import { makeCandidate } from '../src/core/candidate.ts';
import type { LineCounters } from '../src/core/counters.ts';
import type { Evaluation } from '../src/core/evaluation.ts';
import type { Kernel } from '../src/core/kernel.ts';
import { FIGURE_ROWS, LESSON_FIGURES } from '../src/core/lessons/figures.ts';
import { completeParameters } from '../src/core/plan/parameters.ts';
import { mistakeLines } from '../src/reports/documents/lesson-check.ts';
import { withSolution } from '../test/course/support/solutions.ts';
import {
  COURSE_RECORDING,
  type CourseRecording,
  type RecordedKernel,
  type RecordedLesson,
  readCourseRecording,
} from './results/course-recording.ts';

const SEED = 1;
const DIGITS = 6;

/** Counts stay as they are. */
const rounded = (value: number): number => (Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS)));

const hasEvent = ({ instructions: _, threadInstructions: __, location: ___, ...counts }: LineCounters): boolean =>
  Object.values(counts).some((count) => count > 0);

const linesOf = (kernel: Kernel, { counters }: Evaluation): RecordedKernel['lines'] => {
  const sources = Object.entries(kernel.sources).map(([name, text]) => [name, text.split('\n')] as const);
  return (counters?.launches ?? []).flatMap(({ lines }) =>
    lines.filter(hasEvent).map((line) => {
      const source = sources.find(([name]) => name === line.location.file)?.[1];
      return { text: source?.[line.location.line - 1] ?? '', counters: line };
    }),
  );
};

const recordedKernel = (evaluation: Evaluation, lines: RecordedKernel['lines']): RecordedKernel => ({
  candidate: evaluation.candidate.id,
  status: evaluation.status,
  mistake: evaluation.status === 'passed' ? [] : mistakeLines(evaluation),
  figures: Object.fromEntries(
    LESSON_FIGURES.flatMap((name) => {
      const value = FIGURE_ROWS[name].of(evaluation);
      return value === undefined ? [] : [[name, rounded(value)]];
    }),
  ),
  findings: evaluation.findings.map(({ id, title }) => ({ id, title })),
  lines,
});

const record = async ({ file, folder }: Lesson): Promise<{ lesson: RecordedLesson; compiler: string }> => {
  const problem = await loadProblem(folder);
  const workload = chooseWorkload(problem.file, file.workload);
  await using session = await openSession({ device: file.device, fresh: true });
  const judge = async (at: string, withLines: boolean): Promise<RecordedKernel> => {
    const kernel = await loadKernelUnder(join(at, 'kernel'), problem);
    const candidate = makeCandidate(kernel, completeParameters(kernel.file, {}));
    const evaluation = await session.evaluator.evaluate({ problem, candidate, workload, seed: SEED });
    return recordedKernel(evaluation, withLines ? linesOf(kernel, evaluation) : []);
  };
  const start = await judge(folder, true);
  const solution = await withSolution(file.name, (solved) => judge(solved, false));
  const compiler = `${session.toolchain.identity.name} ${session.toolchain.identity.version}`;
  return { lesson: { name: file.name, device: file.device, start, solution }, compiler };
};

const wanted = process.argv.slice(2);
const known = wanted.length === 0 ? undefined : await readCourseRecording().catch(() => undefined);
const lessons: RecordedLesson[] = [];
let compiler = known?.compiler ?? '';
for (const lesson of await loadLessons()) {
  const { name } = lesson.file;
  const before = known?.lessons.find((one) => one.name === name);
  if (before && !wanted.includes(name.slice(0, 2))) {
    lessons.push(before);
    continue;
  }
  const recorded = await record(lesson);
  compiler = recorded.compiler;
  lessons.push(recorded.lesson);
  const { start, solution } = recorded.lesson;
  process.stdout.write(
    `${name}: ${start.status} ${start.figures.time} → ${solution.status} ${solution.figures.time}\n`,
  );
}
const recording: CourseRecording = { schemaVersion: 1, compiler, lessons };
await writeFile(COURSE_RECORDING, `${JSON.stringify(recording, undefined, 2)}\n`);
process.stdout.write(`${(await readFile(COURSE_RECORDING)).length} bytes\n`);
