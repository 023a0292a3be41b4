import { spawnSync } from 'node:child_process';
import type { Turn } from './choose-members.ts';

/** `all`, or the seed of a sample. */
export const SAMPLE_VARIABLE = 'WARPSMITH_TEST_SAMPLE';

const MS_PER_DAY = 24 * 60 * 60 * 1000;

/** What git prints, line by line, or undefined where there is no git, no repository or no such commit. */
function gitLines(root: string, args: readonly string[]): string[] | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.split('\n').filter(Boolean) : undefined;
}

/** The number of commits up to this one, so that consecutive commits have consecutive seeds. */
function seedOfCommit(root: string): number | undefined {
  const [isShallow] = gitLines(root, ['rev-parse', '--is-shallow-repository']) ?? [];
  // The commits of a shallow clone are as many every time.
  if (isShallow === 'true') return Number.parseInt(gitLines(root, ['rev-parse', 'HEAD'])![0]!.slice(0, 8), 16);
  const [count] = gitLines(root, ['rev-list', '--count', 'HEAD']) ?? [];
  return count === undefined ? undefined : Number(count);
}

function seedFrom(text: string): number | 'all' {
  if (text === 'all') return text;
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new Error(`${SAMPLE_VARIABLE} is "${text}". It must be "all" or the seed of a sample: a whole number.`);
}

/** Of a merge, what differs from all of its parents: the rest was the last commit's of some branch. */
function changedFiles(root: string): string[] {
  const names = ['--name-only', '--relative'];
  const committed = gitLines(root, ['diff-tree', '-r', '-c', '--no-commit-id', ...names, 'HEAD']) ?? [];
  const edited = gitLines(root, ['diff', ...names, 'HEAD']) ?? [];
  const untracked = gitLines(root, ['ls-files', '--others', '--exclude-standard']) ?? [];
  return [...new Set([...committed, ...edited, ...untracked])];
}

/** The turn of this run: as the environment says, else that of the commit, else, without git, that of the day. */
export function findTurn(root: string, asked = process.env[SAMPLE_VARIABLE], now = Date.now()): Turn {
  const seed = asked ? seedFrom(asked) : (seedOfCommit(root) ?? Math.floor(now / MS_PER_DAY));
  return { seed, changed: seed === 'all' ? [] : changedFiles(root) };
}
