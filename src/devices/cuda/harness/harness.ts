import { type DType, isFloating, sizeOfDType } from '../../../core/dtype.ts';
import type { DrawRule } from '../../../core/measuring-device.ts';
import { decode, encode, roundTo } from '../../../core/rounding.ts';

/**
 * The byte-exact interface of the trusted device code in harness.cu. Its PTX is harness.ptx (made by `npm run harness`).
 *
 * One launch works on many buffers. The host packs jobs, writes them to device memory at a multiple of 8, and launches
 *
 *   `draw`, `fill`    (u64 jobs, u64 jobCount, u64 chunkCount)
 *   `match`, `count`, `compare`  (u64 jobs, u64 jobCount, u64 chunkCount, u64 counts)
 *   `scrub`           (u64 key, u64 sharedBytes, u64 rounds)  one CTA per SM with that much dynamic shared memory; 2 rounds
 *   `scrubLocal`      (u64 key, u64 bytes)                    as many CTAs as the GPU holds at once
 *   `copy4|8|16`      (u64 to, u64 from, u64 vectorCount)     vectors of 4, 8 or 16 bytes, both addresses aligned to them
 *   `empty`           ()
 *
 * with {@link HARNESS_BLOCK} threads and {@link harnessGrid} CTAs in x. Every parameter is 8 bytes wide. `counts` is one
 * u64 per job, zeroed by the caller before the launch. `match` and `count` count intact elements, never damaged ones, so a
 * launch that did nothing looks like damage: see {@link changedElements}, {@link damagedBytes}.
 */
export const HARNESS_FUNCTIONS = {
  /** Writes what the rule draws. Jobs: {@link packDrawJobs}. */
  draw: 'warpsmith_draw',
  /** Counts the elements that equal, bit for bit, those that `draw` would write. Jobs: {@link packDrawJobs}. */
  match: 'warpsmith_match',
  /** Repeats a pattern, cut off at the end. Jobs: {@link packFillJobs}. */
  fill: 'warpsmith_fill',
  /** Counts the whole elements that equal the pattern. Jobs: {@link packFillJobs} or {@link packGuardJobs}. */
  count: 'warpsmith_count',
  /** Counts the elements that are equal in two buffers. Jobs: {@link packCompareJobs}. */
  compare: 'warpsmith_compare',
  /** Overwrites the shared memory and registers of every SM. */
  scrub: 'warpsmith_scrub',
  /** Overwrites local memory. */
  scrubLocal: 'warpsmith_scrub_local',
  copy4: 'warpsmith_copy_4',
  copy8: 'warpsmith_copy_8',
  copy16: 'warpsmith_copy_16',
  empty: 'warpsmith_empty',
} as const;
export type HarnessFunction = keyof typeof HARNESS_FUNCTIONS;

/** Threads per CTA of every launch of the harness. */
export const HARNESS_BLOCK = 256;
/** Most CTAs per SM: several times as many as it holds at once, so that SMs become idle late. */
const CTAS_PER_SM = 32;

/** One dense buffer to draw, or to compare with the drawn values. The address is a multiple of the element's size. */
export interface DrawJob {
  readonly address: bigint;
  readonly elementCount: number;
  readonly dtype: DType;
  readonly rule: DrawRule;
  /** Two 32-bit words: k0 and k1 of bits(i) = mix(mix(i + k0) ^ k1). */
  readonly key: readonly [number, number];
}

/** One range of bytes, at any address, and a pattern of 1, 2, 4 or 8 bytes that starts at its first byte. */
export interface FillJob {
  readonly address: bigint;
  readonly bytes: number;
  readonly pattern: Uint8Array;
}

/** Two dense buffers whose elements should be equal. Addresses are multiples of the element's size. */
export interface CompareJob {
  readonly left: bigint;
  readonly right: bigint;
  readonly elementCount: number;
  readonly dtype: DType;
  /**
   * Floating-point values are also equal if they differ by at most this share of |left| + |right|; 0: only equal bits are.
   */
  readonly tolerance: number;
}

/** Bytes that should all hold one value. */
export interface GuardRegion {
  readonly address: bigint;
  readonly bytes: number;
}

/** Jobs in the device's layout, and the counts that the launch takes as parameters. */
export interface PackedJobs {
  readonly bytes: Uint8Array;
  readonly jobCount: number;
  /** Number of equal pieces of work over all jobs; 0 means there is nothing to launch. */
  readonly chunkCount: number;
}

/** CTAs of one launch: one per chunk, up to the number that the limit per SM allows. */
export const harnessGrid = (packed: Pick<PackedJobs, 'chunkCount'>, smCount: number): number =>
  Math.max(1, Math.min(packed.chunkCount, smCount * CTAS_PER_SM));

/** Number of elements that differ from the drawn ones, from the result of `match`. */
export const changedElements = (jobs: readonly Pick<DrawJob, 'elementCount'>[], counts: BigUint64Array): number[] =>
  jobs.map(({ elementCount }, i) => elementCount - Number(counts[i]));

/** Number of bytes that no longer hold the guard value, from the result of `count` over {@link packGuardJobs}. */
export const damagedBytes = (regions: readonly GuardRegion[], counts: BigUint64Array): number[] =>
  regions.map(({ bytes }, i) => bytes - Number(counts[i]));

// These layouts match the structs DrawJob, FillJob and CompareJob in harness.cu.
const DRAW_JOB_BYTES = 72;
const FILL_JOB_BYTES = 40;
const COMPARE_JOB_BYTES = 48;
/** Elements of one chunk of a draw or compare job; bytes of one chunk of a fill job. */
const DRAW_CHUNK_ELEMENTS = 8192;
const COMPARE_CHUNK_ELEMENTS = 8192;
const FILL_CHUNK_BYTES = 65536;
/** Fill jobs are cut at multiples of the widest store. */
const VECTOR_BYTES = 16;

const DTYPE_CODES: Readonly<Record<DType, number>> = {
  f16: 0,
  bf16: 1,
  f32: 2,
  f64: 3,
  i8: 4,
  u8: 5,
  i16: 6,
  u16: 7,
  i32: 8,
  u32: 9,
  i64: 10,
  u64: 11,
};
const RULE_CODES: Readonly<Record<DrawRule['kind'], number>> = {
  normal: 0,
  uniform: 1,
  integers: 2,
  permutation: 3,
  constant: 4,
};

/** @param write puts a job at its place, given the chunks before it, and returns how many it has. */
function packJobs<J>(
  jobs: readonly J[],
  jobBytes: number,
  write: (view: DataView, at: number, job: J, chunksBefore: bigint) => number,
): PackedJobs {
  const bytes = new Uint8Array(jobs.length * jobBytes);
  const view = new DataView(bytes.buffer);
  let chunkCount = 0;
  jobs.forEach((job, index) => {
    chunkCount += write(view, index * jobBytes, job, BigInt(chunkCount));
  });
  return { bytes, jobCount: jobs.length, chunkCount };
}

/**
 * Draw jobs in the layout of `draw` and `match`.
 * @throws RangeError if the dtype can't hold the rule's values, or a job is malformed.
 */
export function packDrawJobs(jobs: readonly DrawJob[]): PackedJobs {
  return packJobs(jobs, DRAW_JOB_BYTES, (view, at, job, chunksBefore) => {
    refuseMisplaced(job.address, sizeOfDType(job.dtype));
    refuseCount('elementCount', job.elementCount);
    view.setBigUint64(at, job.address, true);
    view.setBigUint64(at + 8, BigInt(job.elementCount), true);
    view.setBigUint64(at + 16, chunksBefore, true);
    view.setUint32(at + 24, DTYPE_CODES[job.dtype], true);
    view.setUint32(at + 28, RULE_CODES[job.rule.kind], true);
    view.setUint32(at + 32, job.key[0] >>> 0, true);
    view.setUint32(at + 36, job.key[1] >>> 0, true);
    new Uint8Array(view.buffer).set(packRule(job), at + 40);
    return Math.ceil(job.elementCount / DRAW_CHUNK_ELEMENTS);
  });
}

/**
 * Fill jobs in the layout of `fill` and `count`. `count` counts whole elements of the pattern's size.
 * @throws RangeError if a pattern does not have 1, 2, 4 or 8 bytes.
 */
export function packFillJobs(jobs: readonly FillJob[]): PackedJobs {
  return packJobs(jobs, FILL_JOB_BYTES, (view, at, { address, bytes: length, pattern }, chunksBefore) => {
    refuseCount('bytes', length);
    if (![1, 2, 4, 8].includes(pattern.length)) {
      throw new RangeError(`a pattern has 1, 2, 4 or 8 bytes, not ${pattern.length}`);
    }
    view.setBigUint64(at, address, true);
    view.setBigUint64(at + 8, BigInt(length), true);
    view.setBigUint64(at + 16, chunksBefore, true);
    for (let i = 0; i < 8; i++) view.setUint8(at + 24 + i, pattern[i % pattern.length]!);
    view.setBigUint64(at + 32, BigInt(pattern.length), true);
    const lead = Number(address % BigInt(VECTOR_BYTES));
    return length > 0 ? Math.ceil((lead + length) / FILL_CHUNK_BYTES) : 0;
  });
}

/** Compare jobs in the layout of `compare`. @throws RangeError if a job is malformed. */
export function packCompareJobs(jobs: readonly CompareJob[]): PackedJobs {
  return packJobs(jobs, COMPARE_JOB_BYTES, (view, at, job, chunksBefore) => {
    const { left, right, elementCount, dtype, tolerance } = job;
    for (const address of [left, right]) refuseMisplaced(address, sizeOfDType(dtype));
    refuseCount('elementCount', elementCount);
    view.setBigUint64(at, left, true);
    view.setBigUint64(at + 8, right, true);
    view.setBigUint64(at + 16, BigInt(elementCount), true);
    view.setBigUint64(at + 24, chunksBefore, true);
    view.setUint32(at + 32, DTYPE_CODES[dtype], true);
    view.setFloat64(at + 40, tolerance, true);
    return Math.ceil(elementCount / COMPARE_CHUNK_ELEMENTS);
  });
}

/** Guard zones as jobs of `count`; {@link damagedBytes} interprets the result. */
export const packGuardJobs = (regions: readonly GuardRegion[], guardByte: number): PackedJobs =>
  packFillJobs(regions.map((region) => ({ ...region, pattern: Uint8Array.of(guardByte) })));

function refuseMisplaced(address: bigint, elementBytes: number): void {
  if (address % BigInt(elementBytes) === 0n) return;
  throw new RangeError(`address 0x${address.toString(16)} is no multiple of the element's ${elementBytes} bytes`);
}

function refuseCount(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${name} must be a whole number, not ${value}`);
}

/** The four 8-byte parameters of a rule. Each packer lists their meaning. */
const packRule = (job: DrawJob): Uint8Array =>
  (RULE_PACKERS[job.rule.kind] as (rule: DrawRule, job: DrawJob) => Uint8Array)(job.rule, job);

type Rule<K extends DrawRule['kind']> = Extract<DrawRule, { kind: K }>;
type RulePacker<K extends DrawRule['kind']> = (rule: Rule<K>, job: DrawJob) => Uint8Array;

const doubles = (...values: number[]): Uint8Array => new Uint8Array(Float64Array.from(values).buffer);
const integers = (...values: bigint[]): Uint8Array => new Uint8Array(BigInt64Array.from(values).buffer);

/** Mean, standard deviation. */
const packNormal: RulePacker<'normal'> = ({ mean, standardDeviation }) => doubles(mean, standardDeviation);

/**
 * Low, high − low, and the least and greatest values of the dtype within [low, high), so that rounding does not leave the
 * interval.
 */
const packUniform: RulePacker<'uniform'> = ({ low, high }, { dtype }) => {
  const range = valuesWithin(low, high, dtype);
  if (range === undefined) throw new RangeError(`no ${dtype} lies in [${low}, ${high})`);
  return doubles(low, high - low, ...range);
};

/** Low, and high − low (both included). */
const packIntegers: RulePacker<'integers'> = ({ low, high }, { dtype }) => {
  const known = Number.isSafeInteger(low) && Number.isSafeInteger(high) && low <= high;
  if (!known) throw new RangeError(`integers need whole numbers low ≤ high, not ${low} and ${high}`);
  for (const end of [low, high]) refuseUnheld(end, dtype);
  return integers(BigInt(low), BigInt(high) - BigInt(low));
};

/** Bits of each half of the Feistel network's word: left, right. Their sum is the least that can hold count − 1. */
const packPermutation: RulePacker<'permutation'> = (_rule, { elementCount, dtype }) => {
  const largest = BigInt(Math.max(0, elementCount - 1));
  const bits = largest === 0n ? 0 : largest.toString(2).length;
  refuseUnheld(Number(largest), dtype);
  return integers(BigInt(bits >> 1), BigInt(bits - (bits >> 1)));
};

/** The element's bits. */
const packConstant: RulePacker<'constant'> = ({ value }, { dtype }) => {
  const element = new Uint8Array(8);
  element.set(encode([value], dtype));
  return element;
};

const RULE_PACKERS: { readonly [K in DrawRule['kind']]: RulePacker<K> } = {
  normal: packNormal,
  uniform: packUniform,
  integers: packIntegers,
  permutation: packPermutation,
  constant: packConstant,
};

/** Refuses whole numbers that the dtype would change: floating-point types round large ones, and integer types overflow. */
function refuseUnheld(value: number, dtype: DType): void {
  const limit = WHOLE_NUMBER_LIMITS[dtype];
  const holds = isFloating(dtype) ? Math.abs(value) <= limit! : roundTo(dtype)(value) === value;
  if (!holds) throw new RangeError(`${dtype} does not hold every whole number up to ${value}`);
}

/** Up to these, every whole number is a value of the floating-point type: 2 to the power of its significand's bits. */
const WHOLE_NUMBER_LIMITS: Partial<Record<DType, number>> = { f16: 2 ** 11, bf16: 2 ** 8, f32: 2 ** 24, f64: 2 ** 53 };

/** Least and greatest value of the dtype in [low, high). */
function valuesWithin(low: number, high: number, dtype: DType): [least: number, greatest: number] | undefined {
  const round = roundTo(dtype);
  const least = round(low) >= low ? round(low) : neighbour(round(low), dtype, 1);
  const greatest = round(high) < high ? round(high) : neighbour(round(high), dtype, -1);
  return least <= greatest && least < high ? [least, greatest] : undefined;
}

/** The dtype's next value up (1) or down (−1). */
function neighbour(value: number, dtype: DType, direction: 1 | -1): number {
  if (!isFloating(dtype)) return roundTo(dtype)(value + direction);
  const decodeBits = (bits: bigint): number =>
    decode(new Uint8Array(BigUint64Array.of(bits).buffer, 0, sizeOfDType(dtype)), dtype)[0]!;
  if (value === 0) return direction * decodeBits(1n);
  const view = new DataView(new ArrayBuffer(8));
  new Uint8Array(view.buffer).set(encode([value], dtype));
  const away = Math.sign(value) === direction ? 1n : -1n;
  return decodeBits(view.getBigUint64(0, true) + away);
}

/** Vectors that each thread copies. Each CTA copies one tile of {@link HARNESS_BLOCK} times as many. */
const COPY_VECTORS_PER_THREAD = 4;

/** CTAs of a launch of `copy4`, `copy8` or `copy16`. */
export const copyGrid = (vectorCount: number): number =>
  Math.max(1, Math.min(2 ** 31 - 1, Math.ceil(vectorCount / (HARNESS_BLOCK * COPY_VECTORS_PER_THREAD))));
