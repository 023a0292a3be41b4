import { join } from 'node:path';
import { sha256 } from '../../process/sha256.ts';
import { filesMatching, originalFiles } from './original-files.ts';
import { readFolderFile } from './read-user-file.ts';

/** problem.json, the reference, and what a reference may import. Library baselines decide nothing. */
const DECIDING = /^(?!baseline\.py$).*\.(?:json|[cm]?[jt]s|py)$/;

/**
 * SHA-256 of each file of the problem's folder that decides what is right, by name. Kernels are excluded, but for the original: their
 * candidates carry content hashes.
 */
export const hashProblemFiles = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...filesMatching(folder, DECIDING), ...originalFiles(folder)].map((name) => [
      name,
      sha256(readFolderFile(join(folder, name))),
    ]),
  );

/** The first file whose hash is not the same in both; undefined if all are. */
export const differingFile = (
  known: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): string | undefined => Object.keys({ ...known, ...now }).find((file) => now[file] !== known[file]);
