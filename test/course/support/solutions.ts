import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const COURSE = fileURLToPath(new URL('../../../course', import.meta.url));
const SOLUTIONS = fileURLToPath(new URL('../solutions', import.meta.url));

/** Copies a lesson as a learner has it. */
export const copyLesson = (name: string, folder: string): Promise<void> =>
  cp(join(COURSE, name), folder, { recursive: true });

/** Replaces the files of its kernel that the kept solution changes. */
export const solve = (name: string, folder: string): Promise<void> =>
  cp(join(SOLUTIONS, name), join(folder, 'kernel'), { recursive: true });

/** Calls `use` with a copy of the lesson in which it is solved. The copy is gone afterwards. */
export async function withSolution<T>(name: string, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'warpsmith-solution-'));
  try {
    await copyLesson(name, folder);
    await solve(name, folder);
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
