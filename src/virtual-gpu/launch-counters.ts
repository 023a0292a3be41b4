import type {
  CounterTotals,
  LaunchCounters,
  LineCounters,
  Polls,
  SharedLoadMerging,
  WarpTime,
} from '../core/counters.ts';
import { lineCountersAt } from '../core/empty-line-counters.ts';
import { emptyTotals } from '../core/empty-totals.ts';
import { SECTOR_BYTES, SECTORS_PER_LINE } from '../core/gpu-sizes.ts';
import type { Dim3 } from '../core/launch-plan.ts';
import { product, sum } from '../core/values.ts';
import { SERIAL_LANES } from '../hardware/launch-model/constants.ts';
import type { PtxInstruction } from '../ptx/ast.ts';
import { controlOf, flopPerLane, instructionClass, synchronisationOf } from '../ptx/instructions/properties.ts';
import { lineOfSector } from './cache-model/line-places.ts';
import {
  type Access,
  type AccessGroup,
  SECTOR_ATOMIC,
  SECTOR_READ,
  SECTOR_WRITTEN,
} from './codegen/memory/access-groups.ts';
import type { BlockIssueTime, KernelImage } from './kernel-image.ts';
import { LANES } from './layout.ts';
import { broadcastWavefronts } from './runtime/access-costs.ts';
import type { WorkerCounts } from './runtime/cta-runner.ts';
import type { DeviceRange } from './runtime/memories.ts';
import type { AccessCounts } from './runtime/pattern-counter.ts';
import type { SiteRequests } from './runtime/site-requests.ts';

/** Cells of a block's row in the table of partial-warp runs: 0 … 32 active lanes. */
const HISTOGRAM_CELLS = LANES + 1;

/** How often a block ran, by converged and by partial warps. */
interface BlockRuns {
  converged: number;
  partialRuns: number;
  partialLanes: number;
  /** Runs with n active lanes. */
  histogram: number[];
}

const emptyWarpTime = (): WarpTime => ({ issued: 0, waits: {} });

function addWarpTime(total: WarpTime, { issued, waits }: BlockIssueTime, runs: number): void {
  if (runs === 0) return;
  total.issued += issued * runs;
  for (const [name, count] of waits) total.waits[name] = (total.waits[name] ?? 0) + count * runs;
}

/** Turns the workers' raw sums into the counters of one launch. */
export function launchCounters(
  image: KernelImage,
  launch: { functionName: string; grid: Dim3; block: Dim3; dynamicSharedBytes: number },
  workers: readonly WorkerCounts[],
  buffers: readonly DeviceRange[],
): LaunchCounters {
  const ctaCount = product(launch.grid);
  const countedCtas = sum(workers.map((w) => w.ctas));
  const meanOf = (sums: readonly number[]): number => (countedCtas === 0 ? 0 : sum(sums) / countedCtas);
  const collector = new Collector(image, workers);
  const { totals, lines, histogram } = collector.collect();
  const warpTime = collector.warpTime();
  const sharedLoadMerging = collector.sharedLoadMerging();
  const scale = countedCtas === 0 ? 0 : ctaCount / countedCtas;
  const polls = collector.polls(scale);
  const touched = touchedMemory(workers, buffers, scale);
  if (scale !== 1) scaleSums(totals, lines, histogram, scale);
  return {
    ...totals,
    functionName: launch.functionName,
    grid: launch.grid,
    block: launch.block,
    ctaCount,
    countedCtas,
    resources: {
      registersPerThread: image.registersPerThread,
      registersSource: 'estimated',
      staticSharedBytes: image.staticSharedBytes,
      dynamicSharedBytes: launch.dynamicSharedBytes,
      localBytesPerThread: image.localBytesPerThread,
    },
    activeLaneHistogram: histogram,
    criticalPathInstructions: meanOf(workers.map((w) => w.criticalPath)),
    criticalPathNarrowInstructions: meanOf(workers.map((w) => w.criticalPathNarrow)),
    longestCtaInstructions: Math.max(0, ...workers.map((w) => w.longestCta)),
    distinctSectorsRead: touched.read,
    distinctSectorsWritten: touched.written,
    warpTime: { wide: scaledTime(warpTime.wide, scale), narrow: scaledTime(warpTime.narrow, scale) },
    sharedLoadMerging,
    globalLoadLines: Math.round(collector.globalLoadLines * scale),
    globalAtomicTurns: Math.round(sumOfGlobalAtomics(workers, 'turns') * scale),
    globalAtomicSectors: Math.round(sumOfGlobalAtomics(workers, 'units') * scale),
    globalAtomicLines: touched.atomic,
    polls,
    lines,
  };
}

const sumOfGlobalAtomics = (workers: readonly WorkerCounts[], key: 'turns' | 'units'): number =>
  sum(workers.flatMap(({ siteRequests }) => Array.from(siteRequests.values(), (site) => site['global-atomic'][key])));

/** What a launch touches of device memory. */
interface Touched {
  /** Sectors. */
  readonly read: number;
  /** Sectors. */
  readonly written: number;
  /** Lines. */
  readonly atomic: number;
}

/** What was touched; of a sample of CTAs, so many times as much, but in no buffer more than it has. */
function touchedMemory(workers: readonly WorkerCounts[], buffers: readonly DeviceRange[], scale: number): Touched {
  const first = workers[0];
  if (!first) return { read: 0, written: 0, atomic: 0 };
  if (scale === 1) return touchedBetween(workers, 0, first.sectorMap.length);
  const sums = { read: 0, written: 0, atomic: 0 };
  for (const { start, bytes } of buffers) {
    const [from, end] = [Math.floor(start / SECTOR_BYTES), Math.ceil((start + bytes) / SECTOR_BYTES)];
    const touched = touchedBetween(workers, from, end);
    sums.read += Math.min(Math.round(touched.read * scale), end - from);
    sums.written += Math.min(Math.round(touched.written * scale), end - from);
    sums.atomic += Math.min(Math.round(touched.atomic * scale), Math.ceil((end - from) / SECTORS_PER_LINE));
  }
  return sums;
}

function touchedBetween(workers: readonly WorkerCounts[], from: number, end: number): Touched {
  const [map, ...others] = workers.map(({ sectorMap }) => new Int32Array(sectorMap.buffer));
  let [read, written, atomic] = [0, 0, 0];
  // A word has the bytes of one line.
  for (let line = lineOfSector(from); line * SECTORS_PER_LINE < end; line++) {
    let bytes = map![line]!;
    for (let other = 0; other < others.length; other++) bytes |= others[other]![line]!;
    if (bytes === 0) continue;
    const [before, behind] = [from - line * SECTORS_PER_LINE, (line + 1) * SECTORS_PER_LINE - end];
    if (before > 0) bytes &= -1 << (8 * before);
    if (behind > 0) bytes &= -1 >>> (8 * behind);
    read += bytesWith(SECTOR_READ, bytes);
    written += bytesWith(SECTOR_WRITTEN, bytes);
    if (bytesWith(SECTOR_ATOMIC, bytes) > 0) atomic++;
  }
  return { read, written, atomic };
}

/** How many of a word's bytes have a bit. */
const bytesWith = (bit: number, bytes: number): number =>
  (Math.imul(bytes & (bit * LOWEST_BITS), LOWEST_BITS) >>> 24) / bit;

/** Of four bytes. */
const LOWEST_BITS = 0x01010101;

/** Scales the sums of a sample of CTAs to all CTAs, rounded to whole events. */
function scaleSums(totals: CounterTotals, lines: LineCounters[], histogram: number[], scale: number): void {
  const scaleRecord = (record: Record<string, unknown>) => {
    for (const [key, value] of Object.entries(record)) {
      if (typeof value === 'number') record[key] = Math.round(value * scale);
      else if (value !== null && typeof value === 'object' && key !== 'location')
        scaleRecord(value as Record<string, unknown>);
    }
  };
  scaleRecord(totals as unknown as Record<string, unknown>);
  for (const line of lines) scaleRecord(line as unknown as Record<string, unknown>);
  histogram.forEach((value, i) => {
    histogram[i] = Math.round(value * scale);
  });
}

/** To hundredths: it is an estimate, and recordings hold many. */
const toHundredths = (value: number): number => Math.round(value * 100) / 100;

const toTenThousandths = (value: number): number => Math.round(value * 10_000) / 10_000;

const scaledTime = ({ issued, waits }: WarpTime, scale: number): WarpTime => ({
  issued: toHundredths(issued * scale),
  waits: Object.fromEntries(Object.entries(waits).map(([name, count]) => [name, toHundredths(count * scale)])),
});

/** Counts of a load from device memory. */
type LoadCounts = AccessCounts & { readonly bytes: number };

/** Words that lanes read: one each if they read several sectors, but no more than these hold. */
const wordsOf = ({ requests, lanes, units, bytes }: LoadCounts): number =>
  units > requests ? Math.min(lanes, (units * SECTOR_BYTES * lanes) / bytes) : requests;

/** Where an access's counts go, as names of counters have it. */
type Side = 'Load' | 'Store';

class Collector {
  #image: KernelImage;
  #workers: readonly WorkerCounts[];
  #runs: BlockRuns[];
  #totals = emptyTotals();
  #lines = new Map<string, LineCounters>();
  /** Loads from shared memory as ptxas merges them. */
  #mergedLoads = { requests: 0, wavefronts: 0 };
  /** After `collect`: lines that loads from device memory touch, request by request. */
  globalLoadLines = 0;
  /** Of device memory, by line of the PTX. */
  #loads = new Map<number, LoadCounts>();
  #histogram = new Array<number>(HISTOGRAM_CELLS).fill(0);

  constructor(image: KernelImage, workers: readonly WorkerCounts[]) {
    this.#image = image;
    this.#workers = workers;
    this.#runs = Array.from({ length: image.blockCount }, (_, block) => this.#blockRuns(block));
  }

  collect(): { totals: CounterTotals; lines: LineCounters[]; histogram: number[] } {
    this.#image.blockInstructions.forEach((instructions, block) => {
      for (const instruction of instructions) this.#addInstruction(instruction, this.#runs[block]!);
      const last = instructions.at(-1);
      // Lanes that leave through a guarded ret also diverge, but that is no branch.
      const counted = last && countedFor(last);
      const parted = counted && isBranch(counted) ? sum(this.#workers.map((w) => w.divergences[block]!)) : 0;
      this.#totals.divergentBranches += parted;
      if (last) this.#line(last).divergentBranches += parted;
    });
    for (const group of this.#image.groups) this.#addGroup(group);
    this.#image.warpSites.forEach((site) => {
      for (const { siteRequests } of this.#workers) {
        const requests = siteRequests.get(site.index);
        if (requests) this.#addSiteRequests(site.instruction, requests);
      }
    });
    const lines = [...this.#lines.values()].filter((line) => line.instructions > 0);
    lines.sort((a, b) => a.location.file.localeCompare(b.location.file) || a.location.line - b.location.line);
    return { totals: this.#totals, lines, histogram: this.#histogram };
  }

  /** Requests and wavefronts of loads from shared memory as ptxas merges them ÷ those of the PTX. */
  sharedLoadMerging(): SharedLoadMerging {
    const { sharedLoadRequests, sharedLoadWavefronts } = this.#totals;
    const { requests, wavefronts } = this.#mergedLoads;
    return {
      requestRatio: sharedLoadRequests > 0 ? toTenThousandths(requests / sharedLoadRequests) : 1,
      wavefrontRatio: sharedLoadWavefronts > 0 ? toTenThousandths(wavefronts / sharedLoadWavefronts) : 1,
    };
  }

  /** After `collect`. */
  polls(scale: number): Polls | undefined {
    const { spinLoops, issueTimes } = this.#image;
    const loads = spinLoops.flatMap(({ ptxLine, blocks }) => {
      const counts = this.#loads.get(ptxLine);
      return counts && counts.requests > 0 ? [{ ...counts, blocks }] : [];
    });
    if (loads.length === 0) return undefined;
    const most = loads.reduce((a, b) => (b.requests > a.requests ? b : a));
    const round = emptyWarpTime();
    for (const time of issueTimes) if (most.blocks.includes(time.block)) addWarpTime(round, time, 1);
    return {
      requests: Math.round(most.requests * scale),
      words: Math.round(wordsOf(most) * scale),
      round: scaledTime(round, 1),
    };
  }

  /** By how often each piece of the code ran, with many lanes and with few. */
  warpTime(): { wide: WarpTime; narrow: WarpTime } {
    const [wide, narrow] = [emptyWarpTime(), emptyWarpTime()];
    for (const time of this.#image.issueTimes) {
      const { histogram } = this.#runs[time.block]!;
      addWarpTime(narrow, time, sum(histogram.slice(1, SERIAL_LANES + 1)));
      addWarpTime(wide, time, sum(histogram.slice(SERIAL_LANES + 1)));
    }
    return { wide, narrow };
  }

  #blockRuns(block: number): BlockRuns {
    const histogram = Array.from({ length: HISTOGRAM_CELLS }, (_, lanes) =>
      sum(this.#workers.map((w) => w.partial[block * HISTOGRAM_CELLS + lanes]!)),
    );
    const converged = sum(this.#workers.map((w) => w.converged[block]!));
    const partialRuns = sum(histogram);
    const partialLanes = sum(histogram.map((runs, lanes) => runs * lanes));
    histogram[LANES]! += converged;
    return { converged, partialRuns, partialLanes, histogram };
  }

  #line(instruction: PtxInstruction): LineCounters {
    return lineCountersAt(this.#lines, instruction.source ?? { file: 'ptx', line: instruction.ptxLine });
  }

  #addInstruction(executed: PtxInstruction, runs: BlockRuns): void {
    const instruction = countedFor(executed);
    const count = runs.converged + runs.partialRuns;
    if (!instruction || count === 0) return;
    const lanes = runs.converged * LANES + runs.partialLanes;
    const totals = this.#totals;
    const line = this.#line(instruction);
    const kind = instructionClass(instruction) ?? 'move';
    totals.instructions += count;
    totals.threadInstructions += lanes;
    totals.instructionsByClass[kind] += count;
    line.instructions += count;
    line.threadInstructions += lanes;
    runs.histogram.forEach((value, active) => {
      this.#histogram[active]! += value;
    });
    const flop = flopPerLane(instruction);
    if (flop) totals.flop[flop.kind] += flop.count * lanes;
    if (isCtaBarrier(instruction)) {
      totals.barriers += count;
      line.barriers += count;
    }
    if (kind === 'local-load') totals.localLoadRequests += count;
    if (kind === 'local-store') totals.localStoreRequests += count;
    if (isBranch(instruction) && mayPart(instruction)) totals.branches += count;
  }

  #addGroup(group: AccessGroup): void {
    if (group.space !== 'global' && group.space !== 'shared') return;
    group.accesses.forEach((access, i) => {
      const counts = group.pattern === 0 ? this.#uniformCounts(group, access) : this.#patternCounts(group, i);
      const side: Side = access.isStore ? 'Store' : 'Load';
      if (group.space === 'global') this.#addGlobal(access.instruction, side, counts, counts.lanes * access.bytes);
      else {
        this.#addShared(access.instruction, side, counts);
        if (side === 'Load') this.#addMerged(access.mergedBytes === 0 ? 0 : counts.requests, counts.merged);
      }
    });
  }

  /** One address for the whole warp: one sector, or a broadcast's wavefronts, for every execution of the block. */
  #uniformCounts(group: AccessGroup, access: Access): AccessCounts {
    const runs = this.#runs[group.block]!;
    const requests = group.masked ? runs.partialRuns : runs.converged;
    const units = requests * (group.space === 'shared' ? broadcastWavefronts(access.bytes, access.isStore) : 1);
    const { bytes, isStore, mergedBytes = bytes } = access;
    const merged = mergedBytes === 0 ? 0 : requests * broadcastWavefronts(mergedBytes, isStore);
    const lanes = group.masked ? runs.partialLanes : requests * LANES;
    return { requests, units, conflicts: 0, merged, lanes, lines: requests };
  }

  #patternCounts(group: AccessGroup, access: number): AccessCounts {
    return sumCounts(this.#workers.flatMap((w) => w.accesses.get(group.index)?.[access] ?? []));
  }

  #addGlobal(instruction: PtxInstruction, side: Side, counts: AccessCounts, bytes: number): void {
    const { requests, units } = counts;
    for (const sums of [this.#totals, this.#line(instruction)]) {
      sums[`global${side}Requests`] += requests;
      sums[`global${side}Sectors`] += units;
    }
    this.#totals[`global${side}Bytes`] += bytes;
    if (side === 'Store') return;
    this.globalLoadLines += counts.lines;
    const { ptxLine } = instruction;
    const before = this.#loads.get(ptxLine);
    // An instruction may have counts at several places.
    this.#loads.set(ptxLine, {
      ...sumCounts(before ? [before, counts] : [counts]),
      bytes: bytes + (before?.bytes ?? 0),
    });
  }

  #addMerged(requests: number, wavefronts: number): void {
    this.#mergedLoads.requests += requests;
    this.#mergedLoads.wavefronts += wavefronts;
  }

  #addShared(instruction: PtxInstruction, side: Side, counts: AccessCounts): void {
    const { requests, units, conflicts } = counts;
    const line = this.#line(instruction);
    for (const sums of [this.#totals, line]) {
      sums[`shared${side}Requests`] += requests;
      sums[`shared${side}Wavefronts`] += units;
    }
    this.#totals[`shared${side}BankConflicts`] += conflicts;
    line.bankConflicts += conflicts;
  }

  #addSiteRequests(instruction: PtxInstruction, requests: SiteRequests): void {
    this.#addGlobal(instruction, 'Load', requests['global-load'], requests['global-load'].bytes);
    this.#addGlobal(instruction, 'Store', requests['global-store'], requests['global-store'].bytes);
    this.#addShared(instruction, 'Load', requests['shared-load']);
    this.#addMerged(requests['shared-load'].requests, requests['shared-load'].merged);
    this.#addShared(instruction, 'Store', requests['shared-store']);
    this.#totals.localLoadRequests += requests['local-load'].requests;
    this.#totals.localStoreRequests += requests['local-store'].requests;
    const [globalAtomics, sharedAtomics] = [requests['global-atomic'].requests, requests['shared-atomic'].requests];
    this.#totals.globalAtomicRequests += globalAtomics;
    this.#totals.sharedAtomicRequests += sharedAtomics;
    this.#line(instruction).atomics += globalAtomics + sharedAtomics;
  }
}

/** The source instruction for which this one counts. */
const countedFor = (instruction: PtxInstruction): PtxInstruction | null =>
  instruction.countedAs === undefined ? instruction : instruction.countedAs;

/** Whether the threads of a CTA wait or arrive at it; fences and warp barriers do not count. */
function isCtaBarrier(instruction: PtxInstruction): boolean {
  const meeting = synchronisationOf(instruction);
  return meeting === 'cta' || meeting === 'cta-arrival';
}

function isBranch(instruction: PtxInstruction): boolean {
  const control = controlOf(instruction);
  return control === 'branch' || control === 'switch';
}

/** An unguarded `bra` sends all lanes to one place. */
const mayPart = (branch: PtxInstruction): boolean => branch.guard !== undefined || controlOf(branch) === 'switch';

const sumCounts = (all: readonly AccessCounts[]): AccessCounts => ({
  requests: sum(all.map((c) => c.requests)),
  lanes: sum(all.map((c) => c.lanes)),
  units: sum(all.map((c) => c.units)),
  conflicts: sum(all.map((c) => c.conflicts)),
  merged: sum(all.map((c) => c.merged)),
  lines: sum(all.map((c) => c.lines)),
});
