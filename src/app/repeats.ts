import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DeviceSpec } from '../core/device-spec.ts';
import type { Generator, Problem } from '../core/problem.ts';
import { priorsKey, type RepeatContext, type SeedSubject, seedKey } from '../evaluation/recording/repeat.ts';
import { userCacheFolder } from '../process/cache-file.ts';
import { codeFingerprint } from '../process/code-fingerprint.ts';
import { sha256 } from '../process/sha256.ts';
import type { Priors } from '../store/events.ts';
import { openRepeatStore } from '../store/repeats.ts';
import type { Toolchain } from '../toolchains/toolchain.ts';
import { hashHostCode } from './loading/trust.ts';
import { type DrawSeed, drawSeed } from './seed.ts';

/*
 * What virtual devices have found before. It lies in the user's cache folder and not in a store: a store comes with a
 * repository or from another machine, and whoever wrote it could say that any kernel passed.
 */

/** `WARPSMITH_REPEATS=off`: nothing is answered from earlier evaluations, and nothing is kept for later ones. */
export const repeatsAreOff = (environment: Readonly<Record<string, string | undefined>> = process.env): boolean =>
  environment.WARPSMITH_REPEATS === 'off';

/** What evaluates, beside warpsmith itself. */
export interface EvaluatingTools {
  readonly spec: DeviceSpec;
  readonly toolchain: Toolchain;
  readonly environment: Readonly<Record<string, string>>;
  /** Options that can change what is found. */
  readonly limits: object;
}

/** Opens what was found before; `undefined` where something that decides can't be told. */
export function openRepeats(
  { spec, toolchain, environment, limits }: EvaluatingTools,
  { isFresh, folder = userCacheFolder('repeats') }: { readonly isFresh: boolean; readonly folder?: string },
): RepeatContext | undefined {
  const compiler = toolchain.digest?.();
  if (compiler === undefined || folder === undefined) return undefined;
  let digest: string | undefined;
  return {
    store: openRepeatStore(folder),
    get evaluatorDigest() {
      digest ??= sha256(JSON.stringify([codeFingerprint(), spec, compiler, environment, limits]));
      return digest;
    },
    problemDigest,
    isFresh,
  };
}

/**
 * Draws seeds for a subject: the one that was drawn for exactly it before, so that nothing is evaluated twice; a new one
 * where anything has changed, or where everything is to be evaluated again.
 */
export const seedsFor =
  (context: RepeatContext, subject: SeedSubject): DrawSeed =>
  (after) => {
    const key = seedKey(subject, context, after);
    const known = context.isFresh ? undefined : context.store.seed(key);
    if (known !== undefined) return known;
    const drawn = drawSeed();
    context.store.keepSeed(key, drawn);
    return drawn;
  };

/** What a guided run of the subject knows of earlier runs: what it knew when it was first made with these files. */
export function priorsFor(context: RepeatContext, subject: SeedSubject, store: string, read: () => Priors): Priors {
  const key = priorsKey(subject, context, resolve(store));
  const known = context.isFresh ? undefined : context.store.priors(key);
  if (known) return known;
  const priors = read();
  context.store.keepPriors(key, priors);
  return priors;
}

/** Everything that decides what is right: problem.json, the reference and what it may import, and arrays of inputs. */
export function problemDigest({ folder, file }: Pick<Problem, 'folder' | 'file'>): string {
  const arrays = arrayFiles(file).map((name) => [name, fileDigest(resolve(folder, name))]);
  return sha256(JSON.stringify([hashHostCode(folder), arrays]));
}

/** Every .npy file that a generator names, wherever in problem.json. */
export function arrayFiles(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { kind, file } = value as Partial<Extract<Generator, { kind: 'npy' }>>;
  const own = kind === 'npy' && typeof file === 'string' ? [file] : [];
  return [...own, ...Object.values(value).flatMap(arrayFiles)];
}

/** What Node reads at once. */
const MAXIMUM_ARRAY_BYTES = 2 ** 31 - 1;

/** Files of arrays may be large: read again only when they changed. */
const fileDigests = new Map<string, { readonly signature: string; readonly digest: string }>();

export function fileDigest(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile()) return 'missing';
  const signature = `${found.size} ${found.mtimeMs} ${found.ctimeMs} ${found.ino}`;
  const known = fileDigests.get(path);
  if (known?.signature === signature) return known.digest;
  // What is too large to be read is refused when inputs are drawn.
  const digest = found.size > MAXIMUM_ARRAY_BYTES ? signature : sha256(readFileSync(path));
  fileDigests.set(path, { signature, digest });
  return digest;
}
