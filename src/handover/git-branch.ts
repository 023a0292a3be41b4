import { join } from 'node:path';
import { WarpsmithError } from '../core/errors.ts';
import { withTemporaryFolder } from '../process/temporary-folder.ts';
import type { FolderFiles } from './change-patch.ts';
import { type Git, gitIn } from './git.ts';

/** One commit: the folder's files after it, and its message. */
export interface Change {
  readonly files: FolderFiles;
  readonly message: string;
}

export interface BranchRequest {
  /** Folder in a repository's work tree, whose files the commits change. */
  readonly folder: string;
  /** The files that it must hold at HEAD. */
  readonly before: FolderFiles;
  /** Whether a file at HEAD is the one before; texts must be equal where this says nothing. */
  readonly isSame?: (name: string, atHead: string, before: string) => boolean;
  /** e.g. `warpsmith/2026-…`. */
  readonly branch: string;
  readonly changes: readonly Change[];
}

export interface MadeBranch {
  readonly branch: string;
  readonly repository: string;
  /** Commit the branch starts at: HEAD. */
  readonly base: string;
  readonly commits: readonly string[];
}

/** Tells `update-ref` that the reference must not exist yet. */
const NOT_THERE = '';
const PLAIN = '100644';
const EXECUTABLE = '100755';
/**
 * Makes a branch at HEAD with one commit for each change. Only objects and the branch's own reference are written: work
 * tree, index and current branch stay as they are, and hooks don't run.
 *
 * @throws WarpsmithError `no-git`, `not-a-repository`, `no-commits`, `branch-exists`, `kernel-changed`, `no-author`,
 * `git-failed`.
 */
export async function makeBranch(request: BranchRequest): Promise<MadeBranch> {
  const { folder, branch } = request;
  const git = gitIn(folder);
  const repository = await requireRepository(git, folder);
  const prefix = (await git.ask(['rev-parse', '--show-prefix'])).trim();
  const base = await requireHead(git, repository);
  const reference = `refs/heads/${branch}`;
  await refuseExisting(git, branch, reference, repository);
  const atHead = await requireUnchanged(git, request, prefix, repository);
  const author = await requireAuthor(git, repository);
  const commits = await withTemporaryFolder((temporary) =>
    commitAll(
      gitIn(folder, { ...author, GIT_INDEX_FILE: join(temporary, 'index') }),
      request.changes,
      atHead,
      prefix,
      base,
    ),
  );
  await git.ask(['update-ref', '-m', 'warpsmith: kept changes', reference, commits.at(-1) ?? base, NOT_THERE]);
  return { branch, repository, base, commits };
}

async function requireRepository(git: Git, folder: string): Promise<string> {
  const top = await git.try(['rev-parse', '--show-toplevel']);
  if (top !== undefined && top.trim() !== '') return top.trim();
  throw new WarpsmithError({
    code: 'not-a-repository',
    message: `${folder} lies in no git repository.`,
    file: folder,
    path: '--commit',
    received: 'a folder outside any work tree',
    expected: 'the start kernel in a git repository',
    hint: 'Leave --commit out and apply change.patch, or put the kernel under version control first.',
  });
}

async function requireHead(git: Git, repository: string): Promise<string> {
  const head = await git.try(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (head !== undefined) return head.trim();
  throw new WarpsmithError({
    code: 'no-commits',
    message: `${repository} has no commits yet.`,
    file: repository,
    path: '--commit',
    received: 'an empty repository',
    expected: 'a commit that holds the start kernel',
    hint: 'Commit the kernel first.',
  });
}

async function refuseExisting(git: Git, branch: string, reference: string, repository: string): Promise<void> {
  if ((await git.try(['rev-parse', '--verify', '--quiet', reference])) === undefined) return;
  throw new WarpsmithError({
    code: 'branch-exists',
    message: `${repository} has a branch ${branch} already.`,
    file: repository,
    path: '--commit',
    received: branch,
    expected: 'a branch that is not there yet',
    hint: `Look at it with \`git log ${branch}\`, or remove it with \`git branch -D ${branch}\`.`,
  });
}

async function requireUnchanged(
  git: Git,
  { folder, before, isSame = () => false }: BranchRequest,
  prefix: string,
  repository: string,
): Promise<FolderFiles> {
  const files: Record<string, string> = {};
  for (const [name, text] of Object.entries(before)) {
    const atHead = await git.try(['cat-file', 'blob', `HEAD:${prefix}${name}`]);
    if (atHead !== undefined && (atHead === text || isSame(name, atHead, text))) {
      files[name] = atHead;
      continue;
    }
    throw new WarpsmithError({
      code: 'kernel-changed',
      message: `${prefix}${name} at HEAD is not the kernel that the run started from.`,
      file: join(folder, name),
      path: '--commit',
      received: atHead === undefined ? 'a file that is not committed' : 'another text',
      expected: 'the file that the run judged',
      hint: `Check out the commit that the run started from, or commit the file in ${repository} and run again.`,
    });
  }
  return files;
}

async function requireAuthor(git: Git, repository: string): Promise<Record<string, string>> {
  const name = (await git.try(['config', 'user.name']))?.trim();
  const email = (await git.try(['config', 'user.email']))?.trim();
  if (name && email) {
    return {
      GIT_AUTHOR_NAME: name,
      GIT_AUTHOR_EMAIL: email,
      GIT_COMMITTER_NAME: name,
      GIT_COMMITTER_EMAIL: email,
    };
  }
  throw new WarpsmithError({
    code: 'no-author',
    message: `git does not know who commits in ${repository}.`,
    file: repository,
    path: '--commit',
    received: `user.name ${name || 'not set'}, user.email ${email || 'not set'}`,
    expected: 'both, in the configuration of git',
    hint: 'Set them with `git config user.name …` and `git config user.email …`.',
  });
}

/** Names of the folder's files, as seen from it, that may be executed. */
async function executablesIn(git: Git, base: string): Promise<ReadonlySet<string>> {
  const entries = (await git.ask(['ls-tree', '-r', '-z', base])).split('\0');
  const executable = entries.filter((entry) => entry.startsWith(`${EXECUTABLE} `));
  return new Set(executable.map((entry) => entry.slice(entry.indexOf('\t') + 1)));
}

async function commitAll(
  git: Git,
  changes: readonly Change[],
  before: FolderFiles,
  prefix: string,
  base: string,
): Promise<string[]> {
  await git.ask(['read-tree', base]);
  const executables = await executablesIn(git, base);
  // Ids are longer where the repository hashes with SHA-256.
  const noObject = '0'.repeat(base.length);
  const commits: string[] = [];
  let previous = before;
  for (const { files, message } of changes) {
    const entries = Object.keys(previous)
      .filter((name) => files[name] === undefined)
      .map((name) => `0 ${noObject}\t${prefix}${name}\0`);
    for (const [name, text] of Object.entries(files)) {
      if (previous[name] === text) continue;
      const blob = (await git.ask(['hash-object', '-w', '--stdin'], text)).trim();
      entries.push(`${executables.has(name) ? EXECUTABLE : PLAIN} ${blob}\t${prefix}${name}\0`);
    }
    await git.ask(['update-index', '-z', '--index-info'], entries.join(''));
    const tree = (await git.ask(['write-tree'])).trim();
    const parent = commits.at(-1) ?? base;
    commits.push((await git.ask(['commit-tree', tree, '-p', parent, '-F', '-'], message)).trim());
    previous = files;
  }
  return commits;
}
