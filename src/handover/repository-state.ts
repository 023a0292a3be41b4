import { join, resolve } from 'node:path';
import { WarpsmithError } from '../core/errors.ts';
import type { RepositoryState } from '../store/events.ts';
import { filesInTree, type Git, gitIn } from './git.ts';

/** Tracked files of the folder: path, as seen from it → id of the contents at HEAD. */
async function filesAtHead(git: Git): Promise<Map<string, string> | undefined> {
  const entries = await git.try(['ls-tree', '-r', '-z', 'HEAD', '.']);
  return entries === undefined
    ? undefined
    : new Map([...filesInTree(entries)].filter(([path]) => !path.includes('\n')));
}

/**
 * Whether the files equal those of HEAD, byte by byte. `git status` would be faster, but it runs filters that the repository
 * configures, which nobody has checked.
 */
async function isDirty(git: Git, folder: string): Promise<boolean | undefined> {
  const [atHead, untracked] = await Promise.all([
    filesAtHead(git),
    git.try(['ls-files', '-z', '--others', '--exclude-standard']),
  ]);
  if (atHead === undefined || untracked === undefined) return undefined;
  if (untracked !== '' || atHead.size === 0) return true;
  const paths = [...atHead.keys()].map((path) => join(resolve(folder), path));
  const onDisk = await git.try(['hash-object', '--no-filters', '--stdin-paths'], paths.join('\n'));
  // Fails if a file is gone.
  return onDisk === undefined || onDisk.trim() !== [...atHead.values()].join('\n');
}

/** Commit and state of a folder; undefined outside a repository with a commit, or if git is missing or fails. */
export async function repositoryState(folder: string): Promise<RepositoryState | undefined> {
  try {
    const git = gitIn(folder);
    const commit = (await git.try(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']))?.trim();
    const state = commit ? await isDirty(git, folder) : undefined;
    return commit && state !== undefined ? { commit, isDirty: state } : undefined;
  } catch (error) {
    if (error instanceof WarpsmithError) return undefined;
    throw error;
  }
}
