import type { LaunchCounters, SampledCache } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import { SECTOR_BYTES, SECTORS_PER_LINE } from '../../core/gpu-sizes.ts';
import { product, sum } from '../../core/values.ts';
import { occupancy } from '../../hardware/occupancy.ts';
import type { DeviceRange } from '../runtime/memories.ts';
import type { AccessSamples } from './access-sampler.ts';
import { type AccessStream, commonLevel, interleave } from './interleave.ts';
import { RoomOfL2, SampledL2 } from './l2-cache.ts';
import { LinePlaces, lineOfSector, sectorBit, sectorOfEntry } from './line-places.ts';
import { SpareArray, spareFloat64 } from './spare-array.ts';

/** A counted launch with what its workers recorded. */
export interface SampledLaunch {
  readonly counters: LaunchCounters;
  readonly ranges: readonly DeviceRange[];
  readonly samples: readonly AccessSamples[];
}

const READ = 1;
const WRITTEN = 2;
/** With fewer sampled lines the result is meaningless, unless they are all lines. */
const FEWEST_LINES = 32;

/** CTAs that the whole GPU holds at once. */
function residentCtas({ resources, block }: LaunchCounters, spec: DeviceSpec): number {
  return Math.max(1, occupancy(resources, product(block), spec).ctasPerSm) * spec.smCount.value;
}

/** Of numbers that were met, and the sectors of lines. */
const TABLE = spareFloat64();
const SECTORS = new SpareArray((length) => new Uint8Array(length));
const L2_ROOM = new RoomOfL2();

/**
 * Times that a sector is read by CTAs of different SMs, or in different turns of an SM. CTAs go to the SMs in turns, as in the
 * prediction of times.
 */
function readersOfSectors({ entries, ctas }: AccessStream, resident: number, smCount: number): number {
  const readerOf = (cta: number): number => Math.floor(cta / resident) * smCount + (cta % smCount);
  let most = 0;
  for (const cta of ctas) most = Math.max(most, readerOf(cta) + 1);
  // Numbers from 1 on: 0 is a free place.
  const table = TABLE.takeZeros(roomFor(entries.length));
  let readers = 0;
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i]!;
    if ((entry & READ) === 0) continue;
    const number = sectorOfEntry(entry) * most + readerOf(ctas[i]!) + 1;
    const at = placeIn(table, number);
    if (table[at] === 0) readers++;
    table[at] = number;
  }
  return readers;
}

/** Places for so many numbers in a table: twice as many, and a power of two. Sorting them would take several times as long. */
const roomFor = (count: number): number => 2 ** Math.ceil(Math.log2(2 * count + 2));

/** Where a number is, or is to be; free places hold 0. */
function placeIn(table: Float64Array, number: number): number {
  const last = table.length - 1;
  let at = Math.imul(number | 0, GOLDEN) >>> Math.clz32(last);
  while (table[at] !== 0 && table[at] !== number) at = (at + 1) & last;
  return at;
}

/** 2^32 ÷ the golden ratio: neighbouring numbers go far apart. */
const GOLDEN = 0x9e3779b1;

/** What the sample holds of a launch. */
interface Touched {
  readonly lines: number;
  readonly sectorsRead: number;
  readonly sectorsWritten: number;
}

function touchedBy({ entries }: AccessStream): Touched {
  const table = TABLE.takeZeros(roomFor(entries.length));
  /** At the same places: four sectors that are read, then four that are written. */
  const sectors = SECTORS.takeZeros(table.length);
  const touched = { lines: 0, sectorsRead: 0, sectorsWritten: 0 };
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i]!;
    const sector = sectorOfEntry(entry);
    const number = lineOfSector(sector) + 1;
    const at = placeIn(table, number);
    if (table[at] === 0) touched.lines++;
    table[at] = number;
    const bit = sectorBit(sector);
    const fresh = ((entry & READ ? bit : 0) | (entry & WRITTEN ? bit << SECTORS_PER_LINE : 0)) & ~sectors[at]!;
    if (fresh & (bit << SECTORS_PER_LINE)) touched.sectorsWritten++;
    if (fresh & bit) touched.sectorsRead++;
    sectors[at]! |= fresh;
  }
  return touched;
}

/**
 * Simulates a sample of L2's sets over a sequence of launches, and scales its DRAM traffic to the whole cache by distinct
 * sectors, whose number is known exactly. So traffic that happens once is exact, and only repeated traffic carries a
 * sampling error. Deterministic. Undefined for launches with too small a sample.
 * @param start `hot`: the sequence runs once before it is counted, and dirty sectors stay in L2 afterwards.
 */
export function simulateCache(
  launches: readonly SampledLaunch[],
  spec: DeviceSpec,
  start: 'hot' | 'cold',
): (SampledCache | undefined)[] {
  const places = launches.map(({ ranges }) => new LinePlaces(ranges));
  const level = Math.max(0, ...launches.map(({ samples }, i) => commonLevel(samples, places[i]!)));
  const streams = launches.map(({ counters, samples }, i) =>
    interleave(samples, places[i]!, level, residentCtas(counters, spec)),
  );
  const l2 = new SampledL2(spec.l2Bytes.value, level, launches.length, L2_ROOM);
  const runSequence = (): void => {
    for (const [launch, { entries, hashes }] of streams.entries())
      for (let i = 0; i < entries.length; i++) {
        const entry = entries[i]!;
        const sector = sectorOfEntry(entry);
        const bit = sectorBit(sector);
        l2.access(launch, lineOfSector(sector), hashes[i]!, entry & READ ? bit : 0, entry & WRITTEN ? bit : 0);
      }
  };
  runSequence();
  if (start === 'hot') {
    l2.restartCounting();
    runSequence();
  } else l2.flush();
  const sampledRatio = 2 ** -level;
  return launches.map(({ counters }, launch) => {
    const touched = touchedBy(streams[launch]!);
    if (level > 0 && touched.lines < FEWEST_LINES) return undefined;
    const { read, written } = l2.traffic[launch]!;
    const scale = (exact: number, sampled: number): number => (sampled > 0 ? exact / sampled : 1 / sampledRatio);
    const readers = readersOfSectors(streams[launch]!, residentCtas(counters, spec), spec.smCount.value);
    return {
      sampledRatio,
      sampledLines: touched.lines,
      start,
      sectorsReadBySms: Math.round(counters.distinctSectorsRead * (readers / Math.max(1, touched.sectorsRead))),
      dramReadBytes: Math.round(read * scale(counters.distinctSectorsRead, touched.sectorsRead) * SECTOR_BYTES),
      dramWriteBytes: Math.round(
        written * scale(counters.distinctSectorsWritten, touched.sectorsWritten) * SECTOR_BYTES,
      ),
    };
  });
}

/**
 * The same of launches of which only a part of the CTAs ran. They run side by side in a part of L2, as large beside it as they are beside
 * the CTAs that the GPU holds at once: so what a CTA reads again it finds again as in the whole. What the sequence finds from the last
 * time follows from the buffers' size, all or nothing, since of the others' data nothing is known.
 */
export function simulateCacheOfPart(
  launches: readonly SampledLaunch[],
  spec: DeviceSpec,
  start: 'hot' | 'cold',
): (SampledCache | undefined)[] {
  const share = Math.min(
    1,
    ...launches.map(({ counters }) => counters.countedCtas / Math.min(counters.ctaCount, residentCtas(counters, spec))),
  );
  const { l2Bytes } = spec;
  const part = { ...spec, l2Bytes: { ...l2Bytes, value: l2Bytes.value * share } };
  const bytesByPlace = new Map(
    launches.flatMap(({ ranges }) => ranges.map(({ start: at, bytes }) => [at, bytes] as const)),
  );
  const isKept = start === 'hot' && sum([...bytesByPlace.values()]) <= l2Bytes.value;
  return simulateCache(launches, part, 'cold').map((traffic, i) => {
    const { distinctSectorsRead } = launches[i]!.counters;
    return (
      traffic && {
        ...traffic,
        start,
        ...(isKept && {
          dramReadBytes: Math.max(0, traffic.dramReadBytes - distinctSectorsRead * SECTOR_BYTES),
          dramWriteBytes: 0,
        }),
      }
    );
  });
}
