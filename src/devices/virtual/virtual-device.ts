import { availableParallelism } from 'node:os';
import { type CompiledCode, symbolOf } from '../../core/compiled-code.ts';
import type { KernelResources, LaunchCounters } from '../../core/counters.ts';
import {
  type CodeConstants,
  closestToZero,
  eitherWay,
  type ForeseenWays,
  type LoggedPairs,
  type ObservedDecisions,
  type Ways,
} from '../../core/decisions.ts';
import type {
  Device,
  DeviceIdentity,
  OperandLog,
  PagedOutcome,
  PagedRunOptions,
  ResultLog,
  RunOptions,
  RunOutcome,
} from '../../core/device.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import type {
  AllocationRequest,
  DeviceBuffer,
  DeviceFailure,
  LoadedModule,
  PlacedWrite,
  PlacedWrites,
} from '../../core/device-values.ts';
import { joinPrinted } from '../../core/join-printed.ts';
import {
  type Dim3,
  type LaunchPlan,
  memsetBytesOf,
  type PlannedArgument,
  type PlannedCopy,
  type PlannedLaunch,
  type PlannedMemset,
  type PlannedPlace,
} from '../../core/launch-plan.ts';
import type { PagedBuffer } from '../../core/paged-buffer.ts';
import type { Printed } from '../../core/printed.ts';
import type { Timing } from '../../core/timing.ts';
import type { WarpTrace } from '../../core/warp-trace.ts';
import type { WidthLog } from '../../core/widths.ts';
import { predictTime } from '../../hardware/launch-model/predict-time.ts';
import type { PtxFunction, PtxInstruction, PtxModule } from '../../ptx/ast.ts';
import { PtxSyntaxError, UnsupportedPtxError } from '../../ptx/errors.ts';
import { inlineCalls } from '../../ptx/inline-calls.ts';
import { typeOf } from '../../ptx/instruction-parts.ts';
import { definitionsAndUses } from '../../ptx/instructions/properties.ts';
import { seededOrder } from '../../stats/random.ts';
import { analysisOf, functionResources } from '../../virtual-gpu/analyse-function.ts';
import { type SampledLaunch, simulateCache, simulateCacheOfPart } from '../../virtual-gpu/cache-model/simulate.ts';
import { constantsOf } from '../../virtual-gpu/decisions/code-constants.ts';
import { DecisionLog } from '../../virtual-gpu/decisions/decision-log.ts';
import type { InstrumentedModule } from '../../virtual-gpu/decisions/instrument.ts';
import { pairsIn, withOperandLog } from '../../virtual-gpu/decisions/operand-log.ts';
import { provenanceOf } from '../../virtual-gpu/decisions/provenance.ts';
import { operationOf, resultSites, resultsIn, withResultLog } from '../../virtual-gpu/decisions/result-log.ts';
import { magnitudesIn, widthSites, withWidthLog } from '../../virtual-gpu/decisions/width-log.ts';
import { relaxedMaddIsFused } from '../../virtual-gpu/fma-probe.ts';
import type { KernelImage } from '../../virtual-gpu/kernel-image.ts';
import { launchCounters } from '../../virtual-gpu/launch-counters.ts';
import { WINDOW } from '../../virtual-gpu/layout.ts';
import type { LaunchRequest, WorkerCounts } from '../../virtual-gpu/runtime/cta-runner.ts';
import { DeviceMemory } from '../../virtual-gpu/runtime/device-memory.ts';
import type { DeviceRange } from '../../virtual-gpu/runtime/memories.ts';
import type { PrivateContents } from '../../virtual-gpu/runtime/private-contents.ts';
import { ReadMap } from '../../virtual-gpu/runtime/read-map.ts';
import { failure } from '../failure.ts';
import { bufferNamed } from '../match-arguments.ts';
import { type MemoryUse, mayDependOnOrder, memoryUse } from './cta-communication.ts';
import { evenlySpread } from './cta-samples.ts';
import { describePrint, describeReport, placeOfStore } from './describe-fault.ts';
import { describeOutcome } from './describe-outcome.ts';
import { describeTrace } from './describe-trace.ts';
import { buildOnce, type KeptCode, parseOnce } from './kept-code.ts';
import { launchBuffers, packArguments } from './launch-buffers.ts';
import { allocateVariables } from './module-variables.ts';
import { mostResident } from './most-resident.ts';
import type { StoreReport, WriteReport } from './protocol.ts';
import { refuseConfiguration } from './refuse-configuration.ts';
import { runPaged } from './run-paged.ts';
import { type PoolOutcome, WorkerPool } from './worker-pool.ts';

/** About half a minute of one host core. */
const DEFAULT_INSTRUCTIONS_PER_CTA = 2_000_000_000;

/** One function of a module, compiled when first launched. */
interface VirtualKernel {
  use: MemoryUse;
  /** Launch shapes for which several CTAs stored to the same place. */
  overlapping: Set<string>;
  /** Once it was launched. */
  decisions?: DecisionLog;
  plain?: { image: KernelImage; handle: number };
  counting?: { image: KernelImage; handle: number };
  watching?: { image: KernelImage; handle: number };
}

interface VirtualModule extends LoadedModule {
  readonly kept: KeptCode;
  /** Offsets of .global variables. */
  readonly globals: Map<string, number>;
  readonly globalBuffers: DeviceBuffer[];
  readonly kernels: Map<string, VirtualKernel>;
}

/** A launch in its sequence. */
interface LaunchPlace {
  readonly buffers: ReadonlyMap<string, DeviceBuffer>;
  /** Buffers that no launch may write to. */
  readonly inputs: ReadonlySet<DeviceBuffer | undefined>;
  /** Its step. */
  readonly index: number;
}

/** A simulated GPU: executes PTX exactly on the host's cores, counts, and predicts times. */
export class VirtualDevice implements Device {
  readonly identity: DeviceIdentity;
  readonly spec: DeviceSpec;
  #memory = new DeviceMemory();
  #reads = new ReadMap();
  #pool: WorkerPool;
  #fused = relaxedMaddIsFused();

  constructor(spec: DeviceSpec, options: { threads?: number } = {}) {
    this.spec = spec;
    this.identity = { id: `virtual:${spec.id}`, kind: 'virtual', name: `${spec.name} (virtual)` };
    this.#pool = new WorkerPool(this.#memory.memory, this.#reads.memory, options.threads ?? availableParallelism());
  }

  prepare(): void {
    this.#pool.prepare();
  }

  async load(code: CompiledCode): Promise<{ ok: true; module: LoadedModule } | DeviceFailure> {
    if (code.kind !== 'ptx')
      return failure('unsupported', `a virtual GPU runs PTX from clang, not ${code.kind}; give CUDA C++ or PTX source`);
    try {
      return { ok: true, module: this.#allocateModule(code, parseOnce(code.text)) };
    } catch (error) {
      return compileFailure(error);
    }
  }

  #allocateModule(code: CompiledCode, kept: KeptCode): VirtualModule {
    const { ptx } = kept;
    let resources: Record<string, KernelResources> | undefined;
    const module: VirtualModule = {
      code,
      kept,
      globals: new Map(),
      globalBuffers: [],
      kernels: new Map(),
      get resources() {
        resources ??= resourcesOf(code, ptx);
        return resources;
      },
    };
    try {
      allocateVariables(this.#memory, ptx.variables, module);
    } catch (error) {
      for (const buffer of module.globalBuffers) this.#memory.free(buffer);
      throw error;
    }
    return module;
  }

  async unload(module: LoadedModule): Promise<void> {
    const virtual = module as VirtualModule;
    for (const kernel of virtual.kernels.values())
      for (const built of [kernel.plain, kernel.counting, kernel.watching]) if (built) this.#pool.unload(built.handle);
    for (const buffer of virtual.globalBuffers) this.#memory.free(buffer);
    virtual.kernels.clear();
    virtual.globalBuffers.length = 0;
  }

  async allocate(request: AllocationRequest): Promise<DeviceBuffer> {
    return this.#memory.allocate(request);
  }

  async free(buffer: DeviceBuffer): Promise<void> {
    this.#memory.free(buffer);
  }

  async write(buffer: DeviceBuffer, bytes: Uint8Array, offsetBytes = 0): Promise<void> {
    this.#memory.contents(buffer).set(bytes, offsetBytes);
  }

  async fill(buffer: DeviceBuffer, pattern: Uint8Array): Promise<void> {
    const contents = this.#memory.contents(buffer);
    if (pattern.length === 1) {
      contents.fill(pattern[0]!);
      return;
    }
    for (let i = 0; i < contents.length; i += pattern.length)
      contents.set(pattern.subarray(0, Math.min(pattern.length, contents.length - i)), i);
  }

  async read(buffer: DeviceBuffer): Promise<Uint8Array> {
    return this.#memory.contents(buffer).slice();
  }

  async damagedGuardBytes(buffer: DeviceBuffer): Promise<number> {
    return this.#memory.damagedGuardBytes(buffer);
  }

  async run(
    module: LoadedModule,
    plan: LaunchPlan,
    buffers: ReadonlyMap<string, DeviceBuffer>,
    options: RunOptions,
  ): Promise<RunOutcome> {
    const started = performance.now();
    const launches: SampledLaunch[] = [];
    if (options.count) {
      this.#reads.reserve(this.#memory.end);
      this.#reads.forget();
    }
    let uninitialisedRead: string | undefined;
    let olderRead: string | undefined;
    let printed: Printed | undefined;
    let writes: PlacedWrites = { count: 0 };
    let trace: WarpTrace | undefined;
    const inputs = new Set(plan.buffers.filter(({ role }) => role === 'in').map(({ name }) => buffers.get(name)));
    for (const [index, step] of plan.steps.entries()) {
      const remainingMs = options.timeoutMs - (performance.now() - started);
      if (!(remainingMs > 0)) return unfinished(options.timeoutMs, index, plan.steps.length);
      if (step.kind !== 'launch') {
        await this.#writeMemory(step, buffers);
        if (options.watch && reaches(step, options.watch)) writes = joined(writes, placedStep(step, index));
        continue;
      }
      const outcome = await this.#launch(
        module as VirtualModule,
        step,
        { buffers, inputs, index },
        {
          ...options,
          timeoutMs: remainingMs,
        },
      );
      printed = joinPrinted(printed, outcome.printed);
      // The time that earlier launches left did not suffice.
      if (!outcome.ok && outcome.status === 'timed-out' && index > 0)
        return unfinished(options.timeoutMs, index, plan.steps.length);
      if (!outcome.ok) return { ...outcome, printed };
      if (outcome.launch) launches.push(outcome.launch);
      uninitialisedRead ??= outcome.uninitialisedRead;
      olderRead ??= outcome.olderRead;
      if (outcome.writes) writes = joined(writes, placedWrites(outcome.writes, step, index));
      trace = outcome.trace;
      if (trace) break;
    }
    const counters = this.#withCacheTraffic(launches, options.cache ?? 'cold');
    const elapsedMs = performance.now() - started;
    return {
      ok: true,
      counters,
      elapsedMs,
      uninitialisedRead,
      olderRead,
      readBytes: options.count ? this.#readBytes(buffers) : undefined,
      writes: options.watch && writes,
      trace,
      printed,
    };
  }

  async runPaged(
    module: LoadedModule,
    step: PlannedLaunch,
    buffers: readonly PagedBuffer[],
    options: PagedRunOptions,
  ): Promise<PagedOutcome | undefined> {
    const { code, kept, globalBuffers } = module as VirtualModule;
    const symbol = symbolOf(code, step.functionName);
    const kernel = this.#kernel(module as VirtualModule, symbol);
    if ('ok' in kernel) return kernel.status === 'unsupported' ? undefined : kernel;
    const contentsOf = (variable: string): Uint8Array =>
      this.#memory.contents(globalBuffers.find(({ name }) => name === variable)!);
    return runPaged(
      { ptx: kept.ptx, symbol, use: kernel.use, contentsOf, spec: this.spec, fusedMultiplyAdd: this.#fused },
      step,
      buffers,
      options,
      {
        instructionsPerCta: options.instructionsPerCta ?? DEFAULT_INSTRUCTIONS_PER_CTA,
        privateContents: privateContents({ ...options, orderSeed: 0 }),
      },
    );
  }

  async #writeMemory(step: PlannedMemset | PlannedCopy, buffers: ReadonlyMap<string, DeviceBuffer>): Promise<void> {
    if (step.kind === 'memset') {
      await this.fill(bufferNamed(buffers, step.buffer), Uint8Array.of(step.byteValue));
      return;
    }
    const contents = ({ buffer, offsetBytes }: PlannedPlace): Uint8Array =>
      this.#memory.contents(bufferNamed(buffers, buffer)).subarray(offsetBytes, offsetBytes + step.bytes);
    contents(step.to).set(contents(step.from));
  }

  /** Distinct bytes of each buffer that were read. */
  #readBytes(buffers: ReadonlyMap<string, DeviceBuffer>): Map<string, number> {
    // Arguments made for a launch may have made memory longer.
    this.#reads.reserve(this.#memory.end);
    const count = (buffer: DeviceBuffer) => this.#reads.count(this.#memory.block(buffer).offset, buffer.bytes);
    return new Map([...buffers].map(([name, buffer]) => [name, count(buffer)]));
  }

  /** Adds the traffic from the simulated sets of L2. */
  #withCacheTraffic(launches: readonly SampledLaunch[], start: 'hot' | 'cold'): LaunchCounters[] {
    const counters = launches.map((launch) => launch.counters);
    if (counters.length === 0) return counters;
    const isWhole = counters.every(({ countedCtas, ctaCount }) => countedCtas === ctaCount);
    const traffic = (isWhole ? simulateCache : simulateCacheOfPart)(launches, this.spec, start);
    return counters.map((launch, i) => ({ ...launch, sampledCache: traffic[i] ?? launch.sampledCache }));
  }

  decisions(module: LoadedModule): ObservedDecisions {
    const logs = decisionLogs(module).map(({ log }) => log);
    return {
      decisions: logs.flatMap((log) => log.observed()),
      leftOut: logs.reduce((sum, { leftOut }) => sum + leftOut, 0),
    };
  }

  recentWays(module: LoadedModule): Ways[] {
    return decisionLogs(module).flatMap(({ log }) => log.takeRecent());
  }

  logOperands(module: LoadedModule, places: readonly number[], which: LoggedPairs): OperandLog | undefined {
    const { code, kept } = module as VirtualModule;
    const wanted = new Set(places);
    const sites: { readonly place: number; readonly comparison: PtxInstruction }[] = [];
    const functions: PtxFunction[] = [];
    for (const { symbol, start } of decisionLogs(module)) {
      const { fn, decisions } = analysisOf(kept.ptx, symbol);
      const own = [...decisions.indexOf]
        .map(([comparison, index]) => ({ comparison, place: start + index }))
        .filter(({ place }) => wanted.has(place) && decisions.sites[place - start]!.kind !== 'combination');
      if (own.length > 0) functions.push(fn);
      sites.push(...own);
    }
    if (sites.length === 0) return undefined;
    const comparisons = sites.map(({ comparison }) => comparison);
    const { copy, contents } = this.#loggingCopy(code, withOperandLog(kept.ptx, functions, comparisons, which));
    return {
      module: copy,
      take: () => {
        const pairs = pairsIn(contents(), sites.length);
        contents().fill(0);
        return sites.map(({ place, comparison }, i) => ({ place, type: typeOf(comparison), pairs: pairs[i]! }));
      },
    };
  }

  logResults(module: LoadedModule, among?: ReadonlySet<number>): ResultLog | undefined {
    const { code, kept } = module as VirtualModule;
    const all = loggedFunctions(module).flatMap((fn) =>
      resultSites(fn, provenanceOf(fn, 'device memory').values).map((site) => ({ ...site, fn })),
    );
    const chosen = all.flatMap((site, number) => ((among?.has(number) ?? true) ? [{ ...site, number }] : []));
    if (chosen.length === 0) return undefined;
    const logging = new Set(chosen.map(({ fn }) => fn));
    const { copy, contents } = this.#loggingCopy(code, withResultLog(kept.ptx, [...logging], chosen));
    const numberOf = new Map(all.map(({ fn, register }, number) => [`${fn.name} ${register}`, number]));
    return {
      module: copy,
      observed: () => {
        const results = resultsIn(contents(), chosen.length);
        return chosen.map(({ number, fn, instruction }, i) => ({
          site: number,
          result: results[i]!,
          place: instruction.place!.own,
          operation: operationOf(instruction),
          of: definitionsAndUses(instruction).uses.flatMap((used) => numberOf.get(`${fn.name} ${used}`) ?? []),
        }));
      },
    };
  }

  logWidths(module: LoadedModule, among?: ReadonlySet<number>): WidthLog | undefined {
    const { code, kept } = module as VirtualModule;
    const found = widthSites(loggedFunctions(module));
    if (found.sites.length === 0) return undefined;
    const { copy, contents } = this.#loggingCopy(code, withWidthLog(kept.ptx, found, among));
    return {
      module: copy,
      sites: found.sites,
      take: () => {
        const magnitudes = magnitudesIn(contents(), found.sites.length);
        contents().fill(0);
        return magnitudes;
      },
    };
  }

  /** A copy of a module that keeps something in a variable of its own, and what that holds. */
  #loggingCopy(
    code: CompiledCode,
    { ptx, variable }: InstrumentedModule,
  ): { copy: VirtualModule; contents: () => Uint8Array } {
    const copy = this.#allocateModule(code, { ptx, kernels: new Map() });
    const buffer = copy.globalBuffers.find(({ name }) => name === variable)!;
    return { copy, contents: () => this.#memory.contents(buffer) };
  }

  constants(module: LoadedModule): CodeConstants {
    return constantsOf((module as VirtualModule).kept.ptx);
  }

  foresee(module: LoadedModule, plan: LaunchPlan, places: readonly number[]): ReadonlyMap<number, ForeseenWays> {
    const foreseen = new Map<number, ForeseenWays>();
    for (const { symbol, log, start } of decisionLogs(module)) {
      const own = places.filter((place) => place >= start && place < start + log.count);
      for (const step of own.length > 0 ? plan.steps : []) {
        if (step.kind !== 'launch' || symbolOf(module.code, step.functionName) !== symbol) continue;
        const ways = log.foresee(
          step,
          own.map((place) => place - start),
        );
        for (const [site, way] of ways) foreseen.set(start + site, union(foreseen.get(start + site), way));
      }
    }
    return foreseen;
  }

  predict(
    counters: readonly LaunchCounters[],
    plan: LaunchPlan,
    bounds: { vetoNs: number; attainableNs: number },
  ): Timing {
    return predictTime(counters, this.spec, bounds, { memsetBytes: memsetBytesOf(plan) });
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #launch(
    module: VirtualModule,
    step: PlannedLaunch,
    { buffers, inputs, index }: LaunchPlace,
    options: RunOptions,
  ): Promise<
    | {
        ok: true;
        launch: SampledLaunch | undefined;
        uninitialisedRead: string | undefined;
        olderRead: string | undefined;
        writes: WriteReport | undefined;
        trace: WarpTrace | undefined;
        printed: Printed | undefined;
      }
    | DeviceFailure
  > {
    const symbol = symbolOf(module.code, step.functionName);
    const kernel = this.#kernel(module, symbol);
    if ('ok' in kernel) return kernel;
    const traced = options.trace?.step === index ? options.trace : undefined;
    const variant =
      options.watch || traced ? 'watching' : options.count ? 'counting' : options.findRaces ? 'watching' : 'plain';
    const built = this.#build(module, kernel, symbol, variant);
    if ('ok' in built) return built;
    const { image, handle } = built;
    const resources = (): KernelResources => functionResources(module.kept.ptx, symbol);
    const refusal = refuseConfiguration(step, { image, resources }, this.spec);
    if (refusal) return refusal;

    const gridBarrier = step.cooperative ? this.#newGridBarrier() : undefined;
    const pointerArrays: DeviceBuffer[] = [];
    try {
      const addressOf = (argument: PlannedArgument) => this.#argumentAddress(argument, buffers, pointerArrays);
      const packed = packArguments(step.functionName, image.parameters, step.arguments, addressOf);
      if (!packed.ok) return packed;
      const memory = launchBuffers(image.parameters, step.arguments, buffers, pointerArrays, module.globalBuffers);
      const touched = [...memory.buffers, ...(gridBarrier ? [gridBarrier] : [])];
      const ranges = this.#memory
        .rangesOf(touched)
        .map((range, index) => ({ ...range, isReadOnly: inputs.has(touched[index]!) }));
      const asked = step.cluster ?? image.requiredCluster;
      const cluster = asked ?? [1, 1, 1];
      const outcome = await this.#runCtas(
        kernel,
        handle,
        {
          grid: step.grid,
          cluster,
          hasClusters: asked !== undefined,
          gridBarrier: gridBarrier && this.#memory.block(gridBarrier).offset,
          mostResident: traced
            ? undefined
            : mostResident(step, { image, resources }, analysisOf(module.kept.ptx, symbol).polls, this.spec),
          block: step.block,
          dynamicSharedBytes: step.dynamicSharedBytes,
          parameters: packed.bytes,
          ranges,
          rangesByName: memory.byName,
          orderSeed: options.orderSeed,
          instructionsPerCta: options.instructionsPerCta ?? DEFAULT_INSTRUCTIONS_PER_CTA,
          deviceBytes: this.#memory.end,
          smCount: this.spec.smCount.value,
          warpsPerSm: this.spec.maximumWarpsPerSm.value,
          privateContents: privateContents(options),
          watch: options.watch && this.#placeOf(options.watch, buffers),
          trace: traced,
        },
        options,
      );
      if (outcome.kind !== 'finished')
        return describeOutcome(step, outcome, { index, image, ranges, cluster, timeoutMs: options.timeoutMs });
      kernel.decisions ??= new DecisionLog(analysisOf(module.kept.ptx, symbol));
      kernel.decisions.add(step, outcome.decisions);
      return {
        ok: true,
        launch: variant === 'counting' ? sampledLaunch(image, step, ranges, outcome.counts) : undefined,
        uninitialisedRead: outcome.uninitialisedRead && describeReport(step, outcome.uninitialisedRead),
        olderRead: outcome.olderRead && describeReport(step, outcome.olderRead),
        writes: outcome.watchedWrites,
        trace: outcome.trace && describeTrace(outcome.trace, image, { buffers: touched, ranges }),
        printed: outcome.printed && describePrint(step, index, outcome.printed),
      };
    } finally {
      for (const buffer of pointerArrays) this.#memory.free(buffer);
      if (gridBarrier) this.#memory.free(gridBarrier);
    }
  }

  /** What the driver keeps for the barrier of a cooperative grid: a size that nothing reads, and the barrier's word. */
  #newGridBarrier(): DeviceBuffer {
    const barrier = this.#memory.allocate({ name: 'barrier of the grid', bytes: 8, alignmentBytes: 8 });
    this.#memory.contents(barrier).fill(0);
    return barrier;
  }

  #placeOf(
    { buffer, offsetBytes, bytes }: NonNullable<RunOptions['watch']>,
    buffers: ReadonlyMap<string, DeviceBuffer>,
  ) {
    return { start: this.#memory.block(bufferNamed(buffers, buffer)).offset + offsetBytes, bytes };
  }

  #kernel(module: VirtualModule, symbol: string): VirtualKernel | DeviceFailure {
    const known = module.kernels.get(symbol);
    if (known) return known;
    const { ptx } = module.kept;
    const entries = ptx.functions.filter((f) => f.kind === 'entry');
    if (!entries.some((f) => f.name === symbol))
      return failure(
        'invalid',
        `the compiled code has no __global__ function ${symbol}; it has ${entries.map((f) => f.name).join(', ') || 'none'}`,
      );
    try {
      const fn = inlineCalls(ptx, symbol);
      const use = memoryUse(fn, new Set(module.globals.keys()));
      const kernel: VirtualKernel = { use, overlapping: new Set() };
      module.kernels.set(symbol, kernel);
      return kernel;
    } catch (error) {
      return compileFailure(error);
    }
  }

  #build(
    module: VirtualModule,
    kernel: VirtualKernel,
    symbol: string,
    variant: 'plain' | 'counting' | 'watching',
  ): { image: KernelImage; handle: number } | DeviceFailure {
    const known = kernel[variant];
    if (known) return known;
    try {
      const code = buildOnce(module.kept, {
        functionName: symbol,
        globals: module.globals,
        counting: variant === 'counting',
        watching: variant === 'watching',
        fusedMultiplyAdd: this.#fused,
      });
      const built = { image: code.image, handle: this.#pool.load(code) };
      kernel[variant] = built;
      return built;
    } catch (error) {
      return compileFailure(error);
    }
  }

  #argumentAddress(
    argument: PlannedArgument,
    buffers: ReadonlyMap<string, DeviceBuffer>,
    pointerArrays: DeviceBuffer[],
  ): number {
    if (argument.kind === 'buffer')
      return this.#memory.block(bufferNamed(buffers, argument.buffer)).offset + argument.offsetBytes;
    if (argument.kind === 'tensor-map') return this.#memory.block(bufferNamed(buffers, argument.buffer)).offset;
    if (argument.kind !== 'pointers') throw new Error(`${argument.kind} arguments have no address`);
    const array = this.#memory.allocate({
      name: 'pointer array',
      bytes: argument.targets.length * 8,
      alignmentBytes: 16,
    });
    pointerArrays.push(array);
    const view = new DataView(this.#memory.memory.buffer);
    argument.targets.forEach(({ buffer, offsetBytes }, i) => {
      const target = this.#memory.block(bufferNamed(buffers, buffer)).offset + offsetBytes;
      view.setBigUint64(array.offset + i * 8, (BigInt(WINDOW.global) << 32n) | BigInt(target), true);
    });
    return array.offset;
  }

  /**
   * Runs a launch's CTAs with the same result as one after the other in the seeded order: on all threads if they can't
   * influence each other, otherwise on one. Only afterwards it is known whether several CTAs stored to one place. Then they
   * run again, on one thread. They read nothing that they write, so nothing has to be restored.
   */
  async #runCtas(
    kernel: VirtualKernel,
    handle: number,
    launch: Omit<LaunchRequest, 'isSerial'>,
    options: RunOptions,
  ): Promise<PoolOutcome> {
    const startMs = performance.now();
    const buffersOf = (name: string) => launch.rangesByName[name] ?? [];
    const isWatched = options.watch !== undefined || launch.trace !== undefined;
    const inOrder = isWatched || mayDependOnOrder(kernel.use, buffersOf) || options.privateMemory === 'leftovers';
    const order = this.#clusterOrder(launch, options, inOrder);
    const shape = `${launch.grid} ${launch.cluster} ${launch.block}`;
    const serial = inOrder || order.length === 1 || kernel.overlapping.has(shape);
    const isPart = options.sampleCtas !== undefined && launch.gridBarrier === undefined;
    const part = {
      ...launch,
      // CTAs that cannot influence each other do not wait for each other.
      mostResident: serial ? launch.mostResident : undefined,
      share: isPart ? order.length / clusterCount(launch) : 1,
    };
    const outcome = await this.#pool.run(handle, part, order, { serial, timeoutMs: options.timeoutMs });
    if (outcome.kind !== 'finished' || !outcome.overlapping) return outcome;
    kernel.overlapping.add(shape);
    const timeoutMs = Math.max(1, options.timeoutMs - (performance.now() - startMs));
    return this.#pool.run(handle, part, order, { serial: true, timeoutMs });
  }

  /** All clusters (most are one CTA; a cooperative grid counts as one) in the seeded order, or an evenly spread sample of them if that is allowed. */
  #clusterOrder(
    { grid, cluster, gridBarrier, trace }: Pick<LaunchRequest, 'grid' | 'cluster' | 'gridBarrier' | 'trace'>,
    options: RunOptions,
    serial: boolean,
  ): Int32Array {
    if (gridBarrier !== undefined) return Int32Array.of(0);
    if (trace) return Int32Array.of(clusterOf(trace.cta, grid, cluster));
    const ctas = cluster[0] * cluster[1] * cluster[2];
    const count = clusterCount({ grid, cluster });
    const wanted = options.sampleCtas === undefined ? count : Math.ceil(options.sampleCtas / ctas);
    if (wanted >= count || serial) return seededOrder(count, options.orderSeed);
    return evenlySpread(count, wanted);
  }
}

const clusterCount = ({ grid, cluster }: Pick<LaunchRequest, 'grid' | 'cluster'>): number =>
  (grid[0] * grid[1] * grid[2]) / (cluster[0] * cluster[1] * cluster[2]);

/** Index of the cluster that a CTA belongs to. */
function clusterOf(cta: number, [x, y, z]: Dim3, cluster: Dim3): number {
  const [atX, atY, atZ] = [cta % x, Math.floor(cta / x) % y, Math.floor(cta / (x * y)) % z].map((at, axis) =>
    Math.floor(at / cluster[axis]!),
  ) as [number, number, number];
  return (atZ * (y / cluster[1]) + atY) * (x / cluster[0]) + atX;
}

/** Whether a step other than a launch writes to watched bytes. */
function reaches(step: PlannedMemset | PlannedCopy, watched: NonNullable<RunOptions['watch']>): boolean {
  if (step.kind === 'memset') return step.buffer === watched.buffer;
  const { buffer, offsetBytes } = step.to;
  return (
    buffer === watched.buffer &&
    offsetBytes < watched.offsetBytes + watched.bytes &&
    watched.offsetBytes < offsetBytes + step.bytes
  );
}

const placedStep = ({ kind }: PlannedMemset | PlannedCopy, step: number): PlacedWrites => ({
  count: 1,
  last: { step, isCopy: kind === 'copy' ? true : undefined },
});

/** What a launch wrote, after what was written before it. */
function joined(before: PlacedWrites, { count, last, earlier }: PlacedWrites): PlacedWrites {
  if (count === 0) return before;
  return { count: before.count + count, last, earlier: earlier ?? before.last };
}

function placedWrites({ count, last, earlier }: WriteReport, step: PlannedLaunch, index: number): PlacedWrites {
  const placed = (store: StoreReport | undefined): PlacedWrite | undefined =>
    store && { step: index, ...placeOfStore(step, store), source: store.source, instruction: store.instruction };
  return { count, last: placed(last), earlier: placed(earlier) };
}

/** The logs of a module's kernels; `start` is the place of a log's first decision among all of the module. */
function decisionLogs(module: LoadedModule): { symbol: string; log: DecisionLog; start: number }[] {
  let next = 0;
  return [...(module as VirtualModule).kernels].flatMap(([symbol, { decisions: log }]) => {
    const start = next;
    next += log?.count ?? 0;
    return log ? [{ symbol, log, start }] : [];
  });
}

const loggedFunctions = (module: LoadedModule): PtxFunction[] =>
  decisionLogs(module).map(({ symbol }) => analysisOf((module as VirtualModule).kept.ptx, symbol).fn);

const union = (a: ForeseenWays | undefined, b: ForeseenWays): ForeseenWays => ({
  ...eitherWay(a, b),
  distance: a?.distance === undefined ? b.distance : Math.min(a.distance, b.distance ?? a.distance),
  gap: a?.gap === undefined ? b.gap : closestToZero(a.gap, b.gap ?? a.gap),
  margin: a?.margin && b.margin ? closerMargin(a.margin, b.margin) : (a?.margin ?? b.margin),
});

/** The margins of which one is made. */
const joinedMargins = new WeakMap<() => number, readonly [() => number, () => number]>();

/** Of a plan with thousands of launches, thousands of margins are joined: no function may call the next. */
function closerMargin(one: () => number, other: () => number): () => number {
  const margin = (): number => {
    let closest: number | undefined;
    const open = [margin];
    for (let next = open.pop(); next; next = open.pop()) {
      const pair = joinedMargins.get(next);
      if (pair) open.push(...pair);
      else closest = closest === undefined ? next() : closestToZero(closest, next());
    }
    return closest!;
  };
  joinedMargins.set(margin, [one, other]);
  return margin;
}

function privateContents({
  privateMemory,
  orderSeed,
}: Pick<RunOptions, 'privateMemory' | 'orderSeed'>): PrivateContents {
  if (privateMemory === 'zeros' || privateMemory === 'leftovers') return { kind: privateMemory };
  return { kind: 'rubbish', seed: privateMemory ?? orderSeed };
}

const sampledLaunch = (
  image: KernelImage,
  step: PlannedLaunch,
  ranges: readonly DeviceRange[],
  counts: readonly WorkerCounts[],
): SampledLaunch => ({
  counters: launchCounters(image, step, counts, ranges),
  ranges,
  samples: counts.map(({ samples }) => samples),
});

/** Resources of each launchable function by its name in kernel.json, without functions that can't run. */
function resourcesOf(code: CompiledCode, ptx: PtxModule): Record<string, KernelResources> {
  const names = new Map(Object.entries(code.functionSymbols).map(([name, symbol]) => [symbol, name]));
  const entries = ptx.functions.filter((fn) => fn.kind === 'entry' && fn.defined);
  return Object.fromEntries(entries.map((fn) => [names.get(fn.name) ?? fn.name, functionResources(ptx, fn.name)]));
}

/**
 * Turns a compilation error into a value, so that one kernel never ends a run. An unknown instruction is a limit of the
 * virtual GPU, not a fault of the kernel; hand-written PTX may also be invalid.
 */
function compileFailure(error: unknown): DeviceFailure {
  if (error instanceof UnsupportedPtxError || error instanceof PtxSyntaxError)
    return failure('unsupported', error.message);
  const reason = error instanceof Error ? error.message : String(error);
  return failure(
    'unsupported',
    `the virtual GPU cannot compile this PTX (${reason}); if ptxas takes it, please report it`,
  );
}

/** The limit is that of the whole launch sequence. */
const unfinished = (limitMs: number, index: number, count: number): DeviceFailure =>
  failure(
    'timed-out',
    `the launch sequence did not finish within ${Math.round(limitMs)} ms: it was at step ${index + 1} of ${count}`,
  );
