import { readlinkSync } from 'node:fs';
import { findExecutable } from './find-executable.ts';
import { runProcess } from './run-process.ts';

/** Restrictions that the kernel puts on a program started through another one. */
export interface NetworkWall {
  /** `none` where the system offers nothing that works. */
  readonly name: string;
  /** For people: what is out of reach behind it. */
  readonly keepsOut: readonly string[];
  /** A program and its arguments, with the wall around it. */
  around(command: string, args: readonly string[]): { readonly command: string; readonly args: readonly string[] };
}

interface Builder {
  readonly name: string;
  readonly program: string;
  /** In front of the command, which follows at once. */
  readonly args: readonly string[];
  readonly keepsOut: readonly string[];
}

/** The best comes first. Each is tried, because it may not work here (a container, a hardened kernel). */
const BUILDERS: readonly Builder[] = [
  {
    name: 'bubblewrap',
    program: 'bwrap',
    // The file system is read-only; Node's own permissions restrict reading.
    args: [
      ...['--unshare-net', '--unshare-pid', '--unshare-ipc', '--die-with-parent'],
      ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--'],
    ],
    keepsOut: ['the network', 'signals to other processes', 'writing files'],
  },
  // As root: without a user namespace, so that it can still read files of other users.
  { name: 'unshare', program: 'unshare', args: ['--net', '--'], keepsOut: ['the network'] },
  // Without --map-root-user: nothing that the program could do as root of a namespace is needed.
  { name: 'unshare', program: 'unshare', args: ['--user', '--net', '--'], keepsOut: ['the network'] },
];

const NONE: NetworkWall = { name: 'none', keepsOut: [], around: (command, args) => ({ command, args }) };

/** A namespace takes milliseconds; what takes longer than this hangs. */
const PROBE_TIMEOUT_MS = 10_000;
const PROBE_OUTPUT_BYTES = 4096;

let found: Promise<NetworkWall> | undefined;

/** The best wall that works here; tried once per process. Never rejects. */
export function networkWall(): Promise<NetworkWall> {
  found ??= findNetworkWall();
  return found;
}

/** The first wall whose programs are on the search path, and behind which the network is another one. */
export async function findNetworkWall(searchPath?: string, timeoutMs = PROBE_TIMEOUT_MS): Promise<NetworkWall> {
  const probe = findExecutable('readlink', searchPath);
  const outside = networkNamespace();
  if (probe === undefined || outside === undefined) return NONE;
  for (const { name, program, args, keepsOut } of BUILDERS) {
    const path = findExecutable(program, searchPath);
    if (path === undefined) continue;
    const wall: NetworkWall = {
      name,
      keepsOut,
      around: (command, rest) => ({ command: path, args: [...args, command, ...rest] }),
    };
    if (await works(wall, { probe, outside, timeoutMs })) return wall;
  }
  return NONE;
}

const NAMESPACE = '/proc/self/ns/net';

/** The network namespace of this process; undefined if there are no namespaces. */
function networkNamespace(): string | undefined {
  try {
    return readlinkSync(NAMESPACE);
  } catch {
    return undefined;
  }
}

async function works(
  wall: NetworkWall,
  { probe, outside, timeoutMs }: { probe: string; outside: string; timeoutMs: number },
): Promise<boolean> {
  const { end, exitCode, stdout } = await runProcess({
    ...wall.around(probe, [NAMESPACE]),
    cwd: '/',
    timeoutMs,
    maximumOutputBytes: PROBE_OUTPUT_BYTES,
  });
  const inside = stdout.trim();
  return end === 'exited' && exitCode === 0 && /^net:\[\d+\]$/.test(inside) && inside !== outside;
}
