import type { LaunchCounters } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import { LANES_PER_WARP, LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE } from '../../core/gpu-sizes.ts';
import { sharedBytesPerCta } from '../occupancy.ts';
import type { Schedule } from './schedule.ts';

/** Estimated bytes each level of the memory hierarchy moves for one launch, chip-wide. */
export interface Traffic {
  /** Lines of 128 bytes that requests touch in L1, local memory included: one wavefront of its data pipe each. */
  readonly l1Wavefronts: number;
  readonly l2Bytes: number;
  readonly dramReadBytes: number;
  readonly dramWriteBytes: number;
  /** Both directions. */
  readonly dramBytes: number;
  /** Estimated share of global load sectors that hit L1. */
  readonly l1HitRatio: number;
  /** Estimated share of L2 accesses that hit. */
  readonly l2HitRatio: number;
  /**
   * Share of the sectors loaded that come from DRAM: the first SM that wants one waits for it, and so do the others, since
   * CTAs that share data run side by side and want it at the same time.
   */
  readonly dramShare: number;
  /** Mean latency of a global load at those hit ratios, in clocks. */
  readonly globalLoadLatencyClocks: number;
}

/** Requests and wavefronts of loads from shared memory, neighbours merged. */
export const sharedLoads = ({
  sharedLoadRequests,
  sharedLoadWavefronts,
  sharedLoadMerging: { requestRatio, wavefrontRatio } = { requestRatio: 1, wavefrontRatio: 1 },
}: LaunchCounters): { readonly requests: number; readonly wavefronts: number } => ({
  requests: sharedLoadRequests * requestRatio,
  wavefronts: sharedLoadWavefronts * wavefrontRatio,
});

/** L2 sectors an atomic request touches: counters hold requests, not addresses; four is a coalesced one. */
const ATOMIC_REQUEST_BYTES = 4 * SECTOR_BYTES;
/** L1 and shared memory share one array; L1 gets the part that resident CTAs do not use. */
const UNIFIED_BYTES_BEYOND_SHARED = 28 * 1024;

/** L1 capacity left beside the shared memory of the resident CTAs, in bytes. */
export function l1Bytes(launch: LaunchCounters, ctasPerSm: number, spec: DeviceSpec): number {
  const claimed = ctasPerSm * sharedBytesPerCta(launch.resources, spec);
  return Math.max(UNIFIED_BYTES_BEYOND_SHARED, spec.sharedBytesPerSm.value + UNIFIED_BYTES_BEYOND_SHARED - claimed);
}

/**
 * Share of re-read sectors that a cache serves: all of them when the working set fits, in proportion when it does
 * not (random replacement).
 */
function hitRatio(requestedBytes: number, workingSetBytes: number, cacheBytes: number): number {
  if (requestedBytes <= 0) return 0;
  const reread = Math.max(0, 1 - workingSetBytes / requestedBytes);
  return reread * Math.min(1, cacheBytes / Math.max(1, workingSetBytes));
}

/**
 * Lines that requests touch, estimated: lanes that fill their sectors lie side by side, four sectors to a line; lanes
 * that use a small part of each sector are strided, one sector to a line.
 */
export function lineAccesses(requests: number, sectors: number, bytes: number): number {
  if (sectors <= 0) return 0;
  const usedRatio = Math.min(1, bytes / (sectors * SECTOR_BYTES));
  return Math.max(requests, sectors / Math.max(1, usedRatio * SECTORS_PER_LINE));
}

/** Counted on a virtual GPU, else estimated. */
export const loadLines = (launch: LaunchCounters): number =>
  launch.globalLoadLines ?? lineAccesses(launch.globalLoadRequests, launch.globalLoadSectors, launch.globalLoadBytes);

/** Always estimated, so that half a line takes half a turn of L2: transposes with half lines take no longer than with whole ones. */
const storeLines = ({ globalStoreRequests, globalStoreSectors, globalStoreBytes }: LaunchCounters): number =>
  lineAccesses(globalStoreRequests, globalStoreSectors, globalStoreBytes);

/**
 * Share of load sectors that hit L1 because a neighbouring element of the same sector was read moments before: a
 * request that uses a part of its sectors comes back for the rest, if the lines of all resident warps fit meanwhile.
 */
function neighbourHitRatio(launch: LaunchCounters, residentWarps: number, cacheBytes: number): number {
  if (launch.globalLoadSectors <= 0 || launch.globalLoadRequests <= 0) return 0;
  const usedRatio = Math.min(1, launch.globalLoadBytes / (launch.globalLoadSectors * SECTOR_BYTES));
  const linesPerRequest = Math.min(LANES_PER_WARP, launch.globalLoadSectors / launch.globalLoadRequests);
  const inFlightBytes = residentWarps * linesPerRequest * LINE_BYTES;
  return (1 - usedRatio) * Math.min(1, cacheBytes / inFlightBytes);
}

/**
 * Share of load sectors that hit L1. What the CTAs of an SM read together is known of a virtual GPU, and follows from
 * sectors and capacities otherwise. CTAs read again soon what they share, so hits fall with the root of the part that L1
 * holds (the rule of thumb for caches: Hartstein et al., On the nature of cache miss behavior, 2006).
 */
function l1Hits(launch: LaunchCounters, schedule: Schedule, spec: DeviceSpec): number {
  const cacheBytes = l1Bytes(launch, schedule.residentCtas, spec);
  const { sampledCache, globalLoadSectors: sectors } = launch;
  if (sectors <= 0) return 0;
  if (sampledCache?.sectorsReadBySms !== undefined) {
    const read = Math.min(sectors, Math.max(sampledCache.sectorsReadBySms, launch.distinctSectorsRead));
    const turns = Math.max(1, schedule.activeSms) * Math.max(1, schedule.rounds);
    const heldShare = Math.min(1, cacheBytes / Math.max(1, (read * SECTOR_BYTES) / turns));
    return (1 - read / sectors) * Math.sqrt(heldShare);
  }
  const loadBytes = sectors * SECTOR_BYTES;
  const neighbourHits = neighbourHitRatio(launch, schedule.residentCtas * schedule.warpsPerCta, cacheBytes);
  const beyondNeighboursPerSm = (loadBytes * (1 - neighbourHits)) / Math.max(1, schedule.activeSms);
  const workingSetPerSm = Math.min(distinctReadBytes(launch), beyondNeighboursPerSm);
  const rereadHits = hitRatio(beyondNeighboursPerSm, workingSetPerSm, cacheBytes);
  return 1 - (1 - neighbourHits) * (1 - rereadHits);
}

const distinctReadBytes = (launch: LaunchCounters): number =>
  Math.min(launch.distinctSectorsRead, launch.globalLoadSectors) * SECTOR_BYTES;

/**
 * Bytes that stores take from L2's rate: it takes one line per turn, whole or in part. Measured on one H200: 33 stores of
 * single sectors per clock, and whole lines at the rate of loads.
 */
const storedBytes = (launch: LaunchCounters): number =>
  Math.max(launch.globalStoreSectors * SECTOR_BYTES, storeLines(launch) * LINE_BYTES);

/**
 * Estimates the traffic of one launch from its sectors and distinct sectors; beyond L2 from the simulated sets, if there
 * are any.
 */
export function estimateTraffic(launch: LaunchCounters, schedule: Schedule, spec: DeviceSpec): Traffic {
  const loadBytes = launch.globalLoadSectors * SECTOR_BYTES;
  const storeBytes = launch.globalStoreSectors * SECTOR_BYTES;
  const l1Wavefronts =
    loadLines(launch) +
    storeLines(launch) +
    // Local memory is interleaved by lane: a 4-byte word of 32 lanes is one line.
    launch.localLoadRequests +
    launch.localStoreRequests;

  const distinctRead = distinctReadBytes(launch);
  const l1HitRatio = l1Hits(launch, schedule, spec);
  const l2LoadBytes = loadBytes * (1 - l1HitRatio);
  const estimatedHits = hitRatio(l2LoadBytes, Math.min(distinctRead, l2LoadBytes), spec.l2Bytes.value);
  const dramReadBytes = Math.min(l2LoadBytes, launch.sampledCache?.dramReadBytes ?? l2LoadBytes * (1 - estimatedHits));
  const distinctWritten = Math.min(launch.distinctSectorsWritten * SECTOR_BYTES, storeBytes);
  const dramWriteBytes = launch.sampledCache?.dramWriteBytes ?? distinctWritten;
  const l2HitRatio = l2LoadBytes > 0 ? 1 - dramReadBytes / l2LoadBytes : 0;
  const dramShare = Math.min(1, dramReadBytes / Math.max(1, launch.sampledCache ? distinctRead : l2LoadBytes));
  const latency = spec.latencyClocks;
  const l2Latency = (1 - dramShare) * latency.l2.value + dramShare * latency.dram.value;
  return {
    l1Wavefronts,
    l2Bytes: l2LoadBytes + storedBytes(launch) + launch.globalAtomicRequests * ATOMIC_REQUEST_BYTES,
    dramReadBytes,
    dramWriteBytes,
    dramBytes: dramReadBytes + dramWriteBytes,
    l1HitRatio,
    l2HitRatio,
    dramShare,
    globalLoadLatencyClocks: l1HitRatio * latency.l1.value + (1 - l1HitRatio) * l2Latency,
  };
}
