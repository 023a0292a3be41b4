import { availableParallelism, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { ReferenceFault } from '../../../core/call-reference.ts';
import { WarpsmithError } from '../../../core/errors.ts';
import type { ReferenceRun, ReferenceTensors, RunReference } from '../../../core/problem.ts';
import { LineProcess, type LineProcessEnd } from '../../../process/line-process.ts';
import { type NetworkWall, networkWall } from '../../../process/network-wall.ts';
import { residentBytes } from '../../../process/process-group.ts';
import { type Answer, type Question, tensorsOf, withTensors } from './protocol.ts';
import { watchRun } from './slow-runs.ts';

export interface ReferenceHostOptions {
  /** As in messages. */
  readonly problem: string;
  /** Absolute path of the module, symbolic links resolved. */
  readonly file: string;
  /** Folder that the module may read: its own. */
  readonly folder: string;
  readonly limits?: Partial<ReferenceLimits>;
  /** Called before the first process starts. @throws if the module may not run. */
  readonly beforeStart?: () => void;
}

export interface ReferenceLimits {
  /** Wall-clock limit of loading the module. */
  readonly loadTimeoutMs: number;
  /** Wall-clock limit of one run. */
  readonly timeoutMs: number;
  /** Resident memory of one process. */
  readonly memoryBytes: number;
  /** Processes at once. */
  readonly processes: number;
}

const MIB = 1024 ** 2;

/** Half of the memory: the machine's, or the container's (whose limit is 0 or beyond the machine's if there is none). */
export const referenceMemoryBytes = (machineBytes: number, containerBytes: number): number =>
  Math.max(1024 * MIB, (containerBytes > 0 ? Math.min(machineBytes, containerBytes) : machineBytes) / 2);

const DEFAULT_LIMITS: ReferenceLimits = {
  loadTimeoutMs: 60_000,
  timeoutMs: 30 * 60_000,
  memoryBytes: referenceMemoryBytes(totalmem(), process.constrainedMemory()),
  processes: Math.min(4, availableParallelism()),
};

/** A run that waits this long justifies another process; starting one takes half as long. */
const PATIENCE_MS = 150;
/** An idle process ends after this time; a command rarely pauses for so long. */
const IDLE_MS = 10_000;
const MEMORY_POLL_MS = 100;

const SUFFIX = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const ENTRY = fileURLToPath(new URL(`./reference-main.${SUFFIX}`, import.meta.url));
/** Everything that the child imports of ours lies below. */
const OWN_FOLDER = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Runs a problem's reference in processes of its own: under Node's permission model, with access to its folder only, an
 * empty environment and limits, behind a network wall if the system has one. Starts a process when a run needs one, keeps
 * it for the next, and ends it after idle time. Starts a second one for a run that would have to wait.
 */
export function hostReference(options: ReferenceHostOptions): RunReference {
  const host = new ReferenceHost(options);
  return (run) => host.run(run);
}

class ReferenceHost {
  readonly #options: ReferenceHostOptions;
  readonly #limits: ReferenceLimits;
  readonly #idle: ReferenceChild[] = [];
  readonly #waiting: ((child: ReferenceChild) => void)[] = [];
  #count = 0;

  constructor(options: ReferenceHostOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
  }

  async run(run: ReferenceRun): Promise<ReferenceTensors> {
    run.signal?.throwIfAborted();
    const wall = await networkWall();
    const child = await this.#take(wall);
    try {
      return await child.run(run);
    } finally {
      this.#giveBack(child, wall);
    }
  }

  #take(wall: NetworkWall): Promise<ReferenceChild> | ReferenceChild {
    const idle = this.#idle.pop();
    if (idle) return idle;
    if (this.#count === 0) return this.#start(wall);
    return new Promise((resolve, reject) => {
      const take = (child: ReferenceChild) => {
        clearTimeout(timer);
        resolve(child);
      };
      this.#waiting.push(take);
      const timer = setTimeout(() => {
        if (this.#count >= this.#limits.processes) return;
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        try {
          resolve(this.#start(wall));
        } catch (error) {
          reject(error);
        }
      }, PATIENCE_MS);
    });
  }

  #start(wall: NetworkWall): ReferenceChild {
    this.#options.beforeStart?.();
    this.#count++;
    return new ReferenceChild(this.#options, this.#limits, wall);
  }

  /** One that has ended is replaced when somebody waits. */
  #giveBack(child: ReferenceChild, wall: NetworkWall): void {
    if (!child.isRunning) this.#count--;
    const next = this.#waiting.shift();
    if (next) return next(child.isRunning ? child : this.#start(wall));
    if (!child.isRunning) return;
    this.#idle.push(child);
    child.afterIdle(IDLE_MS, () => {
      const at = this.#idle.indexOf(child);
      if (at < 0) return;
      this.#idle.splice(at, 1);
      this.#count--;
      void child.close();
    });
  }
}

/** One process. */
class ReferenceChild {
  readonly #options: ReferenceHostOptions;
  readonly #limits: ReferenceLimits;
  readonly #process: LineProcess;
  #loaded: Promise<void> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #outOfMemory = false;

  constructor(options: ReferenceHostOptions, limits: ReferenceLimits, wall: NetworkWall) {
    this.#options = options;
    this.#limits = limits;
    const args = [...nodeArguments(options.folder, limits), ENTRY, pathToModule(options.file)];
    this.#process = new LineProcess({
      ...wall.around(process.execPath, args),
      cwd: '/',
      env: {},
      maximumPayloadBytes: limits.memoryBytes,
    });
  }

  get isRunning(): boolean {
    return this.#process.isRunning;
  }

  close(): Promise<void> {
    return this.#process.close();
  }

  afterIdle(milliseconds: number, act: () => void): void {
    this.#idle = setTimeout(act, milliseconds).unref();
  }

  async run({ inputs, dimensions, rounding, rows, mistake, signal }: ReferenceRun): Promise<ReferenceTensors> {
    clearTimeout(this.#idle);
    const onAbort = () => void this.close();
    const unwatch = watchRun({ problem: this.#options.problem, dimensions });
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      signal?.throwIfAborted();
      this.#loaded ??= this.#load();
      await this.#loaded;
      const names = Object.keys(inputs);
      const { answer, message } = await this.#ask(
        {
          command: 'run',
          dimensions,
          rounding,
          names,
          rowsOf: rows ? Object.keys(rows) : undefined,
          mistake,
        },
        [...Object.values(inputs), ...Object.values(rows ?? {}).map((numbers) => Float64Array.from(numbers))],
      );
      if (answer.kind === 'done') return tensorsOf(answer.names, message);
      throw this.#faultError((answer as Answer & { kind: 'fault' }).fault);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      unwatch();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #load(): Promise<void> {
    const { answer } = await this.#ask({ command: 'load' }, [], this.#limits.loadTimeoutMs);
    if (answer.kind === 'not-loaded') throw this.#notLoaded(answer);
    if (answer.kind === 'loaded' && !answer.hasReference) throw this.#missing(answer.exports);
  }

  async #ask(question: Question, tensors: readonly Float64Array[], timeoutMs = this.#limits.timeoutMs) {
    const poll = setInterval(() => this.#watchMemory(), MEMORY_POLL_MS);
    const outcome = await this.#process.exchange(withTensors(question, tensors), { timeoutMs });
    clearInterval(poll);
    if (!outcome.ok) throw this.#ended(outcome.end, timeoutMs);
    return { answer: outcome.message.header as unknown as Answer, message: outcome.message };
  }

  #watchMemory(): void {
    const { pid } = this.#process;
    if (pid === undefined || residentBytes(pid) <= this.#limits.memoryBytes) return;
    this.#outOfMemory = true;
    void this.close();
  }

  #notLoaded({ name, message }: Answer & { kind: 'not-loaded' }): WarpsmithError {
    const { file } = this.#options;
    return new WarpsmithError({
      code: 'reference-failed',
      message: `${file} can't be loaded: ${message}`,
      file,
      received: name,
      expected:
        'a module that Node loads as it is: erasable TypeScript only, imports of files beside it with their extension',
      hint: `Run node ${file} to see the whole error.`,
    });
  }

  #missing(names: readonly string[]): WarpsmithError {
    const { file } = this.#options;
    return new WarpsmithError({
      code: 'missing-reference',
      message: `${file} does not export a function \`reference\`.`,
      file,
      received: names.length === 0 ? 'no exports' : `exports ${names.join(', ')}`,
      expected: 'export const reference: ReferenceFunction = (inputs, dimensions, round) => …',
      hint: 'problems/attention/reference.ts is an example.',
    });
  }

  #faultError({ message, stack, ...details }: ReferenceFault): WarpsmithError {
    const { file, problem } = this.#options;
    const place = stack && placeIn(stack, file);
    const text = `the reference of ${problem} ${message}`;
    return new WarpsmithError({ ...details, message: text, file, path: place });
  }

  #ended(end: LineProcessEnd, timeoutMs: number): WarpsmithError {
    const { file, problem } = this.#options;
    const { code, what, expected, hint } = this.#endOf(end, timeoutMs);
    const said = lastWords(end.stderr);
    const received = said === '' ? end.description : `${end.description}; ${said}`;
    return new WarpsmithError({ code, message: `the reference of ${problem} ${what}`, file, received, expected, hint });
  }

  #endOf(
    { reason, stderr }: LineProcessEnd,
    timeoutMs: number,
  ): { code: string; what: string; expected: string; hint: string } {
    const { memoryBytes } = this.#limits;
    if (this.#outOfMemory || stderr.includes('JavaScript heap out of memory')) {
      return {
        code: 'reference-memory',
        what: 'takes too much memory',
        expected: `at most ${Math.round(memoryBytes / MIB)} MiB`,
        hint: 'Judge a smaller workload, or let the reference keep less at once.',
      };
    }
    if (reason === 'timed-out') {
      return {
        code: 'reference-timed-out',
        what: `did not finish within ${timeoutMs / 1000} s`,
        expected: 'a function that returns',
        hint: 'Judge a smaller workload, or correct reference.ts.',
      };
    }
    return {
      code: 'reference-ended',
      what: 'ended its process instead of returning',
      expected: 'a function that returns its outputs',
      hint: 'Correct reference.ts; the mistake is the problem’s, not a kernel’s.',
    };
  }
}

const pathToModule = (file: string): string =>
  new URL(`file://${encodeURI(file).replaceAll('#', '%23').replaceAll('?', '%3F')}`).href;

/**
 * It can read only our files and the problem's, and write none; no child process, worker thread, addon, WASI or inspector.
 * Node 24's permission model leaves network, signals and SQLite open: confine.ts removes these, and a wall around the
 * process cuts off the network if the system has one.
 */
const nodeArguments = (folder: string, { memoryBytes }: ReferenceLimits): string[] => [
  '--permission',
  `--allow-fs-read=${OWN_FOLDER}`,
  `--allow-fs-read=${folder}`,
  '--no-addons',
  '--no-experimental-sqlite',
  '--disallow-code-generation-from-strings',
  '--no-warnings',
  `--max-old-space-size=${Math.round(memoryBytes / MIB)}`,
];

/** The line that names an error, before its stack; without one, the last line. */
function lastWords(stderr: string): string {
  const lines = stderr.split('\n');
  return (lines.findLast((line) => /^(?:Uncaught )?\w*Error\b/.test(line)) ?? lines.at(-1) ?? '').trim();
}

/** `line:column` of the innermost frame in the file. */
function placeIn(stack: string, file: string): string | undefined {
  const frame = stack.split('\n').find((line) => line.includes(file.slice(file.lastIndexOf('/'))));
  return frame && /(\d+:\d+)\)?$/.exec(frame)?.[1];
}
