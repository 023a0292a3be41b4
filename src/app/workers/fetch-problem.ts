import { isAbsolute, join, normalize, sep } from 'node:path';
import type { Job } from '../../evaluation/pool/job.ts';
import { sha256 } from '../../process/sha256.ts';
import { writeFolder } from '../../store/write-folder.ts';

/** Reads a file of a problem by its SHA-256. */
export type GetFile = (sha256: string) => Promise<Uint8Array>;

/** Puts the problems of jobs below a folder, each under the hash of its files, once. */
export function createProblemFetcher(below: string): (files: Job['problem']['files'], get: GetFile) => Promise<string> {
  const known = new Map<string, Promise<string>>();
  return (files, get) => {
    const hash = sha256(JSON.stringify(files));
    const fetched = known.get(hash) ?? fetchInto(join(below, hash), files, get);
    known.set(hash, fetched);
    // The next job may find its files.
    fetched.catch(() => known.delete(hash));
    return fetched;
  };
}

async function fetchInto(folder: string, files: Job['problem']['files'], get: GetFile): Promise<string> {
  const outside = Object.keys(files).find((name) => !isInside(name));
  if (outside !== undefined) throw new Error(`${outside} of a job's problem lies outside its folder`);
  const contents = await Promise.all(
    Object.entries(files).map(async ([name, hash]) => [name, await get(hash)] as const),
  );
  const names = Object.keys(files);
  return writeFolder(folder, Object.fromEntries(contents), { option: '--queue', earlier: () => names });
}

const isInside = (name: string): boolean =>
  name !== '' && !isAbsolute(name) && !normalize(name).split(sep).includes('..') && !name.includes('\0');
