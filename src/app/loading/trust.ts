import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import { writeCacheFile } from '../../process/cache-file.ts';
import { sha256 } from '../../process/sha256.ts';
import { xdgFolder } from '../../process/xdg-folder.ts';
import { findHeaderFolder } from '../../toolchains/header-pack.ts';
import { filesMatching, originalFiles } from './original-files.ts';
import { readFolderFile } from './read-user-file.ts';

/*
 * Whether the host code of a problem (reference.ts, baseline.py) may run: if the problem came with warpsmith, if the user
 * named a problem of the repository they work in, or if they agreed to exactly these files before.
 */

/** What a user is asked about. */
export interface TrustQuestion {
  /** Name of the problem. */
  readonly problem: string;
  readonly folder: string;
  /** The files that run or are imported, by name. */
  readonly files: readonly string[];
  /** SHA-256 over names and contents. */
  readonly hash: string;
  /** Who named the problem: the command line, or the log of a run. */
  readonly namedBy: 'user' | 'log';
}

/** Asks the user. `true` agrees to these files for good. */
export type AskTrust = (question: TrustQuestion) => Promise<boolean>;

/** Files that may hold host code, or that host code may import. */
const HOST_CODE = /\.(?:json|[cm]?[jt]s|py)$/;

/** Hashes that the user agreed to in this process, so that a home folder that can't be written does not ask twice. */
const agreed = new Set<string>();

/**
 * Ensures that the problem's host code may run; asks if it must.
 *
 * @throws WarpsmithError `problem-not-trusted` if the user refuses or can't be asked.
 */
export async function ensureTrusted(
  { folder, file: { name } }: { readonly folder: string; readonly file: { readonly name: string } },
  { namedBy, ask }: { namedBy: 'user' | 'log'; ask?: AskTrust | undefined },
): Promise<void> {
  await ensureAgreed({ problem: name, folder, namedBy, ...hostCode(folder) }, ask);
}

/** As {@link ensureTrusted}, for one file of host code that is no problem yet. */
export async function ensureFileTrusted(file: string, { ask }: { ask?: AskTrust | undefined }): Promise<void> {
  const [folder, name] = [dirname(resolve(file)), basename(file)];
  const content = sha256(readFileSync(file));
  await ensureAgreed({ problem: name, folder, namedBy: 'user', files: [name], hash: content }, ask);
}

async function ensureAgreed(question: TrustQuestion, ask: AskTrust | undefined): Promise<void> {
  const { folder, namedBy, hash } = question;
  if (isTrusted(folder, hash)) return;
  const isOwn = namedBy === 'user' && liesBelow(folder, repositoryOf(process.cwd()));
  if (!isOwn && !(await ask?.(question))) throw notTrusted(question);
  await agree(hash, folder);
}

/** Agrees to a folder that warpsmith itself has just written, from its own files. */
export async function agreeToOwn(folder: string): Promise<void> {
  const { hash } = hostCode(folder);
  await agree(hash, folder);
}

async function agree(hash: string, folder: string): Promise<void> {
  agreed.add(hash);
  await writeCacheFile(join(consentFolder(), hash), `${new Date().toISOString()} ${folder}\n`);
}

/** Somebody whom this process works for has agreed to the host code as it is now. Nothing is kept of that. */
export const agreeTo = (folder: string): void => void agreed.add(hashHostCode(folder));

/**
 * For code that can't ask: returns if the problem is already trusted.
 *
 * @throws WarpsmithError `problem-not-trusted`.
 */
export function requireTrusted(problem: string, folder: string): void {
  const code = hostCode(folder);
  if (!isTrusted(folder, code.hash)) throw notTrusted({ problem, folder, namedBy: 'user', ...code });
}

function isTrusted(folder: string, hash: string): boolean {
  return (
    liesBelow(folder, dirname(findHeaderFolder())) ||
    agreed.has(hash) ||
    isNamedInEnvironment(hash) ||
    existsSync(join(consentFolder(), hash))
  );
}

/**
 * `WARPSMITH_TRUST`: `all`, or hashes (at least 16 digits) separated by commas, for machines on which nobody can answer.
 */
function isNamedInEnvironment(hash: string): boolean {
  const named = (process.env.WARPSMITH_TRUST ?? '').split(',').map((text) => text.trim());
  return named.some((text) => text === 'all' || (text.length >= SHORT_HASH && hash.startsWith(text)));
}

const SHORT_HASH = 16;

/** `$XDG_CONFIG_HOME/warpsmith/trusted`, or the same below ~/.config, with one file per hash. */
const consentFolder = (): string => join(xdgFolder('XDG_CONFIG_HOME'), 'trusted');

/** SHA-256 over names and contents of all files that may run or be imported. */
export const hashHostCode = (folder: string): string => hostCode(folder).hash;

function hostCode(folder: string): Pick<TrustQuestion, 'files' | 'hash'> {
  const files = filesMatching(folder, HOST_CODE);
  const hash = createHash('sha256');
  for (const name of [...files, ...originalFiles(folder)]) {
    hash.update(`${JSON.stringify(name)} ${sha256(readFolderFile(join(folder, name)))}\n`);
  }
  return { files: files.filter((name) => !name.endsWith('.json')), hash: hash.digest('hex') };
}

/** The nearest folder above that holds a `.git`. */
function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at;
    if (dirname(at) === at) return undefined;
  }
}

function liesBelow(folder: string, root: string | undefined): boolean {
  if (root === undefined) return false;
  const path = relative(realpathSync(root), realpathSync(folder));
  return !isAbsolute(path) && path !== '..' && !path.startsWith(`..${sep}`);
}

const notTrusted = ({ problem, folder, files, hash, namedBy }: TrustQuestion): WarpsmithError =>
  new WarpsmithError({
    code: 'problem-not-trusted',
    message: `Problem ${problem} has programs that you have not agreed to run.`,
    file: folder,
    received: `${files.join(', ')} (${hash.slice(0, SHORT_HASH)})${namedBy === 'log' ? ', named by the log of a run' : ''}`,
    expected: 'a problem of this repository, or one that was agreed to',
    hint: `Read them; then add --trust, or set WARPSMITH_TRUST=${hash.slice(0, SHORT_HASH)}.`,
  });

/** As {@link ensureTrusted} for what a session judges; a replay runs no host code. */
export async function ensureTrustedFor(
  { replay, trust, askTrust }: { readonly replay?: string; readonly trust?: boolean; readonly askTrust?: AskTrust },
  problem: Parameters<typeof ensureTrusted>[0],
  namedBy: 'user' | 'log' = 'user',
): Promise<void> {
  if (replay === undefined) await ensureTrusted(problem, { namedBy, ask: trust ? async () => true : askTrust });
}
