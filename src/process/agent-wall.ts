import { existsSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, sep } from 'node:path';
import { findExecutable } from './find-executable.ts';
import { runProcess } from './run-process.ts';

/** What a program may touch behind the wall. All paths are absolute. */
export interface AgentReach {
  /** Its own folder, the only one that it may write to beside a /tmp and a home of its own, which are empty. */
  readonly folder: string;
  /** Of what is hidden, what it may read. */
  readonly readable: readonly string[];
  /** What it is not to see. */
  readonly hidden: readonly string[];
  readonly hasNetwork: boolean;
}

/** What keeps a program that nobody trusts from the rest of the machine. */
export interface AgentWall {
  readonly name: 'bubblewrap';
  around(
    command: string,
    args: readonly string[],
    reach: AgentReach,
  ): { readonly command: string; readonly args: readonly string[] };
}

/** /run holds sockets of daemons that would do anything for whoever connects. */
const ALWAYS_HIDDEN = ['/tmp', '/var/tmp', '/run'] as const;
/** Names of hosts are looked up through this file, which often is a link into /run. */
const RESOLVER = '/etc/resolv.conf';

const PROBE_TIMEOUT_MS = 10_000;
const PROBE_OUTPUT_BYTES = 4096;

/** Bubblewrap, if it is on the search path and works here; it may not in a container or on a hardened kernel. Never rejects. */
export async function findAgentWall(searchPath?: string): Promise<AgentWall | undefined> {
  const [program, probe] = [findExecutable('bwrap', searchPath), findExecutable('true', searchPath)];
  if (program === undefined || probe === undefined) return undefined;
  const wall: AgentWall = {
    name: 'bubblewrap',
    around: (command, args, reach) => ({ command: program, args: [...wallArguments(reach), '--', command, ...args] }),
  };
  const reach = { folder: '/', readable: [], hidden: [], hasNetwork: true };
  const tried = await runProcess({
    command: program,
    args: [...namespaces(reach), ...SYSTEM, '--', probe],
    cwd: '/',
    timeoutMs: PROBE_TIMEOUT_MS,
    maximumOutputBytes: PROBE_OUTPUT_BYTES,
  });
  return tried.end === 'exited' && tried.exitCode === 0 ? wall : undefined;
}

const namespaces = ({ hasNetwork }: AgentReach): string[] => [
  ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--die-with-parent', '--cap-drop', 'ALL'],
  ...(hasNetwork ? [] : ['--unshare-net']),
];

/** Everything can be read and nothing written; /dev has no GPU, and /proc no process from outside. */
const SYSTEM = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'] as const;

function wallArguments(reach: AgentReach): string[] {
  const { folder, readable, hidden } = reach;
  const empty = outermost([...ALWAYS_HIDDEN, realOf(tmpdir()), ...hidden.map(realOf)].filter(existsSync));
  const resolver = existsSync(RESOLVER) ? [realpathSync(RESOLVER)] : [];
  const shown = [...new Set([...resolver, ...readable.map(realOf)])].filter((path) => existsSync(path));
  return [
    ...namespaces(reach),
    ...SYSTEM,
    ...empty.flatMap((path) => ['--tmpfs', path]),
    ...shown.flatMap((path) => ['--ro-bind', path, path]),
    ...['--bind', folder, folder, '--chdir', folder],
  ];
}

const realOf = (path: string): string => (existsSync(path) ? realpathSync(path) : path);

/** Without paths inside of others, and without those that hold the whole system. */
function outermost(paths: readonly string[]): string[] {
  const all = [...new Set(paths)].filter((path) => dirname(path) !== path);
  return all.filter((path) => !all.some((other) => path.startsWith(`${other}${sep}`)));
}
