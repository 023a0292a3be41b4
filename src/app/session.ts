import { availableParallelism, cpus, release } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CompileOutcome } from '../core/compiled-code.ts';
import type { KernelResources } from '../core/counters.ts';
import type { Device } from '../core/device.ts';
import type { DeviceFailure } from '../core/device-values.ts';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import type { EvaluationStage, Evaluator } from '../core/evaluation.ts';
import type { Candidate } from '../core/kernel.ts';
import type { MeasuredPeaks } from '../core/measured-peaks.ts';
import type { Problem, Workload } from '../core/problem.ts';
import type { RequestOf } from '../core/requests/request.ts';
import type { GpuInstruments } from '../evaluation/instruments/gpu-instruments.ts';
import type { Known } from '../evaluation/live-evaluator.ts';
import type { ExpectationCache } from '../evaluation/oracle/expectation-cache.ts';
import type { DeviceReference } from '../evaluation/oracle/expectations.ts';
import type { OracleThreads } from '../evaluation/oracle/threads/oracle-threads.ts';
import type { SeedSubject } from '../evaluation/recording/repeat.ts';
import type { TraceOutcome, TraceRequest, traceWarp } from '../evaluation/trace-warp.ts';
import { networkWall } from '../process/network-wall.ts';
import type { Priors } from '../store/events.ts';
import type { Toolchain } from '../toolchains/toolchain.ts';
import type { AskTrust } from './loading/trust.ts';
import { packageVersion } from './package-version.ts';
import { openReplay, recordTo } from './recording.ts';
import { type DrawSeed, drawSeed } from './seed.ts';
import type { SharedOracle } from './shared-oracle.ts';

/** The device used when none is asked for. */
export const DEFAULT_DEVICE = 'virtual:l4';

/** What surrounds a request, whoever makes it. */
export interface Surroundings {
  /** Ends what is going on. */
  readonly signal?: AbortSignal;
  /** Asks whether a problem's host code may run. If absent, code that needs a question may not run. */
  readonly askTrust?: AskTrust;
  /** Called before each step, with what it does. */
  readonly onStep?: (text: string) => void;
  /** Told what is being done of the evaluation at hand. */
  readonly onStage?: (stage: EvaluationStage) => void;
}

/** A request with its device resolved, e.g. `virtual:l4`. */
export type OnDevice<R> = Omit<R, 'device'> & { readonly device: string } & Surroundings;

/** Where kernels are judged. */
export type SessionOptions = OnDevice<
  Pick<RequestOf<'evaluate'>, 'threads' | 'toolchain' | 'runTimeoutSeconds' | 'record' | 'replay' | 'trust' | 'fresh'>
> & {
  /** Folder in which processes of one run share machine code. */
  readonly codeFolder?: string | undefined;
  /** A session of this process that has the GPU: a second candidate is judged beside its own. It is closed later. */
  readonly beside?: Session | undefined;
  /** Of several sessions of this process. */
  readonly sharedOracle?: SharedOracle | undefined;
};

/** How what is evaluated on a virtual device begins: as the last time, if nothing has changed since. */
export interface Repeats {
  readonly seedsFor: (subject: SeedSubject) => DrawSeed;
  /** @param read what earlier runs of the store tell now. */
  readonly priorsFor: (subject: SeedSubject, store: string, read: () => Priors) => Priors;
}

/** What compiling and loading a candidate shows. */
export interface CompileLook {
  readonly compiled: CompileOutcome;
  /** Why the device did not load the code. */
  readonly refusal?: DeviceFailure;
  /** Of one CTA, by function. */
  readonly resources?: Readonly<Record<string, KernelResources>>;
}

/**
 * A device, a compiler and the evaluator that uses them. Closing it ends their work. Child processes stay a few seconds for
 * the next session, without keeping this process alive, and then end.
 */
export interface Session extends AsyncDisposable {
  readonly device: Pick<Device, 'identity' | 'spec' | 'tally'>;
  readonly toolchain: Pick<Toolchain, 'identity'>;
  readonly evaluator: Evaluator;
  /** Compiles and loads a candidate, and runs nothing. Absent in replays. Not while a candidate is being judged. */
  readonly compile?: (candidate: Candidate, signal?: AbortSignal) => Promise<CompileLook>;
  /** Follows one warp of a candidate. Only on virtual devices; not while a candidate is being judged. */
  readonly trace?: (request: TraceRequest) => Promise<TraceOutcome>;
  /** Names and versions that results may depend on. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * The device's measured peak rates, measured once and kept; undefined if they could not be measured. Absent on virtual
   * devices.
   */
  readonly peaks?: () => Promise<MeasuredPeaks | undefined>;
  readonly drawSeed: DrawSeed;
  /** For a session beside this one; absent where another process judges. */
  readonly shared?: Shared;
  /** What was begun with exactly the same files before. Only where evaluations are repeated. */
  readonly repeats?: Repeats;
  /** When the recorded session happened, as ISO 8601; only in a replay. */
  readonly recordedAt?: string;
  /**
   * Names of a problem's library baselines for a workload; absent if times are predicted.
   * @throws WarpsmithError `no-baselines` if there is no Python, no library or no baseline.py.
   */
  readonly libraryBaselines?: (problem: Problem, workload: Workload) => Promise<readonly string[]>;
}

/** What several sessions of one GPU have in common. */
interface Shared {
  readonly device: Device;
  readonly toolchain: Toolchain;
  readonly deviceReference: DeviceReference | undefined;
  readonly oracle: ExpectationCache;
  readonly known: Known;
}

/** Draws seeds for a subject: as the last time if nothing has changed since, where a session knows that. */
export const seedsOf = ({ repeats, drawSeed }: Pick<Session, 'repeats' | 'drawSeed'>, subject: SeedSubject): DrawSeed =>
  repeats?.seedsFor(subject) ?? drawSeed;

/**
 * Opens a device and its evaluator. Loads modules here and not at start-up, so that commands without a device stay quick.
 *
 * @throws WarpsmithError `unknown-device` or `no-compiler`; for recordings as {@link openReplay} and {@link recordTo}.
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  if (options.replay !== undefined) return openReplay(options.replay);
  // Its probe starts a process, which ends while modules load.
  void networkWall();
  const [
    { openAnotherWorker, openDevice },
    { createToolchain },
    { createKnown, createLiveEvaluator },
    { createExpectationCache },
    { createOracleThreads },
    { createKeepingEvaluator },
  ] = await Promise.all([
    import('../devices/open-device.ts'),
    import('../toolchains/create-toolchain.ts'),
    import('../evaluation/live-evaluator.ts'),
    import('../evaluation/oracle/expectation-cache.ts'),
    import('../evaluation/oracle/threads/oracle-threads.ts'),
    import('../evaluation/recording/keep.ts'),
  ]);
  await using stack = new AsyncDisposableStack();
  const device = await (options.beside
    ? openAnotherWorker(options.beside.shared!.device)
    : openDevice(options.device, options.threads === undefined ? {} : { threads: options.threads }));
  stack.defer(() => device.close());
  const { kind, driver } = device.identity;
  const openToolchain = async (): Promise<Toolchain> => {
    const { toolchain: asked, codeFolder } = options;
    const opened = await createToolchain({ target: kind, kind: asked, driverVersion: driver, codeFolder });
    stack.defer(async () => opened.close?.());
    return opened;
  };
  const toolchain = options.beside?.shared?.toolchain ?? (await openToolchain());
  const environment = describeEnvironment({ device, toolchain });
  const ending = new AbortController();
  const openShared = async (): Promise<Shared> => {
    const threads = kind === 'cuda' ? createOracleThreads() : undefined;
    if (threads) stack.defer(() => threads.close());
    const deviceReference = kind === 'cuda' ? await openReference(device, toolchain, threads) : undefined;
    if (deviceReference) stack.defer(() => deviceReference.close());
    const { cache: shared, limitBytes } = options.sharedOracle ?? {};
    const { signal } = ending;
    const oracle = createExpectationCache({ deviceReference, signal, threads, shared, limitBytes });
    return { device, toolchain, deviceReference, oracle, known: createKnown() };
  };
  const shared = options.beside?.shared ?? (await openShared());
  const { deviceReference, oracle, known } = shared;
  const instruments = deviceReference && (await openInstruments(device, oracle, deviceReference));
  if (instruments) stack.defer(() => instruments.close());
  const live = createLiveEvaluator({
    device,
    toolchain,
    oracle,
    known,
    instruments,
    runTimeoutMs: options.runTimeoutSeconds === undefined ? undefined : options.runTimeoutSeconds * 1000,
  });
  const watched = kind === 'cuda' ? await watchedBy(live, () => openWatcher(options, device.spec)) : live;
  const recorded =
    options.record === undefined
      ? watched
      : await recordTo(options.record, watched, { device, toolchain, environment });
  // Outside the recorder, because kept code lies in one store only.
  const repeats = await openRepeatsOf(options, { device, toolchain, environment });
  const repeating = repeats ? repeats.wrap(recorded) : recorded;
  const evaluator = createKeepingEvaluator(repeating, { toolchain, architecture: device.spec.architecture });
  const owned = stack.move();
  return {
    device,
    toolchain,
    evaluator,
    compile: (candidate, signal) => lookAtCode({ device, toolchain }, candidate, signal),
    trace: kind === 'virtual' ? (request) => followWarp({ device, toolchain, oracle }, request) : undefined,
    environment,
    drawSeed,
    repeats,
    peaks: device.measuring ? async () => (await import('../evaluation/peaks-of.ts')).peaksOf(device) : undefined,
    shared,
    libraryBaselines: instruments ? listLibraries(instruments) : undefined,
    async [Symbol.asyncDispose]() {
      ending.abort(new Error('the session was closed'));
      // Closes the device first, which ends an evaluation that Ctrl-C left running, so that the evaluator need not wait.
      const idle = evaluator.close();
      await atMost(LONGEST_CLOSING_MS, device.close());
      await atMost(LONGEST_CLOSING_MS, idle);
      await atMost(LONGEST_CLOSING_MS, owned.disposeAsync());
    },
  };
}

const followWarp = async (tools: Parameters<typeof traceWarp>[0], request: TraceRequest): Promise<TraceOutcome> =>
  (await import('../evaluation/trace-warp.ts')).traceWarp(tools, request);

async function lookAtCode(
  { device, toolchain }: { device: Device; toolchain: Toolchain },
  candidate: Candidate,
  signal: AbortSignal | undefined,
): Promise<CompileLook> {
  const compiled = await toolchain.compile({ candidate, architecture: device.spec.architecture, signal });
  if (!compiled.ok) return { compiled };
  const loaded = await device.load(compiled.code);
  if (!loaded.ok) return { compiled, refusal: loaded };
  try {
    return { compiled, resources: loaded.module.resources };
  } finally {
    await device.unload(loaded.module);
  }
}

/** A real GPU measures anew each time, and a recording is to hold what was evaluated. */
async function openRepeatsOf(
  options: SessionOptions,
  { device, toolchain, environment }: { device: Device; toolchain: Toolchain; environment: Session['environment'] },
): Promise<(Repeats & { wrap: (evaluator: Evaluator) => Evaluator }) | undefined> {
  if (device.identity.kind !== 'virtual' || options.record !== undefined) return undefined;
  const [{ openRepeats, priorsFor, repeatsAreOff, seedsFor }, { createRepeatingEvaluator }] = await Promise.all([
    import('./repeats.ts'),
    import('../evaluation/recording/repeat.ts'),
  ]);
  if (repeatsAreOff()) return undefined;
  const tools = { spec: device.spec, toolchain, environment, limits: { runTimeoutSeconds: options.runTimeoutSeconds } };
  const context = openRepeats(tools, { isFresh: options.fresh ?? false });
  return (
    context && {
      wrap: (evaluator) => createRepeatingEvaluator(evaluator, context),
      seedsFor: (subject) => seedsFor(context, subject),
      priorsFor: (subject, store, read) => priorsFor(context, subject, store, read),
    }
  );
}

/** Longest wait for closing, so that the result is printed. Work that is still open ends with this process. */
const LONGEST_CLOSING_MS = 4000;

async function atMost(limitMs: number, work: Promise<void>): Promise<void> {
  const timer = new AbortController();
  try {
    await Promise.race([work, sleep(limitMs, undefined, { signal: timer.signal })]);
  } finally {
    timer.abort();
    work.catch(() => {}); // Nobody waits for it any longer.
  }
}

/**
 * The problem's reference on the GPU, in a second process: right outputs must not lie in memory of the process that runs
 * candidates.
 */
async function openReference(
  device: Device,
  toolchain: Toolchain,
  threads: OracleThreads | undefined,
): Promise<DeviceReference> {
  const [{ lazyDeviceReference }, { openAnotherWorker }] = await Promise.all([
    import('../evaluation/oracle/device-reference.ts'),
    import('../devices/open-device.ts'),
  ]);
  return lazyDeviceReference({ toolchain, threads, openDevice: () => openAnotherWorker(device) });
}

const watchedBy = async (evaluator: Evaluator, open: () => Promise<Evaluator | string>): Promise<Evaluator> =>
  (await import('../evaluation/watch.ts')).createWatchingEvaluator(evaluator, open);

/** Most threads of a virtual GPU beside a real one: it runs small shapes, which more of them share out at the price of messages. */
const MOST_WATCHING_THREADS = 4;

/** A virtual GPU with the spec of a real one, and what judges on it; a text says why there is none. */
async function openWatcher(
  { threads, runTimeoutSeconds }: SessionOptions,
  spec: Device['spec'],
): Promise<Evaluator | string> {
  const [{ openVirtualDevice }, { createToolchain }, { createLiveEvaluator }] = await Promise.all([
    import('../devices/open-device.ts'),
    import('../toolchains/create-toolchain.ts'),
    import('../evaluation/live-evaluator.ts'),
  ]);
  try {
    const toolchain = await createToolchain({ target: 'virtual' });
    const device = openVirtualDevice(spec, {
      threads: threads ?? Math.min(MOST_WATCHING_THREADS, availableParallelism()),
    });
    const runTimeoutMs = runTimeoutSeconds === undefined ? undefined : runTimeoutSeconds * 1000;
    const evaluator = createLiveEvaluator({ device, toolchain, runTimeoutMs });
    return {
      ...evaluator,
      async close() {
        const idle = evaluator.close();
        await device.close();
        await idle;
        await toolchain.close?.();
      },
    };
  } catch (error) {
    if (error instanceof WarpsmithError) return error.message;
    throw error;
  }
}

/** Profiler, sanitizer and library baselines. Each starts when first needed. */
async function openInstruments(
  device: Device,
  oracle: ExpectationCache,
  deviceReference: DeviceReference,
): Promise<GpuInstruments> {
  const { createGpuInstruments } = await import('../evaluation/instruments/gpu-instruments.ts');
  return createGpuInstruments({ device, oracle, deviceReference });
}

const listLibraries =
  (instruments: GpuInstruments) =>
  async (problem: Problem, workload: Workload): Promise<readonly string[]> => {
    const names = await instruments.baselineNames(problem, workload);
    if (typeof names !== 'string') return names;
    throw new WarpsmithError({ code: 'no-baselines', message: names, file: problem.folder }, EXIT.deviceOrToolMissing);
  };

/** Names and versions of the software that results depend on, for the log and the report. No paths. */
function describeEnvironment({
  device: { identity, spec },
  toolchain,
}: {
  device: Pick<Device, 'identity' | 'spec'>;
  toolchain: Pick<Toolchain, 'identity'>;
}): Readonly<Record<string, string>> {
  const processors = cpus();
  return {
    warpsmith: packageVersion(),
    node: process.versions.node,
    v8: process.versions.v8,
    system: `${process.platform} ${process.arch} ${release()}`,
    processor: `${processors.length} × ${processors[0]?.model.trim() || 'unknown'}`,
    compiler: `${toolchain.identity.name} ${toolchain.identity.version}`,
    device: `${identity.name} (${identity.id}), ${spec.architecture}`,
    ...(identity.driver === undefined ? {} : { driver: identity.driver }),
  };
}
