import { join } from 'node:path';
import type { Problem, Workload } from '../core/problem.ts';
import {
  openSealedText,
  pruneCacheFolder,
  readCacheFile,
  removeCacheFile,
  sealText,
  userCacheFolder,
  writeCacheFile,
} from '../process/cache-file.ts';
import { codeFingerprint } from '../process/code-fingerprint.ts';
import { sha256 } from '../process/sha256.ts';
import type { Contender, JudgedRow } from './dispatch-row.ts';
import { problemDigest, repeatsAreOff } from './repeats.ts';
import type { Session } from './session.ts';

/*
 * Rows of a dispatch table that was interrupted. They lie in the user's cache folder and not in a store, which may come from
 * somebody else. A table that is complete leaves none: another call judges everything again.
 */

/** A GPU may run hotter, or beside other work, on another day. */
const LONGEST_KEPT_MS = 12 * 3_600_000;
const MAXIMUM_BYTES = 16 * 1024 ** 2;

/** What decides a row, beside its workload and contenders. */
export interface RowSubject {
  readonly session: Pick<Session, 'device' | 'environment'>;
  readonly problem: Problem;
  /** Options that change what is found. */
  readonly options: object;
  readonly isFresh: boolean;
}

/** Rows by everything that decides them. What is damaged counts as absent. */
export interface KeptRows {
  read(workload: Workload, contenders: readonly Contender[]): Promise<JudgedRow | undefined>;
  keep(row: JudgedRow, workload: Workload, contenders: readonly Contender[]): Promise<void>;
  forget(workload: Workload, contenders: readonly Contender[]): void;
}

/** The rows that interrupted calls kept; `undefined` if nothing is to be kept. */
export function openKeptRows(
  { session, problem, options, isFresh }: RowSubject,
  folder: string | undefined = userCacheFolder('dispatch-rows'),
): KeptRows | undefined {
  if (folder === undefined || repeatsAreOff()) return undefined;
  const { device, environment } = session;
  const base = JSON.stringify([
    codeFingerprint(),
    device.identity,
    device.spec,
    environment,
    problem.file,
    problemDigest(problem),
    options,
  ]);
  const pathOf = (workload: Workload, contenders: readonly Contender[]): string => {
    const asked = contenders
      .filter(({ workloads }) => workloads === undefined || workloads.has(workload.name))
      .map(({ candidate: { kernel, parameters } }) => [kernel.file, kernel.sources, parameters]);
    return join(folder, sha256(JSON.stringify([base, workload, asked])));
  };
  return {
    async read(workload, contenders) {
      const text = isFresh ? undefined : await readCacheFile(pathOf(workload, contenders));
      const opened = text === undefined ? undefined : openSealedText(text);
      if (opened === undefined) return undefined;
      const row = JSON.parse(opened) as JudgedRow;
      return Date.now() - Date.parse(row.judgedAt) <= LONGEST_KEPT_MS ? row : undefined;
    },
    async keep(row, workload, contenders) {
      await writeCacheFile(pathOf(workload, contenders), sealText(JSON.stringify(row)));
      pruneCacheFolder(folder, MAXIMUM_BYTES);
    },
    forget: (workload, contenders) => removeCacheFile(pathOf(workload, contenders)),
  };
}
