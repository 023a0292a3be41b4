import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCourseRecording } from '../../scripts/results/course-recording.ts';
import { checkLesson } from '../../src/app/course/check-lesson.ts';
import { loadLessons, readPage } from '../../src/app/course/lessons.ts';
import { isSolved } from '../../src/app/course/progress.ts';
import { loadKernelUnder } from '../../src/app/loading/load-kernel.ts';
import { loadProblem } from '../../src/app/loading/load-problem.ts';
import { chooseWorkload } from '../../src/app/workload.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import { FIGURE_ROWS, type LessonFigure } from '../../src/core/lessons/figures.ts';
import { completeParameters } from '../../src/core/plan/parameters.ts';
import { locateClang } from '../../src/toolchains/locate-clang.ts';
import { sampled } from '../support/sampling/matrix.ts';
import { copyLesson, solve, withSolution } from './support/solutions.ts';

const LESSONS = await loadLessons();
const { lessons: RECORDED, compiler: RECORDED_WITH } = await readCourseRecording();
const COMPILER = `clang ${(await locateClang()).version}`;

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'warpsmith-course-'));
  process.env.XDG_STATE_HOME = join(home, 'state');
});
afterAll(() => rm(home, { recursive: true, force: true }));

const candidateAt = async (lesson: string, folder: string): Promise<string> => {
  const kernel = await loadKernelUnder(join(folder, 'kernel'), await loadProblem(lesson));
  return makeCandidate(kernel, completeParameters(kernel.file, {})).id;
};

it('has twelve lessons, numbered', () =>
  expect(LESSONS.map(({ file }) => Number(file.name.slice(0, 2)))).toEqual(
    Array.from({ length: 12 }, (_, i) => i + 1),
  ));

describe.each(LESSONS)('$file.name', ({ file, folder }) => {
  it('has a problem with its workload, and a name that is its folder’s', async () => {
    const problem = await loadProblem(folder);
    expect([file.name, problem.file.name, problem.file.start]).toEqual([folder.split('/').at(-1), file.name, 'kernel']);
    expect(chooseWorkload(problem.file, file.workload).name).toBe(file.workload);
  });

  it('is recorded as its files are: node scripts/record-course.ts', async () => {
    const recorded = RECORDED.find(({ name }) => name === file.name);
    expect(recorded?.start.candidate).toBe(await candidateAt(folder, folder));
    await withSolution(file.name, async (solved) =>
      expect(recorded?.solution.candidate).toBe(await candidateAt(folder, solved)),
    );
  });

  it('has a page for a terminal: at most two screens, with its check at the end', async () => {
    const lines = (await readPage({ file, folder })).split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.length).toBeLessThan(100);
    expect(lines).toContain(`    warpsmith learn check ${file.name}`);
  });
});

const MEMBERS = LESSONS.flatMap(({ file: { name } }) => [[name, 'start'] as const, [name, 'solution'] as const]);

sampled('lessons of the course', MEMBERS, {
  oneIn: 16,
  kindOf: ([, which]) => which,
  placeOf: ([name]) => `course/${name}`,
})('%s: the %s is judged as recorded', async (name, which) => {
  const folder = join(home, `${name}-${which}`);
  await copyLesson(name, folder);
  if (which === 'solution') await solve(name, folder);
  const { solved, isRight, goals, evaluation } = await checkLesson({ lesson: 'check', folder });
  expect(solved, JSON.stringify(goals)).toBe(which === 'solution');
  const recorded = RECORDED.find((lesson) => lesson.name === name)![which];
  expect(evaluation.status === 'passed').toBe(recorded.status === 'passed');
  if (isRight && which === 'start') expect(goals.some(({ holds }) => !holds)).toBe(true);
  if (COMPILER === RECORDED_WITH)
    for (const [figure, value] of Object.entries(recorded.figures))
      expect((FIGURE_ROWS[figure as LessonFigure].of(evaluation) ?? 0) / (value || 1), figure).toBeCloseTo(
        value && 1,
        4,
      );
  const lesson = LESSONS.find(({ file }) => file.name === name)!;
  expect(isSolved(lesson.file)).toBe(existsSync(join(home, 'state', 'warpsmith', 'course', name)));
  if (which === 'solution') expect(isSolved(lesson.file)).toBe(true);
});
