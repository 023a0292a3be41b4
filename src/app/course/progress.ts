import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LessonFile } from '../../core/lessons/lesson.ts';
import { writeCacheFile } from '../../process/cache-file.ts';
import { xdgFolder } from '../../process/xdg-folder.ts';

/** `$XDG_STATE_HOME/warpsmith/course`, or the same below ~/.local/state, with one file per solved lesson. */
const progressFolder = (): string => join(xdgFolder('XDG_STATE_HOME'), 'course');

/** Whether this user has solved a lesson, in any folder. */
export const isSolved = ({ name }: LessonFile): boolean => existsSync(join(progressFolder(), name));

/** Notes that a lesson is solved. A home folder that can't be written is no error: the solution still is one. */
export const noteSolved = ({ name }: LessonFile, folder: string): Promise<void> =>
  writeCacheFile(join(progressFolder(), name), `${new Date().toISOString()} ${folder}\n`);
