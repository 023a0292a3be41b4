import { join } from 'node:path';
import type { DeviceIdentity } from '../core/device.ts';
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
 * somebody else; or in a folder that the user names, and takes to another machine. A table that is complete leaves none: another
 * call judges everything again.
 */

/** A GPU may run hotter, or beside other work, on another day. */
const LONGEST_KEPT_MS = 12 * 3_600_000;
const MAXIMUM_BYTES = 16 * 1024 ** 2;

/** What judged a row, as far as it may differ from what judges others of its table. */
export interface RowPlace {
  readonly device: DeviceIdentity;
  readonly processor: string;
}

/** A row, and what judged it. */
export interface KeptRow {
  readonly row: JudgedRow;
  readonly on: RowPlace;
}

/** What decides a row, beside its workload and contenders. */
export interface RowSubject {
  /** One of those that judge, all of one model. */
  readonly session: Pick<Session, 'device' | 'environment'>;
  readonly problem: Problem;
  /** Options that change what is found. */
  readonly options: object;
  readonly isFresh: boolean;
  /** Where the user wants rows to be kept; by default in the cache folder, unless nothing is to be kept there. */
  readonly folder?: string | undefined;
}

/** Rows by everything that decides them. What is damaged counts as absent. */
export interface KeptRows {
  read(workload: Workload, contenders: readonly Contender[]): Promise<KeptRow | undefined>;
  keep(kept: KeptRow, workload: Workload, contenders: readonly Contender[]): Promise<void>;
  forget(workload: Workload, contenders: readonly Contender[]): void;
}

export const placeOf = ({ device, environment }: RowSubject['session']): RowPlace => ({
  device: device.identity,
  processor: environment.processor ?? 'unknown',
});

/**
 * The rows that interrupted calls kept; `undefined` if nothing is to be kept. A table may be the work of several boards of one
 * model, so a row of another one counts as well, of this machine or not: with the same model, driver, compiler and warpsmith.
 */
export function openKeptRows({ session, problem, options, isFresh, folder: asked }: RowSubject): KeptRows | undefined {
  const folder = asked ?? (repeatsAreOff() ? undefined : userCacheFolder('dispatch-rows'));
  if (folder === undefined) return undefined;
  const { kind, name, driver } = session.device.identity;
  const { warpsmith, compiler } = session.environment;
  const base = JSON.stringify([
    codeFingerprint(),
    { kind, name, driver },
    session.device.spec,
    { warpsmith, compiler },
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
      const kept = JSON.parse(opened) as KeptRow;
      return Date.now() - Date.parse(kept.row.judgedAt) <= LONGEST_KEPT_MS ? kept : undefined;
    },
    async keep(kept, workload, contenders) {
      await writeCacheFile(pathOf(workload, contenders), sealText(JSON.stringify(kept)));
      // What else lies in a folder of the user's is not ours to remove.
      if (asked === undefined) pruneCacheFolder(folder, MAXIMUM_BYTES);
    },
    forget: (workload, contenders) => removeCacheFile(pathOf(workload, contenders)),
  };
}
