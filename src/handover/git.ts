import { EXIT, WarpsmithError } from '../core/errors.ts';
import { minimalEnvironment } from '../process/minimal-environment.ts';
import { runProcess } from '../process/run-process.ts';

const TIMEOUT_MS = 60_000;
const MAXIMUM_OUTPUT_BYTES = 64 * 1024 * 1024;
/** Keeps git from running programs that the repository configures. */
const NO_HOOKS = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false'];
/** Keeps git from fetching objects of a partial clone, because the repository configures the fetching command, too. */
const NO_FETCHING = { GIT_ALLOW_PROTOCOL: 'none', GIT_NO_LAZY_FETCH: '1' };

export interface Git {
  /** stdout of a command that must succeed. @throws WarpsmithError `git-failed`. */
  ask(args: readonly string[], stdin?: string): Promise<string>;
  /** The bytes of stdout, as {@link ask}. */
  bytes(args: readonly string[], stdin?: string): Promise<Buffer>;
  /** stdout, or `undefined` where git says no. @throws WarpsmithError `no-git`. */
  try(args: readonly string[], stdin?: string): Promise<string | undefined>;
}

/** git finds its configuration below the home folder. */
const gitEnvironment = (): Record<string, string> => minimalEnvironment(['HOME', 'XDG_CONFIG_HOME']);

/** What asks git: the option at fault in errors, and how to do without. */
export interface GitUser {
  readonly option: string;
  readonly without: string;
}

const COMMITTING: GitUser = { option: '--commit', without: 'leave --commit out and apply change.patch' };

/** Runs git in a folder. */
export function gitIn(
  folder: string,
  environment: Readonly<Record<string, string>> = {},
  user: GitUser = COMMITTING,
): Git {
  const run = (args: readonly string[], stdin?: string, encoding?: 'latin1') =>
    runProcess({
      command: 'git',
      args: [...NO_HOOKS, ...args],
      cwd: folder,
      env: { ...gitEnvironment(), ...NO_FETCHING, ...environment },
      stdin,
      timeoutMs: TIMEOUT_MS,
      maximumOutputBytes: MAXIMUM_OUTPUT_BYTES,
      encoding,
    });
  const ask = async (args: readonly string[], stdin?: string, encoding?: 'latin1'): Promise<string> => {
    const { end, exitCode, stdout, stderr } = await run(args, stdin, encoding);
    if (end === 'exited' && exitCode === 0) return stdout;
    throw gitFailed(folder, args, stderr.trim() || end, user);
  };
  return {
    ask: (args, stdin) => ask(args, stdin),
    bytes: async (args, stdin) => Buffer.from(await ask(args, stdin, 'latin1'), 'latin1'),
    async try(args, stdin) {
      const { end, exitCode, stdout } = await run(args, stdin);
      if (end === 'not-started') throw noGit(user);
      return end === 'exited' && exitCode === 0 ? stdout : undefined;
    },
  };
}

const noGit = ({ option, without }: GitUser): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'no-git',
      message: 'There is no git here.',
      path: option,
      received: 'nothing called git on the search path',
      expected: 'git',
      hint: `Install git, or ${without}.`,
    },
    EXIT.deviceOrToolMissing,
  );

const gitFailed = (folder: string, args: readonly string[], said: string, { option }: GitUser): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'git-failed',
      message: `git ${args[0]} failed.`,
      file: folder,
      path: option,
      received: said,
      expected: 'a repository in order, that can be written',
      hint: 'Nothing was changed beside unreachable objects.',
    },
    EXIT.deviceOrToolMissing,
  );

/** Modes of plain and of executable files. */
const FILE_ENTRY = /^100(?:644|755) blob (\S+)\t(.*)$/s;

/** Path → id of the contents, of what `ls-tree -r -z` lists, but for links and the like. */
export const filesInTree = (listing: string): Map<string, string> =>
  new Map(
    listing.split('\0').flatMap((entry) => {
      const [, id, path] = FILE_ENTRY.exec(entry) ?? [];
      return id === undefined || path === undefined ? [] : [[path, id] as const];
    }),
  );
