import { symbolOf } from '../../../core/compiled-code.ts';
import type { DeviceFailure } from '../../../core/device-values.ts';
import type {
  LaunchPlan,
  PlannedArgument,
  PlannedCopy,
  PlannedLaunch,
  PlannedMemset,
  PlannedStep,
} from '../../../core/launch-plan.ts';
import { encode } from '../../../core/rounding.ts';
import { NativeMemory } from '../../../ffi/native-memory.ts';
import { failure } from '../../failure.ts';
import { argumentBytes, bufferNamed, refuseArguments } from '../../match-arguments.ts';
import { refuseLaunch } from '../../refuse-launch.ts';
import { type DeviceAttributes, FUNCTION_ATTRIBUTE } from '../driver/constants.ts';
import type { Driver } from '../driver/driver.ts';
import { CudaError } from '../driver/results.ts';
import { LaunchConfig } from '../driver/structs.ts';
import type { CudaBuffer } from './memory.ts';
import { type CudaFunction, type CudaModule, findFunction } from './module.ts';
import { encodeTensorMap } from './tensor-map.ts';

/** The device as launches need to know it. */
export interface LaunchTarget {
  readonly driver: Driver;
  readonly name: string;
  readonly attributes: DeviceAttributes;
}

/** A step with all values that stay the same from launch to launch. */
type PreparedStep =
  | { readonly kind: 'memset'; readonly address: bigint; readonly byteValue: number; readonly bytes: number }
  | { readonly kind: 'copy'; readonly from: bigint; readonly to: bigint; readonly bytes: number }
  | PreparedLaunch;

interface PreparedLaunch {
  readonly kind: 'launch';
  readonly step: PlannedLaunch;
  readonly fn: CudaFunction;
  readonly config: LaunchConfig;
  /** Addresses of the values, one for each parameter. */
  readonly parameters: NativeMemory;
  /** What `parameters` points to. */
  readonly values: readonly NativeMemory[];
}

/** A launch sequence that can be enqueued any number of times; `release` frees its allocations. */
export interface PreparedSequence {
  readonly steps: readonly PreparedStep[];
  readonly pointerArrays: readonly bigint[];
}

/** Most shared memory a CTA has without asking for more. */
const DEFAULT_DYNAMIC_SHARED_BYTES = 48 * 1024;
/** Larger clusters run on some GPUs only. Source: CUDA programming guide, thread block clusters. */
const PORTABLE_CLUSTER_CTAS = 8;
/** CU_SHAREDMEM_CARVEOUT_DEFAULT. */
const DEFAULT_CARVE_OUT = -1;

/**
 * Checks every step of a plan against the device, the functions and the buffers, and packs its arguments.
 * @throws CudaError if the driver fails for a reason outside the plan.
 */
export function prepareSequence(
  target: LaunchTarget,
  module: CudaModule,
  plan: LaunchPlan,
  buffers: ReadonlyMap<string, CudaBuffer>,
): { ok: true; sequence: PreparedSequence } | DeviceFailure {
  const pointerArrays: bigint[] = [];
  const sequence: PreparedSequence = { steps: [], pointerArrays };
  const steps = sequence.steps as PreparedStep[];
  let previous: PlannedStep | undefined;
  try {
    for (const step of plan.steps) {
      const prepared =
        step.kind === 'launch'
          ? prepareLaunch(target, module, step, previous, buffers, pointerArrays)
          : prepareMemoryStep(buffers, step);
      if ('ok' in prepared) {
        releaseSequence(target.driver, sequence);
        return prepared;
      }
      steps.push(prepared);
      previous = step;
    }
  } catch (error) {
    releaseSequence(target.driver, sequence);
    throw error;
  }
  return { ok: true, sequence };
}

/** Enqueues every step in order. @throws CudaError, naming the function that could not be launched. */
export function enqueueSequence(driver: Driver, sequence: PreparedSequence, stream: bigint): void {
  for (const step of sequence.steps) {
    if (step.kind === 'memset') driver.enqueueSet(step.address, 1, step.byteValue, step.bytes);
    else if (step.kind === 'copy') driver.enqueueCopy(step.to, step.from, step.bytes);
    else enqueueLaunch(driver, step, stream);
  }
}

function enqueueLaunch(driver: Driver, launch: PreparedLaunch, stream: bigint): void {
  try {
    configureFunction(driver, launch);
    driver.call('cuLaunchKernelEx', launch.config.addressFor(stream), launch.fn.handle, launch.parameters.address, 0n);
  } catch (error) {
    if (error instanceof CudaError) error.functionName = launch.step.functionName;
    throw error;
  }
}

/** Largest local memory per thread among the sequence's launches, in bytes. */
export const localBytesOf = ({ steps }: PreparedSequence): number =>
  steps.reduce(
    (most, step) => (step.kind === 'launch' ? Math.max(most, step.fn.resources.localBytesPerThread) : most),
    0,
  );

/** Frees the device arrays of pointers. No kernel that uses them may still run. */
export function releaseSequence(driver: Driver, sequence: PreparedSequence): void {
  for (const address of sequence.pointerArrays) driver.call('cuMemFree_v2', address);
}

function prepareMemoryStep(
  buffers: ReadonlyMap<string, CudaBuffer>,
  step: PlannedMemset | PlannedCopy,
): Exclude<PreparedStep, PreparedLaunch> {
  if (step.kind === 'copy')
    return { kind: 'copy', from: placeOf(buffers, step.from), to: placeOf(buffers, step.to), bytes: step.bytes };
  const { address, bytes } = bufferNamed(buffers, step.buffer);
  return { kind: 'memset', address, byteValue: step.byteValue, bytes };
}

function prepareLaunch(
  target: LaunchTarget,
  module: CudaModule,
  step: PlannedLaunch,
  previous: PlannedStep | undefined,
  buffers: ReadonlyMap<string, CudaBuffer>,
  pointerArrays: bigint[],
): PreparedLaunch | DeviceFailure {
  const { driver } = target;
  const symbol = symbolOf(module.code, step.functionName);
  const fn = findFunction(driver, module, symbol);
  if (!fn) return unknownFunction(module, symbol);
  const refusal = refuseConfiguration(target, step, fn);
  if (refusal) return refusal;
  if (!fn.parameters)
    return failure(
      'unsupported',
      `this driver does not tell the parameters of ${step.functionName}; the driver of CUDA 12.4 or later does, and PTX declares them`,
    );
  const mismatch = refuseArguments(step.functionName, fn.parameters, step.arguments);
  if (mismatch) return mismatch;
  const config = new LaunchConfig({
    grid: step.grid,
    block: step.block,
    dynamicSharedBytes: step.dynamicSharedBytes,
    cluster: step.cluster,
    cooperative: step.cooperative,
    // It may start before the previous step ends, but only if that step belongs to the same sequence.
    programmaticDependent: step.programmaticDependent && previous?.kind === 'launch',
  });
  const tooLarge = refuseResidency(target, step, fn, config);
  if (tooLarge) return tooLarge;

  const values: NativeMemory[] = [];
  for (const [index, argument] of step.arguments.entries()) {
    const value = argumentValue(driver, argument, buffers, pointerArrays);
    if ('refusal' in value) return failure('invalid', `argument ${index} of ${step.functionName}: ${value.refusal}`);
    values.push(value.memory);
  }
  const parameters = new NativeMemory(8 * Math.max(1, values.length));
  for (const [i, value] of values.entries()) parameters.view.setBigUint64(8 * i, value.address, true);
  return { kind: 'launch', step, fn, config, parameters, values };
}

function unknownFunction(module: CudaModule, symbol: string): DeviceFailure {
  const known = Object.values(module.code.functionSymbols).filter((name) => module.functions.has(name));
  return failure(
    'invalid',
    `the compiled code has no __global__ function ${symbol}; it has ${known.join(', ') || 'none that kernel.json names'}`,
  );
}

function refuseConfiguration(
  { name, attributes }: LaunchTarget,
  step: PlannedLaunch,
  fn: CudaFunction,
): DeviceFailure | undefined {
  const { staticSharedBytes, registersPerThread } = fn.resources;
  const refusal = refuseLaunch(step, {
    deviceName: name,
    maximumGrid: [attributes.maximumGridX, attributes.maximumGridY, attributes.maximumGridZ],
    maximumBlock: [attributes.maximumBlockX, attributes.maximumBlockY, attributes.maximumBlockZ],
    maximumThreads: Math.min(attributes.maximumThreadsPerCta, fn.maximumThreads),
    registers: { perThread: registersPerThread, perCta: attributes.registersPerCta },
    staticSharedBytes,
    sharedBytes: staticSharedBytes + step.dynamicSharedBytes,
    maximumSharedBytes: attributes.sharedBytesPerCtaOptIn,
  });
  if (refusal) return refusal;
  const { cluster, grid, functionName } = step;
  if (cluster && !attributes.clusterLaunch)
    return failure('unsupported', `${functionName} uses thread-block clusters, which ${name} does not have`);
  if (cluster?.some((extent, axis) => extent < 1 || grid[axis]! % extent !== 0))
    return failure(
      'launch-failed',
      `${functionName}: grid ${grid.join(' × ')} is not made of whole clusters of ${cluster.join(' × ')} CTAs`,
    );
  if (step.cooperative && !attributes.cooperativeLaunch)
    return failure('unsupported', `${functionName} is a cooperative launch, which ${name} does not do`);
  return undefined;
}

/** Launches whose CTAs, or clusters, must be resident at once. */
function refuseResidency(
  { driver, attributes, name }: LaunchTarget,
  step: PlannedLaunch,
  fn: CudaFunction,
  config: LaunchConfig,
): DeviceFailure | undefined {
  const { cluster, cooperative, functionName, grid, block } = step;
  if (!cluster && !cooperative) return undefined;
  configureFunction(driver, { step, fn });
  const ctas = grid[0] * grid[1] * grid[2];
  if (cooperative) {
    const perSm = driver.integer(
      'cuOccupancyMaxActiveBlocksPerMultiprocessor',
      fn.handle,
      block[0] * block[1] * block[2],
      step.dynamicSharedBytes,
    );
    const room = perSm * attributes.smCount;
    if (ctas > room)
      return failure(
        'launch-failed',
        `${functionName} is a cooperative launch of ${ctas} CTAs; ${name} holds ${room} at once (${perSm} on each of ${attributes.smCount} SMs)`,
      );
  }
  const countClusters = driver.optional.cuOccupancyMaxActiveClusters;
  if (cluster && countClusters) {
    const out = new NativeMemory(4);
    const code = countClusters(out.address, fn.handle, config.addressFor(0n));
    if (code !== 0 || out.view.getInt32(0, true) === 0)
      return failure(
        'launch-failed',
        `${functionName}: ${name} cannot hold a cluster of ${cluster.join(' × ')} CTAs with ${block.join(' × ')} threads and ${step.dynamicSharedBytes + fn.resources.staticSharedBytes} bytes of shared memory each`,
      );
  }
  return undefined;
}

/** Attributes belong to the function, so every launch sets its own, whatever an earlier launch set. */
function configureFunction(driver: Driver, { step, fn }: Pick<PreparedLaunch, 'step' | 'fn'>): void {
  const { staticSharedBytes } = fn.resources;
  const set = (attribute: keyof typeof FUNCTION_ATTRIBUTE, value: number) =>
    driver.call('cuFuncSetAttribute', fn.handle, FUNCTION_ATTRIBUTE[attribute], value);
  if (step.dynamicSharedBytes + staticSharedBytes > DEFAULT_DYNAMIC_SHARED_BYTES)
    set('maximumDynamicSharedBytes', step.dynamicSharedBytes);
  set('carveOut', step.carveOut ?? DEFAULT_CARVE_OUT);
  const { cluster } = step;
  if (cluster && cluster[0] * cluster[1] * cluster[2] > PORTABLE_CLUSTER_CTAS) set('nonPortableClusterAllowed', 1);
}

function argumentValue(
  driver: Driver,
  argument: PlannedArgument,
  buffers: ReadonlyMap<string, CudaBuffer>,
  pointerArrays: bigint[],
): { memory: NativeMemory } | { refusal: string } {
  if (argument.kind === 'tensor-map') {
    const encoded = encodeTensorMap(driver, argument, bufferNamed(buffers, argument.buffer).address);
    return 'refusal' in encoded ? encoded : { memory: encoded.map };
  }
  const memory = new NativeMemory(argumentBytes(argument));
  switch (argument.kind) {
    case 'buffer':
      memory.view.setBigUint64(0, placeOf(buffers, argument), true);
      break;
    case 'scalar':
      memory.bytes.set(encode([argument.value], argument.dtype));
      break;
    case 'bytes':
      memory.bytes.set(argument.bytes);
      break;
    case 'pointers':
      memory.view.setBigUint64(0, writePointers(driver, argument.targets, buffers, pointerArrays), true);
      break;
    case 'null':
      break;
  }
  return { memory };
}

/** A device array of the targets' addresses. */
function writePointers(
  driver: Driver,
  targets: readonly { buffer: string; offsetBytes: number }[],
  buffers: ReadonlyMap<string, CudaBuffer>,
  pointerArrays: bigint[],
): bigint {
  const bytes = Math.max(8, 8 * targets.length);
  const array = driver.create('cuMemAlloc_v2', bytes);
  pointerArrays.push(array);
  const contents = BigUint64Array.from(targets, (target) => placeOf(buffers, target));
  driver.copyIn(array, new Uint8Array(contents.buffer));
  return array;
}

const placeOf = (
  buffers: ReadonlyMap<string, CudaBuffer>,
  { buffer, offsetBytes }: { buffer: string; offsetBytes: number },
): bigint => bufferNamed(buffers, buffer).address + BigInt(offsetBytes);
