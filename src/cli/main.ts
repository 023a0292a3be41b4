import { CommanderError } from 'commander';
import { EXIT, messageOf, WarpsmithError } from '../core/errors.ts';
import { assignments } from '../core/values.ts';
import { onSlowRun } from '../evaluation/oracle/reference-process/slow-runs.ts';
import { runCommand } from './commands/index.ts';
import { errorJson, errorText, paintFor, printJson, type Streams } from './output.ts';
import { plainStream } from './plain-stream.ts';
import { buildProgram } from './program.ts';
import { usageError } from './usage-error.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * `timeout` sends its signal to the process and to its group, a shell's job control to the group as well: signals this
 * close together, ms, are one wish. Nobody presses Ctrl-C twice as fast.
 */
const ONE_WISH_MS = 100;

/** The first signal ends the command cleanly; a second one ends the process at once. */
function abortOnSignals(streams: Streams): { signal: AbortSignal; dispose(): void } {
  const controller = new AbortController();
  let isSameWish = false;
  const onSignal = () => {
    if (isSameWish) return;
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    isSameWish = true;
    // On a busy machine both signals may wait until the timer is due: an immediate runs after what waits.
    setTimeout(() => setImmediate(() => (isSameWish = false)).unref(), ONE_WISH_MS).unref();
    streams.err.write('\nStopping; press Ctrl-C again to leave at once.\n');
    controller.abort();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return {
    signal: controller.signal,
    dispose() {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}

/** A reference of a large workload may take minutes; nobody should wonder what is going on. */
function tellSlowReferences({ err }: Streams): () => void {
  return onSlowRun(({ problem, dimensions, elapsedMs }) => {
    const text = `the reference of ${problem} computes the right outputs for ${assignments(dimensions).join(',')}: ${Math.round(elapsedMs / 1000)} s so far`;
    err.write(`${text}\n`);
  });
}

/** Ignores a reader that has closed the pipe, such as `| head`. */
function ignoreClosedPipe(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** The longest that a timer takes. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const wantsJson = (argv: readonly string[]): boolean => argv.includes('--json') || argv.includes('--format=json');

function reportError(error: WarpsmithError, json: boolean, streams: Streams): number {
  if (json) printJson(streams, errorJson(error));
  else streams.err.write(errorText(error, paintFor(streams.err)));
  return error.exitCode;
}

const interruptedError = (): WarpsmithError =>
  new WarpsmithError({ code: 'interrupted', message: 'Interrupted before there was a result.' }, EXIT.interrupted);

/** Exit code 1 would blame what was judged: a bug of ours is a tool that does not work. */
const internalError = (error: unknown): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'internal-error',
      message: messageOf(error),
      hint: 'This is a bug in warpsmith. Please report it with the command line and the text above.',
    },
    EXIT.deviceOrToolMissing,
  );

/**
 * Runs one command line and returns its exit code: 0 fine, 1 the judged thing failed, 2 usage or bad file, 3 device or
 * tool missing, 130 interrupted.
 */
export async function runCli(
  argv: readonly string[],
  outputs: Streams = { out: process.stdout, err: process.stderr },
): Promise<number> {
  ignoreClosedPipe(outputs.out);
  ignoreClosedPipe(outputs.err);
  const streams: Streams = { out: plainStream(outputs.out), err: plainStream(outputs.err) };
  const interrupt = abortOnSignals(streams);
  const stopTelling = tellSlowReferences(streams);
  // Whatever is waited for, nothing ends before its result is printed.
  const alive = setInterval(() => {}, LONGEST_TIMER_MS);
  try {
    const exitCode = await runWords(argv, streams, interrupt.signal);
    // Who interrupts waits for what was found, and for nothing that is still on its way.
    if (interrupt.signal.aborted) outputs.out.write('', () => process.exit(exitCode));
    return exitCode;
  } finally {
    clearInterval(alive);
    stopTelling();
    interrupt.dispose();
  }
}

async function runWords(argv: readonly string[], streams: Streams, signal: AbortSignal): Promise<number> {
  let exitCode: number = EXIT.ok;
  const write = (text: string): void => void streams.out.write(text);
  const { program, running } = buildProgram(write, async (name, request, how) => {
    exitCode = await runCommand(name, request, { streams, signal, ...how });
  });
  const refuse = (error: WarpsmithError): number => reportError(error, wantsJson(argv), streams);
  try {
    await program.parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.ok;
      return refuse(usageError(error, running(argv), program));
    }
    if (error instanceof WarpsmithError) return refuse(error);
    if (signal.aborted) return refuse(interruptedError());
    const refused = systemError(error);
    if (refused) return refuse(refused);
    if (error instanceof Error) streams.err.write(`${error.stack}\n`);
    return refuse(internalError(error));
  }
}

const CAUSES: Readonly<Record<string, { what: string; hint: string }>> = {
  EACCES: { what: 'may not be used by this user', hint: 'Fix its permissions.' },
  EPERM: { what: 'may not be used by this user', hint: 'Fix its permissions.' },
  ELOOP: { what: 'is a symbolic link that leads to itself', hint: 'Correct the link.' },
  EMFILE: { what: 'needs more open files than allowed', hint: 'Raise the limit (ulimit -n).' },
  ENAMETOOLONG: { what: 'has a name that is too long', hint: 'Give a shorter path.' },
  ENOENT: { what: 'is not there', hint: 'Check the path.' },
  ENOSPC: { what: 'is on a full disk', hint: 'Free some space.' },
  ENOTDIR: { what: 'lies below something that is not a folder', hint: 'Check the path.' },
  EISDIR: { what: 'is a folder', hint: 'Name a file.' },
  EROFS: { what: 'is on a read-only file system', hint: 'Choose another place.' },
};

const MOST_SHOWN = 200;
const shortened = (text: string): string => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);

/** Turns an error of the operating system into a user's error; returns undefined for any other error. */
function systemError(error: unknown): WarpsmithError | undefined {
  const { code, syscall, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (!(error instanceof Error) || code === undefined || syscall === undefined) return undefined;
  const cause = CAUSES[code] ?? { what: 'can’t be used', hint: 'Look up this error of the operating system.' };
  const place = path === undefined ? 'A file' : shortened(path);
  return new WarpsmithError({
    code: 'system-refused',
    message: `${place} ${cause.what} (${code}).`,
    file: path === undefined ? undefined : shortened(path),
    received: `${code} (${syscall})`,
    expected: 'a file or folder that can be used',
    hint: cause.hint,
  });
}
