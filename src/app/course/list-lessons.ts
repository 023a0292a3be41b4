import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CourseView } from '../../reports/documents/course.ts';
import { aboutLesson, LESSON_FILE, loadLessons } from './lessons.ts';
import { isSolved } from './progress.ts';

/** Every lesson: whether this user has solved it, and whether its folder lies here. */
export async function listLessons(): Promise<CourseView> {
  const lessons = (await loadLessons()).map((lesson) => ({
    ...aboutLesson(lesson),
    solved: isSolved(lesson.file),
    isHere: existsSync(join(lesson.file.name, LESSON_FILE)),
  }));
  return { schemaVersion: 1, kind: 'course', lessons };
}
