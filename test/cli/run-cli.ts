import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { runCli as runCommandLine } from '../../src/cli/main.ts';

export const repository = fileURLToPath(new URL('../..', import.meta.url));
const BIN = join(repository, 'bin/warpsmith.mjs');
export const SCALE = join(repository, 'test/cli/fixtures/scale');

export interface CliOutcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** Options of Node itself. */
  nodeOptions?: readonly string[];
  /** Interrupts the command (Ctrl-C) as soon as stderr contains this. */
  interruptAt?: string;
  /** Waits this long before interrupting. */
  interruptAfterMs?: number;
  /** The signals that interrupt it, sent to the process and then to its group, as `timeout` does. */
  interruptSignals?: readonly NodeJS.Signals[];
}

/** In this process, where nothing about the process is asked for: it spares each command Node's start and the modules'. */
async function runHere(args: readonly string[]): Promise<CliOutcome> {
  const texts = { out: '', err: '' };
  const sink = (name: keyof typeof texts): NodeJS.WriteStream =>
    new Writable({
      decodeStrings: false,
      write(chunk: string | Buffer, _encoding, done) {
        texts[name] += chunk.toString();
        done();
      },
    }) as NodeJS.WriteStream;
  // These tests are of virtual devices, also on a machine with a GPU.
  process.env.CUDA_VISIBLE_DEVICES = '';
  const code = await runCommandLine(args, { out: sink('out'), err: sink('err') });
  return { code, signal: null, stdout: texts.out, stderr: texts.err };
}

/**
 * A command line, in a process of its own if any option is given; what that leaves running ends with its group. `evaluate` is
 * asked for the usual checks, which take a fifth of the time, unless it names others.
 */
export function runCli(args: readonly string[], options?: CliOptions): Promise<CliOutcome> {
  const words = withUsualChecks(args);
  return options && Object.values(options).some((value) => value !== undefined)
    ? runInProcess(words, options)
    : runHere(words);
}

/** What says which checks run, or that none do. */
const CHECKS_ARE_NAMED: ReadonlySet<string> = new Set(['--checks', '--quick', '--replay', '--help']);

const withUsualChecks = ([command, ...others]: readonly string[]): string[] => {
  const isOpen = command === 'evaluate' && !others.some((word) => CHECKS_ARE_NAMED.has(word));
  return command === undefined ? [] : [command, ...others, ...(isOpen ? ['--checks', 'usual'] : [])];
};

/** A running command line in a process group of its own, which is gone when the promise settles. */
export function runInProcess(
  args: readonly string[],
  {
    cwd = repository,
    env = {},
    nodeOptions = [],
    interruptAt,
    interruptAfterMs = 0,
    interruptSignals,
  }: CliOptions = {},
): Promise<CliOutcome> {
  const child = spawn(process.execPath, [...nodeOptions, BIN, ...args], {
    cwd,
    // These tests are of virtual devices, also on a machine with a GPU.
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, CUDA_VISIBLE_DEVICES: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let stdout = '';
  let stderr = '';
  let interrupted = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    if (interruptAt !== undefined && !interrupted && stderr.includes(interruptAt)) {
      interrupted = true;
      setTimeout(() => {
        for (const signal of interruptSignals ?? []) process.kill(child.pid!, signal);
        for (const signal of interruptSignals ?? ['SIGINT']) process.kill(-child.pid!, signal);
      }, interruptAfterMs);
    }
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** Whatever a command prints: each test says what it expects of it. */
// biome-ignore lint/suspicious/noExplicitAny: printed JSON of many shapes, checked by the assertions on it.
export type Json = any;

/** Runs with `--json` and parses stdout, which must be one JSON object and nothing else. */
export async function runJson(args: readonly string[], options: CliOptions = {}): Promise<CliOutcome & { json: Json }> {
  const outcome = await runCli([...args.slice(0, 1), '--json', ...args.slice(1)], options);
  return { ...outcome, json: JSON.parse(outcome.stdout) };
}

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** An empty folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-cli-'));
  folders.push(folder);
  return folder;
}

/** A private copy of the `scale` problem with its files changed. */
export function scaleCopy(
  changes: { problem?: (file: Json) => void; kernel?: (file: Json) => void; source?: (text: string) => string } = {},
): {
  problem: string;
  kernel: string;
} {
  const problem = join(temporaryFolder(), 'scale');
  cpSync(SCALE, problem, { recursive: true });
  const kernel = join(problem, '01_strided');
  editJson(join(problem, 'problem.json'), changes.problem);
  editJson(join(kernel, 'kernel.json'), changes.kernel);
  const source = join(kernel, 'kernel.cu');
  if (changes.source) writeFileSync(source, changes.source(readFileSync(source, 'utf8')));
  return { problem, kernel };
}

/** For what is judged thoroughly: few sizes, of which one is no whole tile, are verified in half of the time. */
export function fewSizes(problem: Json): void {
  problem.limits = ['N % 2048 == 0 || N == 1000'];
  problem.checkShapes = [{ dimensions: { N: 1000 } }];
}

function editJson(path: string, edit: ((file: Json) => void) | undefined): void {
  if (!edit) return;
  const file = JSON.parse(readFileSync(path, 'utf8')) as Json;
  edit(file);
  writeFileSync(path, JSON.stringify(file, null, 2));
}
