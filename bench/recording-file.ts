import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { sha256 } from '../src/process/sha256.ts';

/** A recording under way: `save` after every entry, so that a program that is cut off leaves what it has done. */
export interface OpenRecording<R> {
  readonly recording: R;
  save(): Promise<void>;
}

const DIGEST_LETTERS = 16;

/** Names a PTX text in recordings. */
export const digestOf = (ptx: string): string => sha256(ptx).slice(0, DIGEST_LETTERS);

async function readEarlier<R>(file: string): Promise<R | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as R;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The recording that is already there, to be continued, so that limited time on a machine can be used in parts.
 *
 * @param begin what a new one starts with; called only when there is none yet.
 */
export async function openRecording<R>(file: string, begin: () => R | Promise<R>): Promise<OpenRecording<R>> {
  const recording = (await readEarlier<R>(file)) ?? (await begin());
  await mkdir(dirname(file), { recursive: true });
  return { recording, save: () => writeFile(file, `${JSON.stringify(recording, undefined, 1)}\n`) };
}
