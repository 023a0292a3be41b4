import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import type { LessonFile } from '../../core/lessons/lesson.ts';
import { suggestName } from '../../core/nearest-name.ts';
import { pick } from '../../core/pick.ts';
import { parseLessonFile } from '../../core/schemas/parse-files.ts';
import { packageFolder } from '../../process/package-folder.ts';
import type { LessonAbout } from '../../reports/documents/course.ts';
import { readUserText } from '../loading/read-user-file.ts';

export const LESSON_FILE = 'lesson.json';
const PAGE_FILE = 'page.md';

/** A lesson that came with warpsmith: a problem folder with the kernel that the learner begins with, a page and goals. */
export interface Lesson {
  readonly file: LessonFile;
  readonly folder: string;
}

const courseFolder = (): string => packageFolder('course');

/** The names of all lessons, in their order. */
const lessonNames = (): string[] =>
  readdirSync(courseFolder(), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();

/** `03` of `03_bank_conflicts`. */
export const lessonNumber = ({ name }: Pick<LessonFile, 'name'>): string => name.slice(0, 2);

/** @throws WarpsmithError for a missing file or a mistake in it. */
export async function readLessonFile(folder: string): Promise<LessonFile> {
  const file = join(folder, LESSON_FILE);
  const text = await readUserText({
    file,
    expected: 'the folder of a lesson, as `warpsmith learn 03` makes it',
    hint: 'Name the folder of the lesson: warpsmith learn check 03_bank_conflicts',
  });
  return parseLessonFile(text, file);
}

async function loadLesson(name: string): Promise<Lesson> {
  const folder = join(courseFolder(), name);
  return { file: await readLessonFile(folder), folder };
}

/** Every lesson of the course, in order. */
export const loadLessons = (): Promise<Lesson[]> => Promise.all(lessonNames().map(loadLesson));

/**
 * The lesson of a number or a name, such as `03`, `3` or `03_bank_conflicts`.
 *
 * @throws WarpsmithError `unknown-lesson`.
 */
export async function findLesson(text: string): Promise<Lesson> {
  const names = lessonNames();
  const wanted = text.padStart(2, '0');
  const name = names.find((one) => one === text || one.slice(0, 2) === wanted);
  if (name !== undefined) return loadLesson(name);
  throw new WarpsmithError({
    code: 'unknown-lesson',
    message: `There is no lesson ${text}.`,
    path: '<lesson>',
    received: text,
    expected: `all, check, or one of ${names.join(', ')}`,
    hint: suggestName(text, names, 'Lessons'),
  });
}

/** The number of the lesson after this one; null after the last. */
export function numberAfter({ file: { name } }: Lesson): string | null {
  const names = lessonNames();
  return names[names.indexOf(name) + 1]?.slice(0, 2) ?? null;
}

/** The page as people read it: without the marks of generated parts. */
export async function readPage({ folder }: Lesson): Promise<string> {
  const text = await readFile(join(folder, PAGE_FILE), 'utf8');
  return text.replaceAll(/<!-- .*? -->\n\n?/g, '').replaceAll(/\n{3,}/g, '\n\n');
}

/** What every view of a lesson tells of it. */
export const aboutLesson = ({ file }: Lesson): LessonAbout => ({
  number: lessonNumber(file),
  ...pick(file, 'name', 'title', 'idea'),
});
