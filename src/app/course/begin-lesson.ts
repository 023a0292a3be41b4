import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { RequestOf } from '../../core/requests/request.ts';
import type { LessonView } from '../../reports/documents/course.ts';
import { writeFolder } from '../../store/write-folder.ts';
import { agreeToOwn } from '../loading/trust.ts';
import { readOwnFiles } from '../own-files.ts';
import { aboutLesson, findLesson, LESSON_FILE, type Lesson, readLessonFile, readPage } from './lessons.ts';

/** Whether the folder holds a copy of this lesson, which is the learner's. */
async function isCopyOf({ file }: Lesson, folder: string): Promise<boolean> {
  return existsSync(join(folder, LESSON_FILE)) && (await readLessonFile(folder)).name === file.name;
}

/**
 * Copies the start of a lesson into a folder of its own. A folder that already holds the lesson stays as it is.
 *
 * @throws WarpsmithError `unknown-lesson`; `folder-not-empty` for a folder with other files.
 */
export async function beginLesson({
  lesson: text,
  output,
}: RequestOf<'learn'> & { lesson: string }): Promise<LessonView> {
  const lesson = await findLesson(text);
  const folder = output ?? lesson.file.name;
  const files = await readOwnFiles('course', lesson.file.name);
  const wasThere = await isCopyOf(lesson, folder);
  if (!wasThere) {
    writeFolder(folder, files, { option: '--output', earlier: () => [] });
    await agreeToOwn(folder);
  }
  const page = await readPage(lesson);
  return {
    schemaVersion: 1,
    kind: 'lesson',
    lesson: aboutLesson(lesson),
    folder: resolve(folder),
    files: Object.keys(files),
    wasThere,
    page,
  };
}
