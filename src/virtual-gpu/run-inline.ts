import type { LaunchCounters } from '../core/counters.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import type { DeviceBuffer } from '../core/device-values.ts';
import type { Dim3, PlannedArgument } from '../core/launch-plan.ts';
import { product } from '../core/values.ts';
import { parsePtx } from '../ptx/parse.ts';
import { type SampledLaunch, simulateCache } from './cache-model/simulate.ts';
import { compileKernel } from './compile-kernel.ts';
import { relaxedMaddIsFused } from './fma-probe.ts';
import type { KernelImage } from './kernel-image.ts';
import { launchCounters } from './launch-counters.ts';
import { packParameters } from './pack-parameters.ts';
import { CtaRunner } from './runtime/cta-runner.ts';
import { DeviceMemory } from './runtime/device-memory.ts';
import { KernelFault } from './runtime/fault.ts';
import { WriteMap } from './runtime/write-map.ts';
import { isUserFile } from './user-files.ts';

/** One launch of a function of the PTX. */
export interface InlineLaunch {
  readonly functionName: string;
  readonly grid: Dim3;
  readonly block: Dim3;
  readonly dynamicSharedBytes?: number;
  /** Buffers by name, and scalars. */
  readonly arguments: readonly Extract<PlannedArgument, { kind: 'buffer' | 'scalar' }>[];
}

export interface InlineRequest {
  readonly ptx: string;
  readonly spec: DeviceSpec;
  /** Contents of each buffer before the first launch. */
  readonly buffers: Readonly<Record<string, Uint8Array>>;
  readonly launches: readonly InlineLaunch[];
  /** Contents of L2 at the start, for the sampled traffic; `cold` by default. */
  readonly cache?: 'hot' | 'cold';
  /** Most warp instructions of a CTA; 100 million by default, which takes some seconds. */
  readonly instructionsPerCta?: number;
}

export type InlineOutcome =
  | {
      readonly ok: true;
      /** Contents of each buffer after the last launch. */
      readonly buffers: Readonly<Record<string, Uint8Array>>;
      readonly counters: LaunchCounters[];
    }
  /** The kernel's mistake: fault kind, message, CTA and source line. */
  | {
      readonly ok: false;
      readonly kind: string;
      readonly message: string;
      readonly cta: number;
      readonly source?: { readonly file: string; readonly line: number };
    };

const INSTRUCTIONS_PER_CTA = 100_000_000;
const ALIGNMENT_BYTES = 256;

/**
 * Executes and counts a sequence of launches on the calling thread, with the same results and counters as a virtual
 * device's worker threads. Compiles asynchronously, as web pages must. For modules without variables in device memory.
 * @throws PtxSyntaxError and UnsupportedPtxError for PTX that can't be run; RangeError for one that can't be launched.
 */
export async function runInline(request: InlineRequest): Promise<InlineOutcome> {
  const module = parsePtx(request.ptx, { isUserFile });
  if (module.variables.some(({ space }) => space === 'global'))
    throw new RangeError('PTX with variables in device memory needs a virtual device');
  const memory = new DeviceMemory();
  const buffers = new Map<string, DeviceBuffer>();
  for (const [name, contents] of Object.entries(request.buffers)) {
    const buffer = memory.allocate({ name, bytes: contents.length, alignmentBytes: ALIGNMENT_BYTES });
    memory.contents(buffer).set(contents);
    buffers.set(name, buffer);
  }
  const fusedMultiplyAdd = relaxedMaddIsFused();
  const launched: SampledLaunch[] = [];
  for (const launch of request.launches) {
    const { functionName } = launch;
    const image = compileKernel({ module, functionName, globals: new Map(), counting: true, fusedMultiplyAdd });
    const outcome = await runLaunch(request, launch, image, memory, buffers);
    if ('message' in outcome) return outcome;
    launched.push(outcome);
  }
  const sampled = simulateCache(launched, request.spec, request.cache ?? 'cold');
  return {
    ok: true,
    buffers: Object.fromEntries([...buffers].map(([name, buffer]) => [name, memory.contents(buffer).slice()])),
    counters: launched.map(({ counters }, i) => ({ ...counters, sampledCache: sampled[i] ?? counters.sampledCache })),
  };
}

async function runLaunch(
  { spec, instructionsPerCta }: InlineRequest,
  launch: InlineLaunch,
  image: KernelImage,
  memory: DeviceMemory,
  buffers: ReadonlyMap<string, DeviceBuffer>,
): Promise<SampledLaunch | (InlineOutcome & { ok: false })> {
  const { functionName, grid, block, dynamicSharedBytes = 0 } = launch;
  refuseLaunch(launch, image, spec, buffers);
  const named = (argument: PlannedArgument): DeviceBuffer =>
    buffers.get(argument.kind === 'buffer' ? argument.buffer : '')!;
  const parameters = packParameters(
    image.parameters,
    launch.arguments,
    (argument) => memory.block(named(argument)).offset + (argument.kind === 'buffer' ? argument.offsetBytes : 0),
  );
  const names = [...buffers.keys()];
  const ranges = memory.rangesOf(buffers.values());
  const rangesByName = Object.fromEntries(
    image.parameters.flatMap(({ name }, i): [string, number[]][] => {
      const argument = launch.arguments[i]!;
      return argument.kind === 'buffer' ? [[name, [names.indexOf(argument.buffer)]]] : [];
    }),
  );
  const runner = new CtaRunner(image, memory.memory, new WriteMap());
  const { instance } = await WebAssembly.instantiate(image.wasm, runner.imports);
  runner.attach(instance);
  runner.begin({
    grid,
    cluster: [1, 1, 1],
    hasClusters: false,
    block,
    dynamicSharedBytes,
    parameters,
    ranges,
    rangesByName,
    orderSeed: 0,
    instructionsPerCta: instructionsPerCta ?? INSTRUCTIONS_PER_CTA,
    deviceBytes: memory.end,
    smCount: spec.smCount.value,
    warpsPerSm: spec.maximumWarpsPerSm.value,
    privateContents: { kind: 'rubbish', seed: 0 },
    isSerial: true,
  });
  const ctaCount = product(grid);
  for (let cta = 0; cta < ctaCount; cta++) {
    try {
      runner.runCluster(cta);
    } catch (error) {
      if (!(error instanceof KernelFault)) throw error;
      const source = error.instruction?.source;
      return { ok: false, kind: error.kind, message: error.message, cta, source };
    }
  }
  const counts = runner.counts();
  const counters = launchCounters(image, { functionName, grid, block, dynamicSharedBytes }, [counts], ranges);
  return { counters, ranges, samples: [counts.samples] };
}

function refuseLaunch(
  { functionName, block, dynamicSharedBytes = 0, arguments: values }: InlineLaunch,
  image: KernelImage,
  spec: DeviceSpec,
  buffers: ReadonlyMap<string, DeviceBuffer>,
): void {
  const threads = product(block);
  const sharedBytes = image.staticSharedBytes + dynamicSharedBytes;
  const unknown = values.find((value) => value.kind === 'buffer' && !buffers.has(value.buffer));
  const problem =
    values.length !== image.parameters.length
      ? `takes ${image.parameters.length} arguments, not ${values.length}`
      : unknown
        ? 'names a buffer that is not there'
        : threads > spec.maximumThreadsPerCta.value
          ? `has ${threads} threads per CTA; ${spec.name} takes ${spec.maximumThreadsPerCta.value}`
          : sharedBytes > spec.sharedBytesPerCta.value
            ? `needs ${sharedBytes} B of shared memory; ${spec.name} has ${spec.sharedBytesPerCta.value} per CTA`
            : undefined;
  if (problem) throw new RangeError(`${functionName} ${problem}`);
}
