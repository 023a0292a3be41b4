import { LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE } from '../../core/gpu-sizes.ts';
import { coordinatesOf, type Dim3 } from '../../core/launch-plan.ts';
import { rememberedAt } from '../../core/once-for.ts';
import { numbersBelow, product } from '../../core/values.ts';
import type { PtxInstruction } from '../../ptx/ast.ts';
import { has } from '../../ptx/instruction-parts.ts';
import { synchronisationOf } from '../../ptx/instructions/properties.ts';
import { seededOrder } from '../../stats/random.ts';
import { AccessSampler, type AccessSamples } from '../cache-model/access-sampler.ts';
import { SECTOR_ATOMIC, SECTOR_READ, SECTOR_SAMPLED, SECTOR_WRITTEN } from '../codegen/memory/access-groups.ts';
import type { RunnableImage } from '../kernel-image.ts';
import {
  ALL_LANES,
  CONSTANTS,
  DECISION,
  LANES,
  LAUNCH,
  PARAMETERS,
  PC,
  RUN_STATUS,
  SHARED,
  WARP,
  WARPS,
  WINDOW,
} from '../layout.ts';
import type { PagedMemory, TouchedPages } from '../paging/paged-memory.ts';
import { CellsOfOneWarp } from '../race-detector/cells-of-one-warp.ts';
import type { AccessWatcher } from '../race-detector/quiet-watcher.ts';
import {
  type OlderRead,
  RaceDetector,
  type UninitialisedRead,
  type WatchShared,
} from '../race-detector/race-detector.ts';
import { ShadowMemory } from '../race-detector/shadow-memory.ts';
import type { FollowedWarp, TracedWarp, WarpTracer } from '../race-detector/warp-tracer.ts';
import type { WatchedPlace, WatchedWrites, WriteWatcher } from '../race-detector/write-watcher.ts';
import { type Arrival, arrivalsOf, type OperandReader, type WaitingLanes, wholeBarrierOf } from './barriers.ts';
import { BoundsChecker } from './bounds.ts';
import { type CtaPlace, ResidentCta } from './clusters/resident-cta.ts';
import type { CopyPattern } from './copy-patterns.ts';
import { CLUSTER_PHASE, type Sender } from './cta-state.ts';
import type { DirectStep } from './direct-site.ts';
import { directStep } from './direct-steps.ts';
import { atSource, KernelFault } from './fault.ts';
import { createLaneCopier, type LaneCopier } from './lane-copier.ts';
import { lackOf } from './mbarriers/suspended-lanes.ts';
import { type DeviceRange, PrivateMemory } from './memories.ts';
import { type AccessCounts, PatternCounter } from './pattern-counter.ts';
import { type ClusterPrint, PrintLog } from './printing/print-log.ts';
import { Leftovers, type PrivateContents, Rubbish } from './private-contents.ts';
import { ReadMap } from './read-map.ts';
import {
  addRequest,
  addSums,
  type MemoryRequest,
  noSiteRequests,
  type RequestKind,
  type SiteRequests,
} from './site-requests.ts';
import { hasStopped, Standstill } from './standstill.ts';
import { createTensorKernel, productName, type TensorKernel } from './tensor-kernel.ts';
import { type Spinning, spinningBlocks, stateOf } from './vain-rounds.ts';
import { tellWaits, type Wait, waitAtBarrier, waitInLoop } from './waits.ts';
import { laterOf, type Moment, START } from './warp-clocks.ts';
import { type OperationSurroundings, type Pages, type PendingCopies, WarpContext } from './warp-context.ts';
import { type WarpOperation, warpOperation } from './warp-operations.ts';
import type { WriteMap } from './write-map.ts';

/** Everything about one launch that its CTAs share. */
export interface LaunchRequest {
  grid: Dim3;
  /** CTAs of a cluster along each axis; they divide the grid. */
  cluster: Dim3;
  /** Launched as clusters, be they of one CTA each. */
  hasClusters: boolean;
  /** Offset in device memory of what the driver keeps for the grid's barrier, if all CTAs are resident at once. */
  gridBarrier?: number;
  /** How many CTAs may run beside each other if they wait for others; absent where none does. */
  mostResident?: number;
  block: Dim3;
  dynamicSharedBytes: number;
  parameters: Uint8Array;
  ranges: DeviceRange[];
  /** Indices of ranges by name of the parameter or variable that gives their address. */
  rangesByName: Record<string, number[]>;
  /** Orders warps within a CTA, and the turns of CTAs within a cluster; chooses the asynchronous copies that land at once. */
  orderSeed: number;
  instructionsPerCta: number;
  /** End of the used part of device memory. */
  deviceBytes: number;
  /** The device's multiprocessors: CTA i reads i modulo this count as its multiprocessor. */
  smCount: number;
  /** Share of the CTAs that runs, where it is not all: the cache's sample begins with more lines then. */
  share?: number;
  warpsPerSm: number;
  /** What shared and local memory hold when a CTA begins. */
  privateContents: PrivateContents;
  /** All CTAs run here, one after the other. */
  isSerial: boolean;
  /** Only note who stores here, instead of looking for races. */
  watch?: WatchedPlace;
  /** Look for races in JavaScript alone. What compiled code does for it must come out the same. */
  watchesSlowly?: boolean;
  /** Only note what this warp does. */
  trace?: FollowedWarp;
  /** Of code that was made for buffers in pages. */
  paged?: PagedMemory;
}

/** What only some launches have. Worker threads of a device bring it; a page in the browser, which asks for none of it, need not load it. */
export interface LaunchParts {
  readonly pages?: Pages | undefined;
  /** Who looks at accesses in place of the race detector, where the request names a warp or a place. */
  readonly tracer?: typeof WarpTracer;
  readonly writeWatcher?: typeof WriteWatcher;
}

/** Raw sums of the CTAs one worker ran. */
export interface WorkerCounts {
  converged: Float64Array;
  partial: Float64Array;
  divergences: Float64Array;
  /** By group, of those with requests. */
  accesses: ReadonlyMap<number, readonly AccessCounts[]>;
  /** Requests to memory that warp sites made, by site, of those that made any. */
  siteRequests: Map<number, SiteRequests>;
  criticalPath: number;
  /** Of these, executed by few lanes. */
  criticalPathNarrow: number;
  longestCta: number;
  instructions: number;
  ctas: number;
  sectorMap: Uint8Array;
  samples: AccessSamples;
}

/** Counts that JavaScript keeps; the others are read from memory at the end. */
type SummedCounts = Omit<WorkerCounts, 'accesses' | 'sectorMap' | 'samples' | 'converged' | 'partial' | 'divergences'>;

interface RunExports {
  run(warp: number): number;
  /** Of watched code. */
  watchShared?: WatchShared;
}

/**
 * Warp instructions of one slice. Affects only spin-waits, whose reads JavaScript executes one by one where races are looked for; in a
 * cooperative grid every CTA may spin before the last one runs. A warp that is followed gives way after each block.
 */
const SLICE = { usual: 1 << 18, watched: 1 << 14, cooperative: 1 << 14, followed: 1 } as const;

/** A CTA that does more than wait goes on for so many, beside others that wait: a turn moves the memory of two CTAs. */
const ROUNDS_OF_TURN = 64;

/** Bytes of CTAs that take turns to draw work. Where more would be kept, each runs to its end, and the first takes nearly all. */
const MOST_KEPT_BYTES = 2 ** 29;

/** Bits that a request sets in the sector map; an atomic reads and writes. */
const SECTOR_BITS: Record<RequestKind, number> = {
  load: SECTOR_READ,
  store: SECTOR_WRITTEN,
  atomic: SECTOR_READ | SECTOR_WRITTEN | SECTOR_ATOMIC,
};

/** Runs the CTAs of one kernel on one thread: warp scheduling, barriers, budgets, counters. */
export class CtaRunner {
  readonly image: RunnableImage;
  #memory = new PrivateMemory();
  #device: WebAssembly.Memory;
  #writes: WriteMap;
  #deviceView: DataView;
  #run: RunExports['run'] = () => {
    throw new Error('attach an instance first');
  };
  #operations: WarpOperation[];
  /** By site. */
  readonly #directSteps: readonly (DirectStep | undefined)[];
  #bounds!: BoundsChecker;
  #pages: Pages | undefined;
  /** States of all warps when a CTA begins. */
  #freshWarps!: Uint8Array;
  #patterns: PatternCounter | undefined;
  #sampler: AccessSampler | undefined;
  #watcher: AccessWatcher | undefined;
  readonly #shadow: ShadowMemory | undefined;
  readonly #cells: CellsOfOneWarp | undefined;
  #copier: LaneCopier | undefined;
  #tracer: WarpTracer | undefined;
  #writeWatcher: WriteWatcher | undefined;
  readonly #races: RaceDetector | undefined;
  #leftovers: Leftovers;
  #reads: ReadMap;
  readonly #printed = new PrintLog();
  #rubbish = new Rubbish(0);
  #rubbishSeed = 0;
  #request!: LaunchRequest;
  #warpCount = 0;
  /** Numbers of the warps of a CTA. */
  #allWarps: readonly number[] = [];
  /** The CTAs that run together: of a cluster, by rank, of a cooperative grid, or those that wait for others; and the one whose warps run. */
  #residents: ResidentCta[] = [];
  #cta!: ResidentCta;
  /** By block: what {@link spinningBlocks} says. */
  readonly #spinning: Uint8Array;
  /** What operations of each of them share. */
  #around: OperationSurroundings[] = [];
  readonly #meetsInCluster: boolean;
  #counts = emptyCounts();
  #localStart = 0;
  #sectorMap = 0;
  /** By sector of device memory: 1 where copies of this launch have marked all of it as read, and nobody samples it. */
  #readBefore = new Uint8Array(0);
  #currentWarp = 0;

  /**
   * Runs nothing before an instance of `image.wasm`, made with `imports`, is attached.
   * @param writes records stores to device memory; `begin` clears it.
   * @param reads records reads of device memory by counted launches.
   * @param leftovers memory that CTAs leave behind, for launches that find it.
   */
  constructor(
    image: RunnableImage,
    device: WebAssembly.Memory,
    writes: WriteMap,
    reads = new ReadMap(),
    leftovers = new Leftovers(),
  ) {
    this.image = image;
    this.#reads = reads;
    this.#leftovers = leftovers;
    this.#writes = writes;
    this.#device = device;
    this.#deviceView = new DataView(device.buffer);
    this.#operations = image.warpSites.map((site) => warpOperation(site.instruction));
    this.#directSteps = image.warpSites.map(({ instruction }, site) => {
      const contextOf = (warp: number): WarpContext => this.#context(instruction, warp, false, site);
      return directStep({ instruction, image, memory: this.#memory, contextOf });
    });
    this.#memory.reserve(WARPS);
    this.#spinning = spinningBlocks(image.spinLoops, image.blockCount);
    this.#meetsInCluster = [...image.barriers.values()].some(isClusterWait);
    this.#shadow = image.watching ? new ShadowMemory(image.groups) : undefined;
    this.#cells = image.watching ? new CellsOfOneWarp() : undefined;
    this.#races = this.#shadow && this.#cells && new RaceDetector(image, this.#memory, this.#shadow, this.#cells);
  }

  /** What `image.wasm` imports. */
  get imports(): WebAssembly.Imports {
    return {
      env: {
        private: this.#memory.memory,
        device: this.#device,
        writes: this.#writes.memory,
        reads: this.#reads.memory,
        boundsMiss: (group: number, chunk: number, warp: number) => this.#bounds.miss(group, chunk, warp),
        patternMiss: (group: number, warp: number, masked: number) => this.#patterns!.miss(group, warp, masked !== 0),
        warpOperation: (site: number, warp: number, masked: number) => this.#warpOperation(site, warp, masked !== 0),
        samplesFull: () => this.#sampler!.makeRoom(),
        ...productsOf(this.image, this.#memory.memory),
        ...(this.#shadow && { shadow: this.#shadow.memory, cells: this.#cells!.memory }),
        newCellPage: (cell: number) => this.#cells!.newPage(cell),
        tellCellsApart: (cell: number) => this.#cells!.tellApart(cell),
        watchGroup: (group: number, warp: number, masked: number, left: number) =>
          this.#watcher!.group(group, warp, masked !== 0, left),
        watchUniform: (group: number, address: number, warp: number, masked: number, phase: number) =>
          this.#watcher!.uniformGroup(group, address, warp, masked !== 0, phase),
      },
    };
  }

  /** Takes the compiled code: a page compiles asynchronously, a worker thread need not. */
  attach(instance: WebAssembly.Instance): void {
    const { run, watchShared } = instance.exports as unknown as RunExports;
    this.#run = run;
    this.#races?.attach(watchShared!);
  }

  /** Prepares memory and counters for a launch. */
  begin(request: LaunchRequest, { pages, tracer: Tracer, writeWatcher: Watcher }: LaunchParts = {}): void {
    const { image } = this;
    this.#request = request;
    this.#deviceView = new DataView(this.#device.buffer);
    this.#warpCount = Math.ceil(product(request.block) / LANES);
    this.#allWarps = numbersBelow(this.#warpCount);
    this.#localStart = WARPS + this.#warpCount * image.warpBytes;
    this.#sectorMap = this.#localStart + this.#warpCount * LANES * image.localBytesPerThread;
    const sectorBytes = image.counting ? sectorMapBytes(request) : 0;
    const sampleBuffer = (this.#sectorMap + sectorBytes + 15) & ~15;
    this.#memory.reserve(sampleBuffer + (image.counting ? AccessSampler.bufferBytes : 0) + 65536);
    const memory = this.#memory;
    const shared = image.dynamicSharedStart + request.dynamicSharedBytes;
    const totalShared = request.dynamicSharedBytes > 0 ? shared : image.staticSharedBytes;
    this.#writeLaunch(totalShared);
    memory.u8.set(request.parameters, PARAMETERS);
    for (const { offset, bytes } of image.constants) memory.u8.set(bytes, CONSTANTS + offset);
    image.weights.forEach((weight, index) => {
      memory.i32[(image.weightTable >> 2) + index] = weight;
    });
    memory.u8.fill(0, image.decisionTable, image.decisionTable + image.decisionCount * DECISION.bytes);
    if (image.tables) {
      const end = image.tables.divergences + image.blockCount * 8;
      memory.u8.fill(0, image.tables.converged, end);
      memory.u8.fill(0, this.#sectorMap, this.#sectorMap + sectorBytes);
    }
    this.#printed.begin();
    this.#writes.begin(request.deviceBytes);
    if (image.counting) {
      this.#reads.reserve(request.deviceBytes);
      this.#readBefore = new Uint8Array(sectorBytes);
    }
    this.#takeRubbish(request.privateContents);
    this.#bounds = new BoundsChecker(
      memory,
      image,
      { ranges: request.ranges, byName: request.rangesByName },
      { shared: totalShared, local: image.localBytesPerThread },
    );
    this.#pages = pages;
    this.#tracer = this.#races && request.trace && new Tracer!(image, memory, request.trace);
    this.#writeWatcher = this.#races && request.watch && new Watcher!(image, memory, request.watch);
    this.#watcher = this.#tracer ?? this.#writeWatcher ?? this.#races;
    const isCooperative = request.gridBarrier !== undefined;
    this.#totalShared = totalShared;
    this.#residents = [];
    this.#around = [];
    const together = product(isCooperative ? request.grid : request.cluster);
    for (let index = 0; index < together; index++) this.#addResident();
    this.#races?.begin({
      grid: request.grid,
      block: request.block,
      warps: this.#warpCount,
      sharedBytes: totalShared,
      acrossCtas: request.isSerial,
      hasClusters: request.hasClusters,
      areCluster: request.hasClusters && request.mostResident === undefined,
      isCooperative,
      cluster: this.#residents,
      mostTogether: Math.min(request.mostResident ?? together, this.#room()),
      leavesAll: this.#watcher !== this.#races || request.watchesSlowly === true,
      bounds: this.#bounds,
      device: new Uint8Array(this.#device.buffer),
    });
    this.#patterns = image.counting ? new PatternCounter(memory, image.groups) : undefined;
    this.#sampler = image.counting
      ? new AccessSampler(memory, this.#sectorMap, sampleBuffer, request.ranges, request.share ?? 1)
      : undefined;
    this.#counts = emptyCounts();
    this.#around = this.#residents.map((resident) => this.#surroundings(resident));
    this.#freshWarps = this.#warpsAtStart();
  }

  /** For CTAs that are watched together. */
  #room(): number {
    return this.#races?.roomFor({ warps: this.#warpCount, sharedBytes: this.#totalShared }) ?? Infinity;
  }

  #addResident(): ResidentCta {
    const { block, gridBarrier, mostResident } = this.#request;
    const index = this.#residents.length;
    const isAlone = gridBarrier !== undefined || mostResident !== undefined;
    const extents = {
      warps: this.#warpCount,
      threads: product(block),
      sharedBytes: this.#totalShared,
      warpsEnd: this.#sectorMap,
      isCounted: this.image.counting,
    };
    const rank = isAlone ? 0 : index;
    const resident = new ResidentCta({ index, rank }, this.#memory, extents, () => this.#cta.clocks);
    this.#residents.push(resident);
    return resident;
  }

  #totalShared = 0;
  /** CTAs draw work, and the one that comes to its draw first goes on, as on a GPU that runs them all at once. Only where it is counted who does how much. */
  #takesTurns = false;
  #isLate: () => boolean = () => false;

  #takeRubbish(contents: PrivateContents): void {
    if (contents.kind !== 'leftovers') this.#leftovers.forget();
    const seed = contents.kind === 'rubbish' ? contents.seed : 0;
    if (seed !== this.#rubbishSeed) this.#rubbish = new Rubbish(seed);
    this.#rubbishSeed = seed;
  }

  #writeLaunch(totalShared: number): void {
    const { i32 } = this.#memory;
    const { grid, cluster, block, dynamicSharedBytes } = this.#request;
    [0, 1, 2].forEach((axis) => {
      i32[(LAUNCH.blockX >> 2) + axis] = block[axis]!;
      i32[(LAUNCH.gridX >> 2) + axis] = grid[axis]!;
      i32[(LAUNCH.clusterX >> 2) + axis] = cluster[axis]!;
      i32[(LAUNCH.clustersX >> 2) + axis] = grid[axis]! / cluster[axis]!;
    });
    i32[LAUNCH.clusterCtas >> 2] = product(cluster);
    i32[LAUNCH.dynamicSharedBytes >> 2] = dynamicSharedBytes;
    i32[LAUNCH.totalSharedBytes >> 2] = totalShared;
    i32[LAUNCH.localBytes >> 2] = this.image.localBytesPerThread;
    i32[LAUNCH.sectorMap >> 2] = this.#sectorMap;
    i32[LAUNCH.smCount >> 2] = this.#request.smCount;
    i32[LAUNCH.warpsPerSm >> 2] = this.#request.warpsPerSm;
    const { gridBarrier, mostResident = 0 } = this.#request;
    const keptBytes = mostResident * (totalShared + this.#sectorMap - WARPS);
    this.#takesTurns = this.image.counting && this.image.drawsWork && mostResident > 0 && keptBytes <= MOST_KEPT_BYTES;
    i32[LAUNCH.drawsNext >> 2] = 0;
    this.#givesWay = gridBarrier !== undefined || this.#takesTurns;
    i32[LAUNCH.gridBarrierHigh >> 2] = gridBarrier === undefined ? 0 : WINDOW.global;
    i32[LAUNCH.gridBarrierLow >> 2] = gridBarrier ?? 0;
  }

  /** Whether warps that poll device memory, or sleep, give way, in whatever loop. */
  get #givesWay(): boolean {
    return this.#memory.i32[LAUNCH.givesWay >> 2] !== 0;
  }

  set #givesWay(value: boolean) {
    this.#memory.i32[LAUNCH.givesWay >> 2] = value ? 1 : 0;
  }

  /**
   * Runs the CTAs of one cluster, or of a cooperative grid, to their ends. Asks `isPointless` from time to time, and stops if they are.
   * @param index of the cluster: of the CTA, where a cluster is one; 0 for a cooperative grid.
   * @param isLate whether the time limit has passed: the fault `late` says who waits for what.
   * @param next gives the CTA to begin while others wait for it; undefined if there is none.
   * @throws KernelFault with `cta` and `warpIndex` set.
   */
  runCluster(
    index: number,
    isPointless: () => boolean = () => false,
    isLate: () => boolean = () => false,
    next: () => number | undefined = () => undefined,
  ): void {
    this.#isLate = isLate;
    try {
      if (this.#request.mostResident !== undefined) {
        this.#runBeside(index, isPointless, next);
        return;
      }
      for (const resident of this.#residents) {
        if (resident.index > 0) this.#cta.leave();
        this.#beginCta(resident, this.#placeOf(index, resident.index));
      }
      this.#schedule(index, isPointless);
    } catch (error) {
      if (error instanceof KernelFault) {
        error.warpIndex ??= this.#currentWarp;
        error.cta ??= this.#cta.place.linear;
      }
      throw error;
    }
  }

  /** @param among those that run together. */
  #placeOf(index: number, among: number): CtaPlace {
    const { grid, cluster: extents, gridBarrier } = this.#request;
    if (gridBarrier !== undefined) {
      const cta = coordinatesOf(among, grid);
      return { linear: among, cta, cluster: cta, within: [0, 0, 0], sm: this.#sm(among) };
    }
    const clusters: Dim3 = [grid[0] / extents[0], grid[1] / extents[1], grid[2] / extents[2]];
    const [cluster, within] = [coordinatesOf(index, clusters), coordinatesOf(among, extents)];
    const cta = cluster.map((place, axis) => place * extents[axis]! + within[axis]!) as unknown as Dim3;
    const linear = (cta[2] * grid[1] + cta[1]) * grid[0] + cta[0];
    return { linear, cta, cluster, within, sm: this.#sm(linear) };
  }

  #sm(linear: number): number {
    return linear % this.#request.smCount;
  }

  /** Shared and local memory of the CTA. */
  #privateMemory(): [shared: Uint8Array, local: Uint8Array] {
    const { u8 } = this.#memory;
    return [u8.subarray(SHARED, SHARED + this.#totalShared), u8.subarray(this.#localStart, this.#sectorMap)];
  }

  #fillPrivateMemory(linear: number): void {
    const { privateContents } = this.#request;
    const [shared, local] = this.#privateMemory();
    for (const memory of [shared, local]) {
      if (privateContents.kind === 'zeros') memory.fill(0);
      else this.#rubbish.fill(memory, 0, memory.length, linear);
    }
    if (privateContents.kind === 'leftovers') this.#leftovers.restore(this.#sm(linear), shared, local);
  }

  #beginCta(resident: ResidentCta, place: CtaPlace): void {
    const { linear } = place;
    this.#cta = resident;
    this.#fillPrivateMemory(linear);
    this.#memory.u8.set(this.#freshWarps, WARPS);
    const seed = this.#seedOf(linear);
    const { registersAtStart } = this.image;
    // The race detector knows that a copy may land at any time until the wait, and takes it for late.
    const landingSeed = this.#watcher ? 0 : seed;
    resident.begin(place, seededOrder(this.#warpCount, seed), { registersAtStart, landingSeed });
    this.#watcher?.beginCta(linear, resident.index);
  }

  /** Orders the warps of a CTA, or the turns of a cluster's CTAs; 0 for the natural order. */
  #seedOf(index: number): number {
    const { orderSeed } = this.#request;
    return orderSeed === 0 ? 0 : (orderSeed ^ Math.imul(index + 1, 0x9e3779b1)) | 1;
  }

  /** Lets a CTA of the cluster run. */
  #enter(resident: ResidentCta): void {
    if (resident === this.#cta) return;
    this.#cta.leave();
    this.#cta = resident;
    resident.enter();
    this.#watcher?.enterCta(resident.index);
  }

  /** The same for every CTA, and so written once: launches may have thousands with little work each. */
  #warpsAtStart(): Uint8Array {
    const { image } = this;
    const { block } = this.#request;
    const threads = product(block);
    const i32 = new Int32Array((this.#warpCount * image.warpBytes) / 4);
    for (let warp = 0; warp < this.#warpCount; warp++) {
      const at = warp * image.warpBytes;
      for (let lane = 0; lane < LANES; lane++) {
        const thread = warp * LANES + lane;
        i32[(at + WARP.programCounters) / 4 + lane] = thread < threads ? 0 : PC.exited;
        i32[(at + WARP.threadX) / 4 + lane] = thread % block[0];
        i32[(at + WARP.threadY) / 4 + lane] = Math.floor(thread / block[0]) % block[1];
        i32[(at + WARP.threadZ) / 4 + lane] = Math.floor(thread / (block[0] * block[1]));
      }
      i32[(at + WARP.warpIndex) >> 2] = warp;
      i32[(at + WARP.localBase) >> 2] = this.#localStart + warp * LANES * image.localBytesPerThread;
      i32[(at + WARP.converged) >> 2] = (warp + 1) * LANES <= threads ? 1 : 0;
    }
    return new Uint8Array(i32.buffer);
  }

  #schedule(index: number, isPointless: () => boolean): void {
    const turns = Array.from(
      seededOrder(this.#residents.length, this.#seedOf(index)),
      (among) => this.#residents[among]!,
    );
    const standstill = new Standstill();
    for (;;) {
      let hasMoved = false;
      for (const resident of turns) {
        if (resident.hasEnded) continue;
        if (isPointless()) return;
        this.#enter(resident);
        hasMoved = this.#advance(isPointless) || hasMoved;
      }
      if (this.#residents.every(({ hasEnded }) => hasEnded)) return;
      const completed = this.#completeClusterBarrier();
      if (!hasMoved && !completed) this.#endStuckCtas(this.#residents.filter(({ hasEnded }) => !hasEnded));
      if (this.#mayWait()) this.#endStandstill(standstill);
    }
  }

  /** Whether CTAs may wait for others that are in no cluster with them. */
  #mayWait(): boolean {
    return this.#request.gridBarrier !== undefined || this.#request.mostResident !== undefined;
  }

  /**
   * Runs a CTA to its end. While it waits for others, those after it run beside it, as many as the device holds: on a GPU they would have
   * begun with it.
   */
  #runBeside(first: number, isPointless: () => boolean, next: () => number | undefined): void {
    const [slot] = this.#residents as [ResidentCta];
    this.#beginCta(slot, this.#placeOf(first, 0));
    let standstill: Standstill | undefined;
    for (;;) {
      for (const resident of this.#whoGoesOn()) {
        if (resident.hasEnded) continue;
        if (isPointless()) return;
        this.#enter(resident);
        this.#advanceAlone(isPointless);
      }
      if (isPointless() || this.#residents.every(({ hasEnded }) => hasEnded)) return;
      if (this.#beginOthers(isPointless, next)) continue;
      standstill ??= new Standstill();
      this.#endStandstill(standstill);
    }
  }

  /** Where all CTAs are about to draw work, the one that comes to it first on a GPU, too. */
  #whoGoesOn(): readonly ResidentCta[] {
    if (!this.#takesTurns) return this.#residents;
    let first: ResidentCta | undefined;
    for (const resident of this.#residents) {
      if (resident.hasEnded) continue;
      if (resident.drawsAt === undefined || resident.vain.waits) return this.#residents;
      if (first?.drawsAt === undefined || resident.drawsAt < first.drawsAt) first = resident;
    }
    return first ? [first] : [];
  }

  /** Begins further CTAs while all that have begun wait, or where they draw work. Returns whether one has begun. */
  #beginOthers(isPointless: () => boolean, next: () => number | undefined): boolean {
    const most = this.#request.mostResident!;
    let hasBegun = false;
    const room = this.#room();
    while ((this.#takesTurns || this.#residents.every(hasStopped)) && !isPointless()) {
      const isFull = this.#residents.length === most && !this.#residents.some(({ hasEnded }) => hasEnded);
      const index = isFull ? undefined : next();
      if (index === undefined) return hasBegun;
      const free = this.#residents.find(({ hasEnded }) => hasEnded);
      if (!free && this.#residents.length >= room)
        throw new KernelFault('unsupported', `${room} CTAs wait for others, and no more can be watched together`);
      const slot = free ?? this.#addResident();
      this.#around[slot.index] ??= this.#surroundings(slot);
      this.#cta.leave();
      this.#beginCta(slot, this.#placeOf(index, 0));
      this.#advanceAlone(isPointless);
      hasBegun = true;
    }
    return hasBegun;
  }

  /** @throws KernelFault if threads of the CTA wait for each other, which no other CTA can end. */
  #advanceAlone(isPointless: () => boolean): void {
    if (!this.#advance(isPointless) && !isPointless()) this.#endStuckCtas([this.#cta]);
  }

  /** @throws KernelFault if all wait, and nothing can change that: they come back to a state in which they all were. */
  #endStandstill(standstill: Standstill): void {
    const live = this.#residents.filter(({ hasEnded }) => !hasEnded);
    if (!live.every(hasStopped)) standstill.forget();
    else if (
      standstill.isCertain(
        () => live.map((one) => one.memoryState).join(),
        () => stateOf(this.#deviceRanges()),
      )
    )
      throw new KernelFault('standstill', `no thread can go on: ${this.#waits()}${this.#whoHasNotBegun(live.length)};`);
  }

  #whoHasNotBegun(live: number): string {
    const { mostResident, grid } = this.#request;
    const left = product(grid) - this.#counts.ctas - live;
    if (mostResident === undefined || left === 0) return '';
    return `; ${left} of ${product(grid)} CTAs have not begun, and the device holds ${mostResident} at once`;
  }

  /** Device memory of the launch. */
  #deviceRanges(): Uint8Array[] {
    return this.#request.ranges.map(({ start, bytes }) => new Uint8Array(this.#device.buffer, start, bytes));
  }

  /** Runs the current CTA until it needs others that run with it, or has had its turn. Returns whether anything happened. */
  #advance(isPointless: () => boolean): boolean {
    const cta = this.#cta;
    cta.drawsAt = undefined;
    let rounds = 0;
    for (let hasMoved = false; ; hasMoved = true) {
      if (isPointless()) return hasMoved;
      const older = this.#watcher?.olderReads;
      const { hasRun, hasStopped } = this.#runWarps();
      if (cta.states.every((state) => state === 'exited')) {
        this.#finishCta();
        return true;
      }
      if (cta.drawsAt !== undefined) {
        this.#noteRound(older);
        return true;
      }
      const hasResumed = this.#resumePolls(older !== this.#watcher?.olderReads);
      if (hasResumed || this.#releaseWaits(hasStopped)) {
        cta.vain.forget();
        cta.olderRounds.forget();
        continue;
      }
      if (this.#meetsInCluster) cta.hasArrived = this.#haveAllArrived();
      if (this.#mayWait() || this.#watcher) this.#noteRound(older);
      const isStuck = !hasRun || cta.suspended.isStuck;
      if (isStuck || this.#givesTurn(++rounds)) return hasMoved || !isStuck;
    }
  }

  /** Lets go on who waits at a complete barrier. Only a warp that stops, or arrives without waiting, can complete one of the CTA. */
  #releaseWaits(hasStopped: boolean): boolean {
    const mayRelease = hasStopped || this.#cta.arrived.size > 0;
    return (mayRelease && (this.#releaseAll() || this.#releaseBarriers())) || this.#releaseClusterWaits();
  }

  /** Whether the CTA that runs lets others have their turn, after so many rounds of slices. */
  #givesTurn(rounds: number): boolean {
    if (this.#request.mostResident === undefined) return this.#residents.length > 1;
    if (this.#cta.vain.waits) return true;
    return rounds >= ROUNDS_OF_TURN && this.#residents.some((other) => other !== this.#cta && !other.hasEnded);
  }

  /** @param olderReads before the round: a read that gives an older value is not in vain, since the next one gives a later. */
  #noteRound(olderReads: number | undefined): void {
    const { vain } = this.#cta;
    const spinning = this.#spinningOfAll();
    if (olderReads !== this.#watcher?.olderReads) {
      vain.forget();
      this.#noteOlderRound(spinning);
      return;
    }
    this.#cta.olderRounds.forget();
    if (!this.#mayWait()) return;
    if (spinning === 'changes' && !this.#givesWay) this.#givesWay = true;
    else if (this.#request.mostResident === undefined) vain.add(spinning);
    else vain.add(spinning, () => this.#cta.memoryState);
  }

  /** All that happened in a round is that reads got older values. */
  #noteOlderRound(spinning: Spinning): void {
    const { olderRounds } = this.#cta;
    if (spinning !== 'reads') olderRounds.forget();
    else if (olderRounds.isSame(() => this.#cta.memoryState)) this.#watcher!.endPatience();
  }

  /** What all warps do that can run. */
  #spinningOfAll(): Spinning {
    let kind = 1;
    for (let warp = 0; warp < this.#warpCount; warp++) {
      if (this.#cta.states[warp] !== 'ready') continue;
      const own = this.#spinningOf(this.#addressOf(warp));
      if (own === 0) return undefined;
      kind = Math.max(kind, own);
    }
    return kind === 1 ? 'reads' : 'changes';
  }

  /** Of the warp at this address: {@link spinningBlocks} of the block that runs next, for which lanes elsewhere wait. */
  #spinningOf(at: number): number {
    if (this.#isConverged(at)) return this.#spinning[this.#nextBlock(at)]!;
    let lowest: number = PC.exited;
    for (let lane = 0; lane < LANES; lane++) lowest = Math.min(lowest, this.#counterOf(at, lane));
    return this.#spinning[lowest & PC.blockMask] ?? 0;
  }

  /** Gives every warp that can run a slice. Returns whether one could, and whether one has come to where it cannot. */
  #runWarps(): { hasRun: boolean; hasStopped: boolean } {
    const { instructionsPerCta } = this.#request;
    const cta = this.#cta;
    let hasRun = false;
    let hasStopped = false;
    for (let i = 0; i < this.#warpCount; i++) {
      const warp = cta.order[i]!;
      if (cta.states[warp] !== 'ready') continue;
      hasRun = true;
      const executed = this.#runSlice(warp);
      hasStopped ||= cta.states[warp] !== 'ready';
      if (cta.clocks) {
        const began = cta.clocks.endSlice(executed);
        this.#sampler!.endSlice(cta.place.linear, began, this.#slice());
        if (this.#takesTurns) this.#noteDraw(cta.clocks.momentOf(warp));
      }
      cta.instructions += executed;
      if (cta.instructions > instructionsPerCta)
        throw new KernelFault(
          'budget',
          `a CTA executed more than ${instructionsPerCta.toLocaleString('en')} warp instructions without finishing: ${this.#waits()};`,
        );
      if (this.#isLate()) throw new KernelFault('late', this.#waits());
    }
    return { hasRun, hasStopped };
  }

  /** Whether the warp whose slice ends would draw work next: the first of the CTA's that do decides when it is the CTA's turn. */
  #noteDraw({ time }: Moment): void {
    const { i32 } = this.#memory;
    if (i32[LAUNCH.drawsNext >> 2] === 0) return;
    i32[LAUNCH.drawsNext >> 2] = 0;
    this.#cta.drawsAt = Math.min(this.#cta.drawsAt ?? Infinity, time);
  }

  /** A method, since V8 calls its runtime for a private getter. */
  #slice(): number {
    if (this.#request.gridBarrier !== undefined) return SLICE.cooperative;
    return this.#watcher ? SLICE.watched : SLICE.usual;
  }

  /** Where a warp's state lies. */
  #addressOf(warp: number): number {
    return WARPS + warp * this.image.warpBytes;
  }

  #warpAt(address: number): number {
    return (address - WARPS) / this.image.warpBytes;
  }

  /** Of the warp at this address: whether its lanes go on together, from {@link #nextBlock}. */
  #isConverged(at: number): boolean {
    return this.#memory.i32[(at + WARP.converged) >> 2] !== 0;
  }

  #nextBlock(at: number): number {
    return this.#memory.i32[(at + WARP.nextBlock) >> 2]!;
  }

  /** The program counter of a lane whose warp has not converged. */
  #counterOf(at: number, lane: number): number {
    return this.#memory.i32[(at + WARP.programCounters) / 4 + lane]!;
  }

  /** Runs one warp for a slice; returns how many instructions it executed. */
  #runSlice(warp: number): number {
    const at = this.#addressOf(warp);
    const budget = (at + WARP.remainingBudget) >> 2;
    const isFollowed = this.#tracer?.follows(warp) ?? false;
    if (isFollowed) this.#tracer!.beginTurn(at);
    const slice = isFollowed ? SLICE.followed : this.#slice();
    this.#currentWarp = warp;
    this.#memory.i32[budget] = slice;
    this.#cta.clocks?.beginSlice(warp, slice);
    const status = this.#run(at);
    if (status === RUN_STATUS.budgetSpent && this.#suspend(warp, at)) return slice - this.#memory.i32[budget]!;
    if (status === RUN_STATUS.exited) this.#cta.states[warp] = 'exited';
    else if (status !== RUN_STATUS.budgetSpent) this.#cta.states[warp] = 'waiting';
    return slice - this.#memory.i32[budget]!;
  }

  /** Threads of the CTA that have not exited. */
  #liveThreads(): number {
    const threads = product(this.#request.block);
    let exited = 0;
    this.#cta.states.forEach((state, warp) => {
      const at = this.#addressOf(warp);
      const lanes = Math.min(LANES, threads - warp * LANES);
      if (state === 'exited') exited += lanes;
      else if (!this.#isConverged(at))
        for (let lane = 0; lane < lanes; lane++) if (this.#counterOf(at, lane) === PC.exited) exited++;
    });
    return threads - exited;
  }

  /** All lanes that wait at a barrier, by warp and by the block from which they continue. */
  #waitingLanes(): WaitingLanes[] {
    const waiting: WaitingLanes[] = [];
    this.#cta.states.forEach((state, warp) => {
      if (state !== 'waiting' && state !== 'polling') return;
      const at = this.#addressOf(warp);
      if (this.#isConverged(at)) {
        if (state === 'waiting') waiting.push({ warp, block: this.#nextBlock(at), lanes: ALL_LANES });
        return;
      }
      const counterOf = (lane: number): number => this.#counterOf(at, lane);
      const own = ALL_LANES.filter((lane) => counterOf(lane) >= PC.waiting && counterOf(lane) < PC.polling);
      for (const [block, lanes] of Map.groupBy(own, (lane) => counterOf(lane) & PC.blockMask))
        waiting.push({ warp, block, lanes });
    });
    return waiting;
  }

  #arrivals(): Arrival[] {
    const read: OperandReader = (operand, { warp, block, lanes }) =>
      this.#barrierContext(warp, block).word(operand, lanes[0]!);
    const waiting = this.#waitingLanes().filter(({ block }) => !isClusterWait(this.image.barriers.get(block)!));
    return arrivalsOf(waiting, this.image.barriers, this.#liveThreads(), this.#cta.arrived, read);
  }

  #barrierContext(warp: number, block: number): WarpContext {
    return this.#context(this.image.barriers.get(block)!, this.#addressOf(warp), false);
  }

  /**
   * Lets all warps go on that have not exited, if they wait at one `__syncthreads()` of the code, each as a whole: the usual case,
   * without lists.
   */
  #releaseAll(): boolean {
    const first = this.#cta.states.indexOf('waiting');
    if (this.#cta.arrived.size > 0 || first < 0) return false;
    const block = this.#nextBlock(this.#addressOf(first));
    for (let warp = 0; warp < this.#warpCount; warp++) {
      const at = this.#addressOf(warp);
      if (this.#cta.states[warp] === 'exited') continue;
      if (this.#cta.states[warp] !== 'waiting' || !this.#isConverged(at) || this.#nextBlock(at) !== block) return false;
    }
    const id = wholeBarrierOf(this.image.barriers.get(block)!);
    if (id === undefined) return false;
    this.#cta.states.forEach((state, warp) => {
      if (state === 'waiting') this.#cta.states[warp] = 'ready';
    });
    this.#cta.clocks?.meet(this.#allWarps);
    this.#watcher?.barrier(id, this.#allWarps);
    return true;
  }

  /** Lets the warps of every complete barrier go on. */
  #releaseBarriers(): boolean {
    const complete = this.#arrivals().filter((arrival) => arrival.threads >= arrival.expected);
    for (const arrival of complete) {
      const warps = this.#warpsAt(arrival);
      this.#cta.clocks?.meet(warps, this.#cta.arrived.get(arrival.id)?.at);
      this.#cta.arrived.delete(arrival.id);
      this.#reduceAtBarrier(arrival);
      this.#watcher?.barrier(arrival.id, warps);
      for (const group of arrival.groups) this.#resume(group);
    }
    return complete.length > 0;
  }

  /** Warps whose work so far comes before what follows the barrier: an exit counts as an arrival where all threads meet. */
  #warpsAt({ groups, isWhole }: Arrival): number[] {
    const waiting = new Set(groups.map(({ warp }) => warp));
    return this.#allWarps.filter((warp) => waiting.has(warp) || (isWhole && this.#cta.states[warp] === 'exited'));
  }

  /** Lets lanes go on for whom the cluster's barrier is complete. */
  #releaseClusterWaits(): boolean {
    if (!this.#meetsInCluster) return false;
    const { clusterPhases } = this.#cta;
    let hasReleased = false;
    for (const group of this.#waitingLanes()) {
      const instruction = this.image.barriers.get(group.block)!;
      if (!isClusterWait(instruction)) continue;
      const first = group.warp * LANES;
      const early = group.lanes.find((lane) => clusterPhases[first + lane] === CLUSTER_PHASE.outside);
      if (early !== undefined) {
        this.#currentWarp = group.warp;
        throw new KernelFault('barrier', "a wait at the cluster's barrier, at which the thread has not arrived:", {
          ...{ instruction, lane: early },
        });
      }
      if (group.lanes.some((lane) => clusterPhases[first + lane] !== CLUSTER_PHASE.complete)) continue;
      for (const lane of group.lanes) clusterPhases[first + lane] = CLUSTER_PHASE.outside;
      this.#cta.clocks?.meet([group.warp], this.#cta.metAt);
      this.#watcher?.clusterWait(group.warp);
      this.#resume(group);
      hasReleased = true;
    }
    return hasReleased;
  }

  /** Whether every thread of the CTA that has not exited has arrived at the cluster's barrier. */
  #haveAllArrived(): boolean {
    return this.#cta.clusterPhases.every(
      (phase, thread) => phase === CLUSTER_PHASE.arrived || this.#hasExited(Math.floor(thread / LANES), thread % LANES),
    );
  }

  #hasExited(warp: number, lane: number): boolean {
    if (this.#cta.states[warp] === 'exited') return true;
    const at = this.#addressOf(warp);
    return !this.#isConverged(at) && this.#counterOf(at, lane) === PC.exited;
  }

  /** Ends the phase of the cluster's barrier if all threads have arrived. Who waits goes on at the next turn of its CTA. */
  #completeClusterBarrier(): boolean {
    if (!this.#meetsInCluster || !this.#residents.every(({ hasArrived }) => hasArrived)) return false;
    const metAt = this.#residents.map(({ clocks }) => clocks?.latest ?? START).reduce(laterOf);
    for (const resident of this.#residents) {
      resident.metAt = metAt;
      const { clusterPhases } = resident;
      for (let thread = 0; thread < clusterPhases.length; thread++)
        if (clusterPhases[thread] === CLUSTER_PHASE.arrived) clusterPhases[thread] = CLUSTER_PHASE.complete;
      resident.hasArrived = resident.hasEnded;
    }
    this.#watcher?.clusterComplete();
    return true;
  }

  #resume({ warp, block, lanes }: WaitingLanes): void {
    const at = this.#addressOf(warp);
    const { i32 } = this.#memory;
    this.#cta.states[warp] = 'ready';
    if (this.#isConverged(at)) return;
    for (const lane of lanes) i32[(at + WARP.programCounters) / 4 + lane] = block;
  }

  /** barrier.red: every thread gets the count, or the and/or, of all threads' predicates. */
  #reduceAtBarrier({ groups }: Arrival): void {
    const reducing = groups.filter(({ block }) => has(this.image.barriers.get(block)!, 'red'));
    if (reducing.length === 0) return;
    let [holds, total] = [0, 0];
    for (const { warp, block, lanes } of reducing) {
      const context = this.#barrierContext(warp, block);
      total += lanes.length;
      holds += lanes.filter((lane) => context.predicate(context.operands.at(-1)!, lane)).length;
    }
    for (const { warp, block, lanes } of reducing) {
      const context = this.#barrierContext(warp, block);
      const [destination] = context.operands;
      const result = has(context.instruction, 'and') ? holds === total : holds > 0;
      for (const lane of lanes) {
        if (has(context.instruction, 'popc')) context.setWord(destination!, lane, holds);
        else context.setPredicate(destination!, lane, result);
      }
    }
  }

  /** Takes over what the warp's lanes wait for. Returns whether none of its lanes can run. */
  #suspend(warp: number, at: number): boolean {
    if (this.#cta.state.polls.size === 0 || !this.#cta.suspended.suspend(at)) return false;
    this.#cta.states[warp] = 'polling';
    return true;
  }

  /** @throws KernelFault for what no CTA may leave behind. */
  #finishCta(): void {
    const cta = this.#cta;
    const { linear, sm } = cta.place;
    cta.state.registers.finish();
    const left = cta.state.unfinishedCopy();
    if (left)
      throw leftBehind('a bulk copy may still read its shared memory: nothing waits for', {
        ...{ instruction: left.copy.instruction, cta: linear, thread: left.thread },
      });
    const sender = cta.state.senderOfUnlanded();
    if (sender) throw leftBehind('bytes are on their way to its shared memory: nothing there waits for', sender);
    this.#watcher?.endCta();
    cta.hasEnded = true;
    cta.hasArrived = true;
    const { time, narrow } = cta.clocks?.latest ?? START;
    this.#counts.criticalPath += time;
    this.#counts.criticalPathNarrow += narrow;
    this.#sampler?.endCta(linear, time);
    this.#counts.longestCta = Math.max(this.#counts.longestCta, cta.instructions);
    this.#counts.instructions += cta.instructions;
    this.#counts.ctas++;
    if (this.#request.privateContents.kind === 'leftovers') this.#leftovers.keep(sm, ...this.#privateMemory());
  }

  /** Lets lanes go on whose phase is complete: they find out when they try again. */
  #resumePolls(readsOlder: boolean): boolean {
    return this.#wake(this.#cta.suspended.resume(readsOlder));
  }

  #wake(warps: ReadonlySet<number>): boolean {
    for (const warp of warps) this.#cta.states[this.#warpAt(warp)] = 'ready';
    return warps.size > 0;
  }

  /** @throws KernelFault that says who waits for what. */
  #endStuckCtas(live: readonly ResidentCta[]): void {
    for (const resident of live) {
      this.#enter(resident);
      if (this.#wake(resident.suspended.endTimeLimits())) return;
    }
    for (const resident of live) {
      this.#enter(resident);
      const waits = resident.suspended.describe((warp, lane) => this.#threadName(warp, lane));
      if (waits) throw new KernelFault('barrier', waits.text, { instruction: waits.instruction });
      if (this.#arrivals().length > 0) this.#reportStuckBarrier();
    }
    this.#reportStuckCluster(live);
  }

  /** What all threads do that have not exited, in words: it may be nothing that ever ends. */
  #waits(): string {
    const current = this.#cta;
    const waits = this.#residents.flatMap((resident) => {
      if (resident.hasEnded) return [];
      this.#enter(resident);
      return [...this.#waitsOfRunning(), ...this.#waitsForPhases(), ...this.#waitsAtBarriers()];
    });
    this.#enter(current);
    const ended = this.#residents.filter(({ hasEnded }) => hasEnded);
    const [first] = ended;
    if (!first) return tellWaits(waits);
    const which =
      ended.length === 1 ? `CTA (${first.place.cta.join(', ')}) has ended` : `${ended.length} CTAs have ended`;
    return `${tellWaits(waits)}; ${which}`;
  }

  #waitOf(warp: number, lanes: readonly number[], what: string): Wait {
    const thread = this.#threadName(this.#addressOf(warp), lanes[0]!);
    return { what, cta: this.#cta.place.cta, thread, threads: lanes.length };
  }

  #waitsAtBarriers(): Wait[] {
    const ofCluster = this.#waitingLanes().filter(({ block }) => isClusterWait(this.image.barriers.get(block)!));
    return [
      ...this.#arrivals().flatMap((arrival) =>
        arrival.groups.map(({ warp, lanes, block }) =>
          this.#waitOf(warp, lanes, waitAtBarrier(arrival, this.image.barriers.get(block)!)),
        ),
      ),
      ...ofCluster.map(({ warp, lanes, block }) =>
        this.#waitOf(
          warp,
          lanes,
          `waits${atSource(this.image.barriers.get(block)!.source)} for the barrier of its cluster`,
        ),
      ),
    ];
  }

  #waitsForPhases(): Wait[] {
    return this.#cta.suspended.open.map((poll) =>
      this.#waitOf(
        this.#warpAt(poll.warp),
        poll.lanes.slice(0, 1),
        `waits${atSource(poll.instruction.source)} for ${lackOf(poll)}`,
      ),
    );
  }

  /** Of threads that poll memory, or compute. */
  #waitsOfRunning(): Wait[] {
    return this.#cta.states.flatMap((state, warp) => {
      if (state !== 'ready') return [];
      return [...this.#runningLanes(warp)].flatMap(([block, lanes]) => this.#waitsInBlock(warp, block, lanes));
    });
  }

  /** By block. Not those for whom a warp-synchronous instruction waits until others of their warp come. */
  #runningLanes(warp: number): ReadonlyMap<number, readonly number[]> {
    const at = this.#addressOf(warp);
    if (this.#isConverged(at)) return new Map([[this.#nextBlock(at), ALL_LANES]]);
    const counterOf = (lane: number): number => this.#counterOf(at, lane);
    const lowest = Math.min(...ALL_LANES.map(counterOf));
    const running = ALL_LANES.filter((lane) => counterOf(lane) < (lowest < PC.convergent ? PC.convergent : PC.waiting));
    return Map.groupBy(running, (lane) => counterOf(lane) & PC.blockMask);
  }

  #waitsInBlock(warp: number, block: number, lanes: readonly number[]): Wait[] {
    const loop = this.image.spinLoops.find(({ blocks }) => blocks.includes(block));
    if (!loop) return [this.#waitOf(warp, lanes, `runs${atSource(this.image.places[block]?.source)}`)];
    const context = this.#context(loop.instruction, this.#addressOf(warp), false);
    const memory = {
      ...{ ranges: this.#request.ranges, device: this.#deviceView, own: this.#memory.view },
      sharedBytes: this.#totalShared,
    };
    const byPlace = Map.groupBy(lanes, (lane) => waitInLoop(context, lane, memory));
    return [...byPlace].map(([what, own]) => this.#waitOf(warp, own, what));
  }

  /** @throws KernelFault for those who wait for threads of the cluster that cannot arrive. */
  #reportStuckCluster(live: readonly ResidentCta[]): never {
    const waiting = live.find((resident) => {
      this.#enter(resident);
      return this.#waitingLanes().length > 0;
    });
    const late = live.filter(({ hasArrived }) => !hasArrived).map(({ index }) => index);
    const [group] = waiting ? this.#waitingLanes() : [];
    throw new KernelFault(
      'barrier',
      `threads wait for the cluster's barrier, at which threads of CTA ${late.join(', ')} of the cluster do not arrive: ` +
        `${this.#waits()};`,
      group && { instruction: this.image.barriers.get(group.block)!, lane: group.lanes[0]! },
    );
  }

  /** `(0, 0, 0)`. */
  #threadName(warp: number, lane: number): string {
    const { i32 } = this.#memory;
    const at = (area: number): number => i32[(warp + area) / 4 + lane]!;
    return `(${at(WARP.threadX)}, ${at(WARP.threadY)}, ${at(WARP.threadZ)})`;
  }

  #reportStuckBarrier(): never {
    const arrivals = this.#arrivals();
    const text = arrivals
      .map(({ id, threads, expected, isWhole }) => {
        const reached = `barrier ${id} was reached by ${threads} of ${expected} threads`;
        return isWhole ? reached : `${reached}, a count that the code names`;
      })
      .join('; ');
    const block = arrivals[0]?.groups[0]?.block;
    const instruction = block === undefined ? undefined : this.image.barriers.get(block);
    throw new KernelFault('barrier', `${text}; the others have exited or wait elsewhere: ${this.#waits()};`, {
      instruction,
    });
  }

  #context(instruction: PtxInstruction, warp: number, masked: boolean, site?: number): WarpContext {
    return new WarpContext(this.#around[this.#cta.index]!, instruction, warp, masked, this.#copiesOf(warp), site);
  }

  #copiesOf(warp: number): PendingCopies {
    return this.#cta.copies[this.#warpAt(warp)]!;
  }

  #surroundings(resident: ResidentCta): OperationSurroundings {
    const { arrived, state } = resident;
    return {
      image: this.image,
      memory: this.#memory,
      device: this.#deviceView,
      bounds: this.#bounds,
      arrived,
      cta: state,
      // CTAs that wait for each other are no neighbours: each is a cluster of its own.
      cluster: this.#mayWait() ? [resident] : this.#residents,
      hasClusters: this.#request.hasClusters,
      copier: () => {
        this.#copier ??= createLaneCopier(this.#memory.memory, this.#device);
        return this.#copier;
      },
      watcher: this.#watcher,
      rubbish: this.#rubbish,
      printed: this.#printed,
      writes: this.#writes,
      reads: this.image.counting ? this.#reads : undefined,
      pages: this.#pages,
      onRequest: this.#requestListener(),
      onCopy: this.image.counting ? (site, pattern, words) => this.#countCopy(site, pattern, words) : undefined,
    };
  }

  #requestListener(): OperationSurroundings['onRequest'] {
    if (this.image.counting) return (site, _warp, request) => this.#countRequest(site, request);
    return this.#watcher && ((site, warp, request) => this.#watcher!.request(site, warp, request));
  }

  #requestsOf(site: number): SiteRequests {
    return rememberedAt(this.#counts.siteRequests, site, noSiteRequests);
  }

  #countRequest(site: number, request: MemoryRequest): void {
    addRequest(this.#requestsOf(site), request);
    if (request.space !== 'global') return;
    this.#markSectors(request, SECTOR_BITS[request.kind]);
  }

  /** The requests of a copy that lies so, and what it reads. */
  #countCopy(site: number, { global, shared, sectors, hasWholeSectors }: CopyPattern, words: Uint32Array): void {
    const requests = this.#requestsOf(site);
    addSums(requests['global-load'], global);
    addSums(requests['shared-store'], shared);
    const { u8 } = this.#memory;
    const first = Math.floor(words[LANES]! / SECTOR_BYTES);
    for (let i = 0; i < sectors.length; i++) {
      const sector = first + sectors[i]!;
      if (this.#readBefore[sector] === 1) continue;
      const marks = this.#markSector(u8, sector, SECTOR_READ);
      if (!hasWholeSectors) continue;
      this.#reads.mark(sector * SECTOR_BYTES, SECTOR_BYTES);
      // No sector joins the sample later.
      if ((marks & SECTOR_SAMPLED) === 0) this.#readBefore[sector] = 1;
    }
    if (hasWholeSectors) return;
    for (let lane = 0; lane < LANES; lane++) this.#reads.mark(words[LANES + lane]!, words[2 * LANES + lane]!);
  }

  #markSectors({ addresses, bytes }: MemoryRequest, bits: number): void {
    const { u8 } = this.#memory;
    // Repetitions of the last sector add nothing.
    let latest = -1;
    for (let i = 0; i < addresses.length; i++)
      for (let byte = 0; byte < bytes; byte += SECTOR_BYTES) {
        const sector = Math.floor((addresses[i]! + byte) / SECTOR_BYTES);
        if (sector === latest) continue;
        latest = sector;
        this.#markSector(u8, sector, bits);
      }
  }

  #markSector(u8: Uint8Array, sector: number, bits: number): number {
    const marks = u8[this.#sectorMap + sector]! | bits;
    u8[this.#sectorMap + sector] = marks;
    if (marks & SECTOR_SAMPLED) this.#sampler!.record(sector, bits & (SECTOR_READ | SECTOR_WRITTEN));
    return marks;
  }

  #warpOperation(site: number, warp: number, masked: boolean): void {
    if (!masked && this.#directSteps[site]?.(this.#around[this.#cta.index]!, warp, this.#copiesOf(warp))) return;
    const context = this.#context(this.image.warpSites[site]!.instruction, warp, masked, site);
    if (context.lanes.length > 0) this.#operations[site]!(context);
  }

  /** The decisions' records since `begin`; undefined if there are none. */
  decisions(): Uint8Array | undefined {
    const { decisionTable, decisionCount } = this.image;
    if (decisionCount === 0) return undefined;
    return this.#memory.u8.slice(decisionTable, decisionTable + decisionCount * DECISION.bytes);
  }

  /** What the cluster has printed that was last begun. */
  takePrinted(): ClusterPrint | undefined {
    return this.#printed.take();
  }

  get uninitialisedRead(): UninitialisedRead | undefined {
    return this.#watcher?.uninitialisedRead;
  }

  get olderRead(): OlderRead | undefined {
    return this.#watcher?.olderRead;
  }

  /** Who stored to the watched place, if there is one. */
  get watchedWrites(): WatchedWrites | undefined {
    return this.#writeWatcher?.writes;
  }

  /** What the followed warp did, if there is one. */
  get trace(): TracedWarp | undefined {
    return this.#tracer?.trace;
  }

  /** What was touched of each buffer, if buffers are in pages. */
  touchedPages(): TouchedPages[] | undefined {
    return this.#pages?.touched();
  }

  /** Whether several CTAs wrote to one place, without a check for races. */
  get crossed(): boolean {
    return this.#watcher?.crossed ?? false;
  }

  /** Sums since `begin`. Only for counting images. */
  counts(): WorkerCounts {
    const { tables, blockCount } = this.image;
    const read = (address: number, cells: number) =>
      Float64Array.from({ length: cells }, (_, i) => Number(this.#memory.view.getBigUint64(address + i * 8, true)));
    return {
      ...this.#counts,
      converged: read(tables!.converged, blockCount),
      partial: read(tables!.partial, blockCount * 33),
      divergences: read(tables!.divergences, blockCount),
      accesses: this.#patterns!.finish(),
      sectorMap: this.#memory.u8.slice(this.#sectorMap, this.#sectorMap + sectorMapBytes(this.#request)),
      samples: this.#sampler!.samples(),
    };
  }
}

/** What a CTA must not end with. */
function leftBehind(what: string, { instruction, cta, thread }: Sender): KernelFault {
  const fault = new KernelFault('race', `the CTA ends while ${what}`, { instruction, lane: thread % LANES });
  fault.cta = cta;
  fault.warpIndex = Math.floor(thread / LANES);
  return fault;
}

/** A byte a sector of whole lines, and some to spare. */
const sectorMapBytes = ({ deviceBytes }: LaunchRequest): number =>
  Math.ceil(deviceBytes / LINE_BYTES) * SECTORS_PER_LINE + 64;

const productsOf = ({ tensorForms }: RunnableImage, memory: WebAssembly.Memory): Record<string, TensorKernel> =>
  Object.fromEntries(tensorForms.map((form, i) => [productName(i), createTensorKernel(memory, form)]));

const isClusterWait = (instruction: PtxInstruction): boolean => synchronisationOf(instruction) === 'cluster';

const emptyCounts = (): SummedCounts => ({
  siteRequests: new Map(),
  criticalPath: 0,
  criticalPathNarrow: 0,
  longestCta: 0,
  instructions: 0,
  ctas: 0,
});
