import type { PagedOutcome, PagedRunOptions } from '../../core/device.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import type { DeviceFailure } from '../../core/device-values.ts';
import type { Dim3, PlannedArgument, PlannedLaunch } from '../../core/launch-plan.ts';
import { onceFor, rememberedAt } from '../../core/once-for.ts';
import { BUFFER_PAGE_BYTES, type PagedBuffer } from '../../core/paged-buffer.ts';
import { product, roundUp, sum } from '../../core/values.ts';
import type { PtxModule } from '../../ptx/ast.ts';
import { inlineCalls } from '../../ptx/inline-calls.ts';
import { functionResources } from '../../virtual-gpu/analyse-function.ts';
import {
  MOST_BUFFER_BYTES,
  MOST_BUFFERS,
  type PagedMemory,
  pagedStart,
  type TouchedPages,
  WINDOW_START,
} from '../../virtual-gpu/paging/paged-memory.ts';
import { withTranslations } from '../../virtual-gpu/paging/with-translations.ts';
import type { LaunchRequest } from '../../virtual-gpu/runtime/cta-runner.ts';
import { DeviceMemory } from '../../virtual-gpu/runtime/device-memory.ts';
import { ReadMap } from '../../virtual-gpu/runtime/read-map.ts';
import type { MemoryUse } from './cta-communication.ts';
import { spreadToTheLast } from './cta-samples.ts';
import { describeOutcome } from './describe-outcome.ts';
import { type BuiltKernel, buildOnce, type KeptCode } from './kept-code.ts';
import { packArguments } from './launch-buffers.ts';
import {
  allocateVariables,
  holdsFirstContents,
  isGlobal,
  type ModuleVariables,
  variablesOf,
} from './module-variables.ts';
import { refuseConfiguration } from './refuse-configuration.ts';
import { type PoolOutcome, WorkerPool } from './worker-pool.ts';

/** What a device knows of the kernel, and of itself. */
export interface PagedKernel {
  readonly ptx: PtxModule;
  /** Of the entry function. */
  readonly symbol: string;
  readonly use: MemoryUse;
  /** What a variable of the module holds. */
  readonly contentsOf: (variable: string) => Uint8Array;
  readonly spec: DeviceSpec;
  readonly fusedMultiplyAdd: boolean;
}

/** What the launch's CTAs are given that a device chooses. */
type LaunchSettings = Pick<LaunchRequest, 'instructionsPerCta' | 'privateContents'>;

const MOST_PAGED_BYTES = 512 * 1024 ** 2;

/** Beside variables, it fits into a WebAssembly memory. */
const MOST_POOL_BYTES = 2 ** 31;

/** CTAs have numbers of 31 bits here. */
const MOST_CTAS = 2 ** 31 - 1;

/** Code of functions whose accesses go through a page table, by module and function; null for one of which there is none. */
const pagedCodes = onceFor((_module: PtxModule) => new Map<string, KeptCode | null>());

/**
 * Runs a sample of a launch's CTAs, in the grid's order on one thread, over buffers of which only the touched pages are made. The thread and its
 * device memory are the launch's own, and end with it.
 * @returns undefined where that can't be done.
 */
export async function runPaged(
  kernel: PagedKernel,
  step: PlannedLaunch,
  buffers: readonly PagedBuffer[],
  options: PagedRunOptions,
  settings: LaunchSettings,
): Promise<PagedOutcome | undefined> {
  const startMs = performance.now();
  requirePeriods(buffers);
  if (kernel.use.communicates || !canBePaged(step, buffers)) return undefined;
  const memory = new DeviceMemory();
  const variables: ModuleVariables = { globals: new Map(), globalBuffers: [] };
  const built = build(kernel, memory, variables);
  if (!built || built.image.requiredCluster) return undefined;
  const resources = () => functionResources(kernel.ptx, kernel.symbol);
  const refusal = refuseConfiguration(step, { image: built.image, resources }, kernel.spec);
  if (refusal) return unlessUnsupported(refusal);
  const addressOf = (argument: PlannedArgument): number => offsetInWindow(argument, buffers);
  const packed = packArguments(step.functionName, built.image.parameters, step.arguments, addressOf);
  if (!packed.ok) return packed;
  const paged = pagedMemory(buffers, memory, variables, options.mostBytes ?? MOST_PAGED_BYTES);
  const launch = launchRequest(kernel.spec, step, packed.bytes, paged, settings);
  const order = spreadToTheLast(product(step.grid), Math.max(1, options.sampleCtas));
  const timeoutMs = Math.max(1, options.timeoutMs - (performance.now() - startMs));
  const outcome = await runAlone(built, launch, order, timeoutMs);
  if (outcome.kind === 'finished') return { ok: true, pages: pagesByName(buffers, outcome.touchedPages!) };
  const { image } = built;
  const place = { index: 0, image, ranges: launch.ranges, cluster: ALONE, timeoutMs: options.timeoutMs };
  return unlessUnsupported(describeOutcome(step, outcome, place));
}

/** Each CTA is a cluster. */
const ALONE: Dim3 = [1, 1, 1];

/** An access whose address was translated may go to the whole pool; a variable is reached by its name, too. */
const launchRequest = (
  spec: DeviceSpec,
  { grid, block, dynamicSharedBytes }: PlannedLaunch,
  parameters: Uint8Array,
  paged: PagedMemory,
  settings: LaunchSettings,
): Omit<LaunchRequest, 'isSerial'> => ({
  ...settings,
  ...{ grid, block, dynamicSharedBytes, parameters, paged },
  cluster: ALONE,
  hasClusters: false,
  ranges: [paged.pool, ...paged.variables.map(({ name, start, bytes }) => ({ name, start, bytes }))],
  rangesByName: Object.fromEntries(paged.variables.map(({ name }, i) => [name, [1 + i]])),
  orderSeed: 0,
  deviceBytes: paged.pool.start + paged.pool.bytes,
  smCount: spec.smCount.value,
  warpsPerSm: spec.maximumWarpsPerSm.value,
});

/** The pool lies above the variables. A copy of the periods travels: what they are parts of stays here. */
function pagedMemory(
  buffers: readonly PagedBuffer[],
  memory: DeviceMemory,
  { globalBuffers }: ModuleVariables,
  mostBytes: number,
): PagedMemory {
  const start = roundUp(memory.end, BUFFER_PAGE_BYTES);
  const all = sum(buffers.map(({ bytes }) => roundUp(bytes, BUFFER_PAGE_BYTES)));
  return {
    buffers: buffers.map(({ name, bytes, period }) => ({ name, bytes, period: period?.slice() })),
    pool: { name: 'pages', start, bytes: Math.min(mostBytes, MOST_POOL_BYTES, all) },
    variables: memory
      .rangesOf(globalBuffers)
      .map((range, i) => ({ ...range, contents: memory.contents(globalBuffers[i]!).slice() })),
  };
}

/** @throws RangeError for contents without a byte to repeat. */
function requirePeriods(buffers: readonly PagedBuffer[]): void {
  for (const { name, period } of buffers)
    if (period?.length === 0) throw new RangeError(`the contents of ${name} repeat nothing`);
}

const unlessUnsupported = (failed: DeviceFailure): DeviceFailure | undefined =>
  failed.status === 'unsupported' ? undefined : failed;

/** Whether a plan's launch is one that needs nothing but buffers. */
const canBePaged = (
  { grid, cluster, cooperative, arguments: values }: PlannedLaunch,
  buffers: readonly PagedBuffer[],
): boolean =>
  !cooperative &&
  cluster === undefined &&
  values.every(({ kind }) => kind !== 'pointers' && kind !== 'tensor-map') &&
  buffers.length <= MOST_BUFFERS &&
  buffers.every(({ bytes }) => bytes <= MOST_BUFFER_BYTES) &&
  product(grid) <= MOST_CTAS;

/** The kernel with translations, and the variables that it names; undefined where either is more than that. */
function build(kernel: PagedKernel, memory: DeviceMemory, variables: ModuleVariables): BuiltKernel | undefined {
  const { ptx, symbol, contentsOf, fusedMultiplyAdd } = kernel;
  try {
    const code = pagedCode(ptx, symbol);
    if (!code) return undefined;
    const named = variablesOf(inlineCalls(ptx, symbol), ptx.variables);
    if (sum(named.map(({ sizeBytes }) => sizeBytes)) > MOST_PAGED_BYTES) return undefined;
    if (!named.every((variable) => holdsFirstContents(variable, contentsOf(variable.name)))) return undefined;
    allocateVariables(memory, named, variables);
    const { globals } = variables;
    return buildOnce(code, { functionName: symbol, globals, counting: false, watching: false, fusedMultiplyAdd });
  } catch {
    // Whatever it is: a launch of the usual kind says so.
    return undefined;
  }
}

const pagedCode = (ptx: PtxModule, symbol: string): KeptCode | null =>
  rememberedAt(pagedCodes(ptx), symbol, () => {
    const own = inlineCalls(ptx, symbol);
    const globals = new Set(ptx.variables.filter(isGlobal).map(({ name }) => name));
    const paged = ptx.addressSize === 64 ? withTranslations(own, globals) : undefined;
    if (!paged) return null;
    const functions = ptx.functions.map((fn) => (fn.name === symbol ? paged : fn));
    return { ptx: { ...ptx, functions }, kernels: new Map() };
  });

/** Where an argument's buffer begins, from the start of device memory's window. */
function offsetInWindow(argument: PlannedArgument, buffers: readonly PagedBuffer[]): number {
  if (argument.kind !== 'buffer') throw new Error(`${argument.kind} arguments have no address`);
  const index = buffers.findIndex(({ name }) => name === argument.buffer);
  if (index < 0) throw new Error(`there is no buffer ${argument.buffer}`);
  return pagedStart(index) + argument.offsetBytes - WINDOW_START;
}

/** Runs CTAs on a thread that has a memory of its own and knows no other kernel. */
async function runAlone(
  built: BuiltKernel,
  launch: Omit<LaunchRequest, 'isSerial'>,
  order: Int32Array,
  timeoutMs: number,
): Promise<PoolOutcome> {
  const pool = new WorkerPool({ ownBytes: launch.deviceBytes }, new ReadMap().memory, 1);
  try {
    return await pool.run(pool.load(built), launch, order, { serial: true, timeoutMs });
  } finally {
    await pool.close();
  }
}

const pagesByName = (
  buffers: readonly PagedBuffer[],
  touched: readonly TouchedPages[],
): Map<string, Map<number, Uint8Array>> =>
  new Map(buffers.map((buffer, i) => [buffer.name, pagesByNumber(buffer, touched[i]!)]));

function pagesByNumber(buffer: PagedBuffer, { numbers, bytes }: TouchedPages): Map<number, Uint8Array> {
  const pages = new Map<number, Uint8Array>();
  numbers.forEach((page, i) => {
    const length = Math.min(BUFFER_PAGE_BYTES, buffer.bytes - page * BUFFER_PAGE_BYTES);
    pages.set(page, bytes.subarray(i * BUFFER_PAGE_BYTES, i * BUFFER_PAGE_BYTES + length));
  });
  return pages;
}
