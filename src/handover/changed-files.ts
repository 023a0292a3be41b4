import { lstatSync, realpathSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { filesInTree, type Git, type GitUser, gitIn } from './git.ts';

/** A folder called `[a]` is no pattern. */
const AS_NAMED = { GIT_LITERAL_PATHSPECS: '1' };

const USER: GitUser = { option: '--base', without: 'judge single kernels with `warpsmith evaluate`' };

/** A repository between a commit and the files as they are now. Paths are relative to its top folder, with `/`. */
export interface ChangedFiles {
  readonly git: Git;
  /** Its top folder. */
  readonly top: string;
  /** Where the change left the base: the newest commit that both have. */
  readonly base: string;
  readonly head: string;
  /** Plain files at the base: path → id of the contents. */
  readonly atBase: ReadonlyMap<string, string>;
  /** Files that are there now, ignored ones left out. */
  readonly present: ReadonlySet<string>;
  /** Files that commits since the base changed, added or deleted. */
  readonly committed: readonly string[];
}

/**
 * What lies between `ref` and the files below `folder` as they are now. Only reads.
 *
 * @throws WarpsmithError `no-git`, `not-a-repository`, `no-commits`, `unknown-ref`, `shallow-clone`, `no-common-commit`,
 * `git-failed`.
 */
export async function changedFiles(folder: string, ref: string): Promise<ChangedFiles> {
  const { top, prefix } = await placeOf(folder);
  const git = gitIn(top, AS_NAMED, USER);
  const head = await commitOf(git, 'HEAD');
  if (head === undefined)
    throw refused('no-commits', `${top} has no commits yet.`, top, 'an empty repository', 'Commit the kernels first.');
  const base = await commonCommit(git, top, ref, head);
  // Without a path git means everything.
  const below = prefix === '' ? [] : ['--', prefix];
  const [atBase, present, committed] = await Promise.all([
    git.ask(['ls-tree', '-r', '-z', '--full-tree', base, ...below]),
    git.ask(['ls-files', '-z', '--cached', '--others', '--exclude-standard', ...below]),
    git.ask(['diff', '--name-only', '-z', '--no-renames', '--no-ext-diff', '--no-textconv', base, head, ...below]),
  ]);
  return {
    git,
    top,
    base,
    head,
    atBase: filesOf(atBase),
    present: new Set(listed(present).filter((path) => isPlain(join(top, path)))),
    committed: listed(committed),
  };
}

const listed = (output: string): string[] => output.split('\0').filter((path) => path !== '');

const isPlain = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

/** Git checks out no such name; nor is a file written to one here. */
const LEAVES = /(?:^|\/)\.\.?(?:\/|$)/;

const filesOf = (listing: string): Map<string, string> =>
  new Map([...filesInTree(listing)].filter(([path]) => !LEAVES.test(path)));

async function placeOf(folder: string): Promise<{ top: string; prefix: string }> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new WarpsmithError({
      code: 'no-such-folder',
      message: `There is no folder ${folder}.`,
      file: resolve(folder),
      received: 'nothing there',
      expected: 'a folder of a git repository',
      hint: 'Check the path.',
    });
  }
  const git = gitIn(folder, AS_NAMED, USER);
  const top = (await git.try(['rev-parse', '--show-toplevel']))?.replace(/\n$/, '');
  // Git names the top as it really is, too.
  if (top) return { top, prefix: relative(top, realpathSync(folder)) };
  throw refused(
    'not-a-repository',
    `${folder} lies in no git repository.`,
    resolve(folder),
    'a folder outside any work tree',
    'Run it in a checkout. If this is one, `git status` says why git refuses it.',
  );
}

const commitOf = async (git: Git, ref: string): Promise<string | undefined> =>
  (await git.try(['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`]))?.trim();

/** Of the base and the head, so that what others did to the base since does not count as part of the change. */
async function commonCommit(git: Git, top: string, ref: string, head: string): Promise<string> {
  const common = (await git.try(['merge-base', '--end-of-options', `${ref}^{commit}`, head]))?.trim();
  if (common) return common;
  const base = await commitOf(git, ref);
  if ((await git.try(['rev-parse', '--is-shallow-repository']))?.trim() === 'true') throw shallow(top, ref);
  if (base === undefined) {
    const hint = 'Fetch it first, e.g. `git fetch origin main`, and name it as git does: origin/main.';
    throw refused('unknown-ref', `${top} has no commit ${ref}.`, top, ref, hint);
  }
  const hint = 'Name the branch that the change is to go into.';
  throw refused('no-common-commit', `${ref} and HEAD have no commit in common.`, top, ref, hint);
}

const shallow = (top: string, ref: string): WarpsmithError =>
  refused(
    'shallow-clone',
    `This clone is shallow: it does not reach back to where the change left ${ref}.`,
    top,
    ref,
    'Run `git fetch --unshallow`; in GitHub Actions give actions/checkout `fetch-depth: 0`.',
  );

const refused = (code: string, message: string, file: string, received: string, hint: string): WarpsmithError =>
  new WarpsmithError(
    { code, message, file, path: '--base', received, expected: 'a commit that the change is based on', hint },
    EXIT.usage,
  );

/**
 * Which of these files differ from HEAD, byte by byte, or are not there. `git status` would be faster, but it runs filters that the
 * repository configures, which nobody has checked.
 */
export async function uncommitted(
  { git, top, head, present }: ChangedFiles,
  paths: readonly string[],
): Promise<string[]> {
  const atHead = filesOf(await git.ask(['ls-tree', '-r', '-z', '--full-tree', head]));
  const there = paths.filter((path) => present.has(path) && !path.includes('\n'));
  const absolute = there.map((path) => join(top, path));
  const ids = there.length === 0 ? [] : listedLines(await git.ask(HASHING, absolute.join('\n')));
  const now = new Map(there.map((path, index) => [path, ids[index]]));
  return paths.filter((path) => now.get(path) !== atHead.get(path));
}

const HASHING = ['hash-object', '--no-filters', '--stdin-paths'];

const listedLines = (output: string): string[] => output.split('\n').filter((line) => line !== '');

/** The contents of objects, in the order of their ids. */
export async function objectsOf(git: Git, ids: readonly string[]): Promise<Buffer[]> {
  if (ids.length === 0) return [];
  const output = await git.bytes(['cat-file', '--batch'], `${ids.join('\n')}\n`);
  const contents: Buffer[] = [];
  let at = 0;
  for (const id of ids) {
    // `<id> blob <bytes>`, the contents, and a line's end.
    const line = output.indexOf('\n', at);
    const bytes = Number(/^\S+ blob (\d+)$/.exec(output.toString('latin1', at, line))?.[1] ?? Number.NaN);
    if (!(bytes >= 0)) throw missingObject(id);
    contents.push(output.subarray(line + 1, line + 1 + bytes));
    at = line + 1 + bytes + 1;
  }
  return contents;
}

const missingObject = (id: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'missing-object',
      message: 'This clone lacks files of the base.',
      path: '--base',
      received: id,
      expected: 'a clone with the contents of every commit',
      hint: 'A partial clone fetches them with `git fetch --refetch`; warpsmith lets git fetch nothing.',
    },
    EXIT.deviceOrToolMissing,
  );
