import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CourseView } from '../../reports/documents/course.ts';
import { LESSON_FILE, lessonNumber, loadLessons } from './lessons.ts';
import { isSolved } from './progress.ts';

/** Every lesson: whether this user has solved it, and whether its folder lies here. */
export async function listLessons(): Promise<CourseView> {
  const lessons = (await loadLessons()).map(({ file }) => ({
    number: lessonNumber(file),
    name: file.name,
    title: file.title,
    idea: file.idea,
    solved: isSolved(file),
    isHere: existsSync(join(file.name, LESSON_FILE)),
  }));
  return { schemaVersion: 1, kind: 'course', lessons };
}
