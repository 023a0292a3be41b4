import { availableParallelism } from 'node:os';
import type { ReferenceFault } from '../../../core/call-reference.ts';
import { WarpsmithError } from '../../../core/errors.ts';
import type { Dimensions, ReferenceRun, ReferenceTensors, RunReference } from '../../../core/problem.ts';
import { bytesOfPieces } from '../../../core/sparse-tensor.ts';
import { LineProcess, type LineProcessEnd } from '../../../process/line-process.ts';
import { networkWall } from '../../../process/network-wall.ts';
import { residentBytes } from '../../../process/process-group.ts';
import { usableMemoryBytes } from '../../../process/usable-memory.ts';
import { keptJavaScript } from './kept-javascript.ts';
import { type Answer, outlinesOf, type Question, tensorsOf, valuesOfPieces, withTensors } from './protocol.ts';
import type { ReferenceCommand, ReferenceLimits, ReferencePlace, ReferenceProgram } from './reference-program.ts';
import { watchRun } from './slow-runs.ts';

export interface ReferenceHostOptions extends ReferencePlace {
  readonly program: ReferenceProgram;
  /** Buffer → its shape, for references that take tensors with shapes. */
  readonly shapes?: (dimensions: Dimensions) => Readonly<Record<string, readonly number[]>>;
  readonly limits?: Partial<ReferenceLimits>;
  /** Called before the first process starts. @throws if the module may not run. */
  readonly beforeStart?: () => void;
}

const MIB = 1024 ** 2;

/** Half of the memory. */
export const referenceMemoryBytes = (usableBytes: number): number => Math.max(1024 * MIB, usableBytes / 2);

/** Each keeps a core busy; of many cores, half are for compilers and for what a verification compares. */
const MOST_PROCESSES = Math.min(8, Math.max(4, Math.floor(availableParallelism() / 2)));

/** Of processes that run host code of a problem. */
export const referenceLimits: Omit<ReferenceLimits, 'loadTimeoutMs'> = {
  timeoutMs: 30 * 60_000,
  memoryBytes: referenceMemoryBytes(usableMemoryBytes()),
  processes: Math.min(MOST_PROCESSES, availableParallelism()),
};

/** A run that waits this long for one that computes justifies another process; starting one takes half as long. */
const PATIENCE_MS = 150;
/** An idle process ends after this time; a command rarely pauses for so long. */
const IDLE_MS = 10_000;
const MEMORY_POLL_MS = 100;

/** Most bytes of inputs of which runs that are asked for at once go in one message: two more messages take as long as such runs. */
const MOST_TOGETHER_BYTES = 256 * 1024;

/** Most bytes of inputs that a process keeps for its next run, beside as many that the module gets: beyond them, memory is dearer than sending them again. */
const MOST_KEPT_BYTES = 512 * MIB;

/**
 * Runs a problem's reference in processes of its own: confined by its program, with access to its folder only, an empty
 * environment and limits, behind a network wall if the system has one. Starts a process when a run needs one, keeps
 * it for the next, and ends it after idle time. Starts a second one for a run that would have to wait for another run, and not
 * while the first one loads: on a busy machine, and with PyTorch, that takes longer than most runs.
 */
export function hostReference(options: ReferenceHostOptions): RunReference {
  const host = new ReferenceHost(options);
  return Object.assign((run: ReferenceRun) => host.run(run), {
    sideBySide: (signal?: AbortSignal) => host.sideBySide(signal),
    perturbs: options.program.keepsInputs,
    takesSparse: (signal?: AbortSignal) => host.takesSparse(signal),
  });
}

class ReferenceHost {
  readonly #options: ReferenceHostOptions;
  readonly #limits: ReferenceLimits;
  readonly #idle: ReferenceChild[] = [];
  readonly #waiting: ((child: ReferenceChild) => void)[] = [];
  readonly #children = new Set<ReferenceChild>();
  /** Asked for and not sent yet. */
  readonly #asked = new Set<Together>();
  #exports: readonly string[] | undefined;

  constructor(options: ReferenceHostOptions) {
    this.#options = options;
    this.#limits = { ...referenceLimits, loadTimeoutMs: options.program.loadTimeoutMs, ...options.limits };
  }

  async run(run: ReferenceRun): Promise<ReferenceTensors> {
    if (run.sparse && !this.#options.program.sparseRowsFunction) throw new Error('a run on sparse inputs');
    const together = [...this.#asked].find(({ runs }) => differInChangesOnly(runs[0]!, run)) ?? this.#ask(run);
    const place = together.runs.push(run) - 1;
    return (await together.outputs)[place]!;
  }

  /** Runs like this one may join until a process takes them. */
  #ask(run: ReferenceRun): Together {
    const runs: ReferenceRun[] = [];
    const outputs = this.#withChild(
      run.signal,
      (child) => {
        this.#asked.delete(together);
        return child.run(runs);
      },
      run.inputs,
    ).finally(() => this.#asked.delete(together));
    const together: Together = { runs, outputs };
    const bytes = bytesOf(run.inputs) + bytesOfPieces(run.sparse ?? {});
    if (this.#options.program.keepsInputs && bytes <= MOST_TOGETHER_BYTES) this.#asked.add(together);
    return together;
  }

  /** @throws as {@link run}, if the module can't be loaded. */
  async sideBySide(signal: AbortSignal | undefined): Promise<number> {
    const { processes } = this.#limits;
    if (processes === 1) return 1;
    return (await this.#exported(signal)).includes(this.#options.program.rowsFunction) ? processes : 1;
  }

  /** @throws as {@link run}, if the module can't be loaded. */
  async takesSparse(signal: AbortSignal | undefined): Promise<boolean> {
    const { rowsFunction, sparseRowsFunction } = this.#options.program;
    if (sparseRowsFunction === undefined) return false;
    const names = await this.#exported(signal);
    return names.includes(rowsFunction) || names.includes(sparseRowsFunction);
  }

  async #exported(signal: AbortSignal | undefined): Promise<readonly string[]> {
    this.#exports ??= await this.#withChild(signal, (child) => child.exported(signal));
    return this.#exports;
  }

  async #withChild<T>(
    signal: AbortSignal | undefined,
    work: (child: ReferenceChild) => Promise<T>,
    inputs: ReferenceTensors = {},
  ): Promise<T> {
    signal?.throwIfAborted();
    const command = await this.#command();
    const child = await this.#take(command, inputs);
    try {
      return await work(child);
    } finally {
      this.#giveBack(child, command);
    }
  }

  /** The program, with the wall around it. */
  async #command(): Promise<ReferenceCommand> {
    const { program } = this.#options;
    const [wall, { env, command, args }] = await Promise.all([
      networkWall(),
      program.command(this.#options, this.#limits),
    ]);
    return { ...wall.around(command, args), env };
  }

  /** An idle process that has the inputs, if there is one. */
  #take(command: ReferenceCommand, inputs: ReferenceTensors): Promise<ReferenceChild> | ReferenceChild {
    const at = this.#idle.findIndex((child) => child.has(inputs));
    const idle = at < 0 ? this.#idle.pop() : this.#idle.splice(at, 1)[0];
    if (idle) return idle;
    if (this.#children.size === 0) return this.#start(command);
    return new Promise((resolve, reject) => {
      const take = (child: ReferenceChild) => {
        clearTimeout(timer);
        resolve(child);
      };
      this.#waiting.push(take);
      const startAnother = (): void => {
        if (this.#children.size >= this.#limits.processes) return;
        if ([...this.#children].some(({ loadedAtMs }) => performance.now() - loadedAtMs < PATIENCE_MS)) {
          timer = setTimeout(startAnother, PATIENCE_MS);
          return;
        }
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        try {
          resolve(this.#start(command));
        } catch (error) {
          reject(error);
        }
      };
      let timer = setTimeout(startAnother, PATIENCE_MS);
    });
  }

  #start(command: ReferenceCommand): ReferenceChild {
    this.#options.beforeStart?.();
    const child = new ReferenceChild(this.#options, this.#limits, command);
    this.#children.add(child);
    return child;
  }

  /** One that has ended is replaced when somebody waits. */
  #giveBack(child: ReferenceChild, command: ReferenceCommand): void {
    if (!child.isRunning) this.#children.delete(child);
    const next = this.#waiting.shift();
    if (next) return next(child.isRunning ? child : this.#start(command));
    if (!child.isRunning) return;
    this.#idle.push(child);
    child.afterIdle(IDLE_MS, () => {
      const at = this.#idle.indexOf(child);
      if (at < 0) return;
      this.#idle.splice(at, 1);
      this.#children.delete(child);
      void child.close();
    });
  }
}

/** Runs on the same inputs, as they are and changed, that one message asks for. */
interface Together {
  readonly runs: ReferenceRun[];
  /** In their order. */
  readonly outputs: Promise<readonly ReferenceTensors[]>;
}

/** Whatever else there is of a run is the same. */
const differInChangesOnly = (run: ReferenceRun, other: ReferenceRun): boolean =>
  (Object.keys({ ...run, ...other }) as (keyof ReferenceRun)[]).every(
    (name) => name === 'perturbation' || run[name] === other[name],
  );

const bytesOf = (inputs: ReferenceTensors): number =>
  Object.values(inputs).reduce((sum, { byteLength }) => sum + byteLength, 0);

/** One process. */
class ReferenceChild {
  readonly #options: ReferenceHostOptions;
  readonly #limits: ReferenceLimits;
  readonly #process: LineProcess;
  #loaded: Promise<readonly string[]> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #outOfMemory = false;
  /** Inputs of the last run, which the process keeps, and this one need not. */
  #kept: Readonly<Record<string, WeakRef<Float64Array>>> = {};
  /** When its module was there, or could not be; in the future until then. */
  loadedAtMs = Number.POSITIVE_INFINITY;

  constructor(options: ReferenceHostOptions, limits: ReferenceLimits, command: ReferenceCommand) {
    this.#options = options;
    this.#limits = limits;
    this.#process = new LineProcess({ ...command, cwd: '/', maximumPayloadBytes: limits.memoryBytes });
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

  /** Whether the process keeps all of these inputs. */
  has(inputs: ReferenceTensors): boolean {
    return Object.entries(inputs).every(([name, values]) => this.#kept[name]?.deref() === values);
  }

  /** Names of what the module exports. */
  exported(signal: AbortSignal | undefined): Promise<readonly string[]> {
    return this.#untilAborted(signal, () => this.#load());
  }

  /** @param runs that differ in how they change the inputs only. */
  run(runs: readonly ReferenceRun[]): Promise<ReferenceTensors[]> {
    const { inputs, sparse = {}, dimensions, rounding, rows, mistake, signal } = runs[0]!;
    const { problem, program, shapes } = this.#options;
    return this.#untilAborted(signal, async () => {
      using _ = watchRun({ problem, dimensions });
      await this.#load();
      const names = Object.keys(inputs);
      const kept = names.filter((name) => this.#kept[name]?.deref() === inputs[name]);
      const sent = names.filter((name) => !kept.includes(name)).map((name) => inputs[name]!);
      const keeps = program.keepsInputs && bytesOf(inputs) <= MOST_KEPT_BYTES;
      const references = names.map((name) => [name, new WeakRef(inputs[name]!)] as const);
      this.#kept = keeps ? Object.fromEntries(references) : {};
      const { answer, message } = await this.#ask(
        {
          command: 'run',
          dimensions,
          rounding,
          names,
          kept,
          sparse: outlinesOf(sparse),
          keeps,
          shapes: program.takesShapes ? shapes?.(dimensions) : undefined,
          rowsOf: rows ? Object.keys(rows) : undefined,
          mistake,
          changes: runs.map(({ perturbation = null }) => perturbation),
        },
        [...sent, ...valuesOfPieces(sparse), ...Object.values(rows ?? {}).map((numbers) => Float64Array.from(numbers))],
      );
      if (answer.kind === 'done') return runs.map((_, i) => tensorsOf(answer.names, message, i));
      throw this.#faultError((answer as Answer & { kind: 'fault' }).fault);
    });
  }

  /** Ends the process when the signal comes. @throws its reason then. */
  async #untilAborted<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    const onAbort = () => void this.close();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      signal?.throwIfAborted();
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** What the module exports. Loads it once. */
  #load(): Promise<readonly string[]> {
    this.#loaded ??= this.#loadModule();
    return this.#loaded;
  }

  async #loadModule(): Promise<readonly string[]> {
    const answer = await this.#askToLoad().finally(() => {
      this.loadedAtMs = performance.now();
    });
    if (answer.kind === 'not-loaded') throw this.#options.program.notLoaded(this.#options, answer);
    const { exports, hasReference } = answer as Answer & { kind: 'loaded' };
    if (!hasReference) throw this.#missing(exports);
    return exports;
  }

  async #askToLoad(): Promise<Answer> {
    const { loadTimeoutMs } = this.#limits;
    const ask = async (question: Question) => (await this.#ask(question, [], loadTimeoutMs)).answer;
    const javaScript = await keptJavaScript(this.#options.file, async (text) => {
      return ((await ask({ command: 'strip', text })) as Answer & { kind: 'stripped' }).javaScript;
    });
    return ask({ command: 'load', javaScript });
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

  #missing(names: readonly string[]): WarpsmithError {
    const { file, program } = this.#options;
    return new WarpsmithError({
      code: 'missing-reference',
      message: `${file} has no function \`reference\`.`,
      file,
      received: names.length === 0 ? 'no exports' : `exports ${names.join(', ')}`,
      expected: program.declaration,
      hint: program.example,
    });
  }

  #faultError({ message, stack, ...details }: ReferenceFault): WarpsmithError {
    const { file, problem, program } = this.#options;
    const place = stack && program.placeIn(stack, file);
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
    if (this.#outOfMemory || this.#options.program.isOutOfMemory(stderr)) {
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
        hint: 'Judge a smaller workload, or correct the reference.',
      };
    }
    return {
      code: 'reference-ended',
      what: 'ended its process instead of returning',
      expected: 'a function that returns its outputs',
      hint: 'Correct the reference; the mistake is the problem’s, not a kernel’s.',
    };
  }
}

/** The line that names an error, before its stack; without one, the last line. */
function lastWords(stderr: string): string {
  const lines = stderr.split('\n');
  return (lines.findLast((line) => /^(?:Uncaught )?\w*Error\b/.test(line)) ?? lines.at(-1) ?? '').trim();
}
