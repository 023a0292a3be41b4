import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { LessonFile } from '../../core/lessons/lesson.ts';
import { writeCacheFile } from '../../process/cache-file.ts';

/** `$XDG_STATE_HOME/warpsmith/course`, or the same below ~/.local/state, with one file per solved lesson. */
function progressFolder(): string {
  const named = process.env.XDG_STATE_HOME;
  // The XDG Base Directory Specification says to ignore relative paths.
  const state = named !== undefined && isAbsolute(named) ? named : join(homedir(), '.local', 'state');
  return join(state, 'warpsmith', 'course');
}

/** Whether this user has solved a lesson, in any folder. */
export const isSolved = ({ name }: LessonFile): boolean => existsSync(join(progressFolder(), name));

/** Notes that a lesson is solved. A home folder that can't be written is no error: the solution still is one. */
export const noteSolved = ({ name }: LessonFile, folder: string): Promise<void> =>
  writeCacheFile(join(progressFolder(), name), `${new Date().toISOString()} ${folder}\n`);
