import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { SCALE, temporaryFolder } from './run-cli.ts';

/** Who commits, and when: the same commits everywhere. */
const IDENTITY = {
  GIT_AUTHOR_NAME: 'Ann Author',
  GIT_AUTHOR_EMAIL: 'ann@example.org',
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_NAME: 'Ann Author',
  GIT_COMMITTER_EMAIL: 'ann@example.org',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
  // Whatever the user's git is told to do.
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
};

/** Two kernels of one problem under version control, committed on `main`. */
export interface GateRepository {
  readonly folder: string;
  git(...args: string[]): string;
  /** Changes a file of the problem, which must be another one then. */
  edit(file: string, change: (text: string) => string): void;
  remove(file: string): void;
  commit(): void;
}

export const STRIDED = '01_strided/kernel.cu';
export const COALESCED = '02_coalesced/kernel.cu';

const gitIn =
  (folder: string) =>
  (...args: string[]): string =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8', env: { ...process.env, ...IDENTITY } }).trim();

/** Problem → a repository with it, of which tests get copies: to start a process is dear for one that judges kernels. */
const originals = new Map<string, string>();

function originalOf(problem: string): string {
  const known = originals.get(problem);
  if (known !== undefined && existsSync(known)) return known;
  const folder = temporaryFolder();
  const git = gitIn(folder);
  cpSync(problem, join(folder, basename(problem)), { recursive: true });
  git('init', '-q', '-b', 'main', '--template=');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
  originals.set(problem, folder);
  return folder;
}

/** @param problem the folder that is put under version control, by its own name. */
export function gateRepository(folder = temporaryFolder(), problem = SCALE): GateRepository {
  const name = basename(problem);
  const at = (file: string): string => join(folder, name, file);
  const git = gitIn(folder);
  cpSync(originalOf(problem), folder, { recursive: true });
  return {
    folder,
    git,
    edit(file, change) {
      const before = readFileSync(at(file), 'utf8');
      const after = change(before);
      if (after === before) throw new Error(`${file} did not change`);
      writeFileSync(at(file), after);
    },
    remove: (file) => rmSync(at(file), { recursive: true }),
    commit() {
      git('add', '-A');
      git('commit', '-q', '-m', 'change');
    },
  };
}

/** What 02_coalesced does; edits replace it. */
const STORE = 'if (i < n) y[i] = 2.0f * x[i];';

/** Every `every`-th warp stores twice. */
export const slowerBy =
  (every: number) =>
  (text: string): string =>
    text.replace(STORE, `if (i < n && i / 32 % ${every} == 0) *(volatile float*)(y + i) = 1.0f;\n  ${STORE}`);

export const wrong = (text: string): string => text.replace(STORE, 'if (i < n) y[i] = 2.5f * x[i];');
