import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ArtifactStore } from '../core/artifacts.ts';
import type { Evaluation } from '../core/evaluation.ts';
import { sha256 } from '../process/sha256.ts';
import { withStorageErrors } from './storage-error.ts';
import { writeWhole } from './write-whole.ts';

/** Files of one evaluation, in a folder that the user chose. */
const KEPT_FILES = { ptx: 'kernel.ptx', sass: 'kernel.sass', profile: 'profile.ncu-rep' } as const;

/** Holds the files of an evaluation in memory until the evaluation names them. */
export interface KeptFiles extends ArtifactStore {
  /**
   * Writes the files that the evaluation names into `folder`, replacing those of an earlier evaluation. Returns the names
   * of the files.
   *
   * @throws WarpsmithError if the folder can't be written.
   */
  write(folder: string, evaluation: Pick<Evaluation, 'artifacts' | 'profile'>): string[];
}

/** Nothing is on disk before `write`. */
export function holdKeptFiles(): KeptFiles {
  const held = new Map<string, string | Uint8Array>();
  return {
    put(contents) {
      const hash = sha256(contents);
      held.set(hash, contents);
      return hash;
    },
    write(folder, { artifacts, profile }) {
      const hashes = { ptx: artifacts?.ptx, sass: artifacts?.sass, profile: profile?.reportObject };
      const written: string[] = [];
      for (const kind of ['ptx', 'sass', 'profile'] as const) {
        const path = join(resolve(folder), KEPT_FILES[kind]);
        const contents = held.get(hashes[kind] ?? '');
        const update = () => (contents === undefined ? rmSync(path, { force: true }) : writeWhole(path, contents));
        withStorageErrors(path, update, '--keep');
        if (contents !== undefined) written.push(KEPT_FILES[kind]);
      }
      return written;
    },
  };
}
