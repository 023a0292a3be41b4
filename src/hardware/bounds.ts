import type { DeviceSpec } from '../core/device-spec.ts';
import type { DType } from '../core/dtype.ts';
import type { MeasuredPeaks } from '../core/measured-peaks.ts';
import type { Tolerance } from '../core/problem.ts';
import type { Roof } from '../core/roofline.ts';
import { figure } from '../core/values.ts';

/** problem.json's cost expressions, evaluated for one workload. */
export interface ProblemWork {
  /** Floating-point operations of the usual algorithm. */
  readonly flop: number;
  /** Floating-point operations no algorithm can avoid. */
  readonly minimumFlop: number;
  /** Bytes that must be read when the caches are cold. */
  readonly minimumReadBytes: number;
  readonly comparison: Tolerance;
  readonly cache: 'hot' | 'cold';
  /**
   * Cold only: share of the reads that L2 may still serve, because part of the ring of slots stays in it from one round to
   * the next: at most L2 ÷ ring. 0 if absent.
   */
  readonly cachedReadRatio?: number;
}

/** A lower bound on a time, and how it was reached. */
export interface TimeBound {
  readonly ns: number;
  readonly arithmetic: string;
}

interface Pipe {
  readonly name: string;
  readonly flopPerClock: number;
  /** Tensor cores: products that make one product of the demanded precision. */
  readonly tensorProducts?: number;
}

/** Significand bits of fp16, the widest piece a fp16 tensor core multiplies exactly. */
const TENSOR_PIECE_BITS = 11;
/** Bits a loose comparison may give away before the storage type's own precision is needed. */
const GIVEN_AWAY_BITS = 2;
const SIGNIFICAND_BITS: Partial<Record<DType, number>> = { f16: 11, bf16: 8, f32: 24, f64: 53 };

/** The dtype whose precision a comparison demands; undefined when it names none. */
function demandedDType(comparison: Tolerance): DType | undefined {
  if (comparison.kind === 'calibrated') return comparison.storage;
  if (comparison.kind === 'conditioned') return comparison.unit;
  return undefined;
}

/**
 * Tensor-core products one product of `dtype` takes at least: a value split into s fp16 pieces needs the
 * s(s+1)/2 leading products. 1 when the comparison names no type, which is the weakest and so the safe claim.
 */
function tensorProducts(dtype: DType | undefined): number {
  const bits = dtype === undefined ? 0 : (SIGNIFICAND_BITS[dtype] ?? 0);
  const pieces = Math.max(1, Math.ceil((bits - GIVEN_AWAY_BITS) / TENSOR_PIECE_BITS));
  return (pieces * (pieces + 1)) / 2;
}

/** The fastest pipe on which results can still meet the comparison, in FLOP per clock per SM. */
function fastestPipe(comparison: Tolerance, spec: DeviceSpec): Pipe {
  const dtype = demandedDType(comparison);
  const products = tensorProducts(dtype);
  const vector: Pipe =
    dtype === 'f64'
      ? { name: 'fp64', flopPerClock: 2 * spec.fp64PerClock.value }
      : { name: 'fp32', flopPerClock: 2 * spec.fp32PerClock.value };
  const tensor: Pipe = {
    name: products === 1 ? 'fp16 tensor' : `fp16 tensor ÷ ${products} products`,
    flopPerClock: spec.tensorFp16FlopPerClock.value / products,
    tensorProducts: products,
  };
  return tensor.flopPerClock >= vector.flopPerClock ? tensor : vector;
}

const pipeRate = (pipe: Pipe, clockHz: number, share: number, spec: DeviceSpec): number =>
  pipe.flopPerClock * spec.smCount.value * clockHz * share;

function computeBound(flop: number, pipe: Pipe, clockHz: number, share: number, spec: DeviceSpec): TimeBound {
  const rate = pipeRate(pipe, clockHz, share, spec);
  const ns = (flop / rate) * 1e9;
  const shareText = share === 1 ? '' : ` × ${share}`;
  return {
    ns,
    arithmetic:
      `${figure(flop)} FLOP ÷ (${spec.smCount.value} SMs × ${figure(pipe.flopPerClock)} FLOP/clock (${pipe.name})` +
      ` × ${figure(clockHz / 1e9)} GHz${shareText}) = ${figure(ns)} ns`,
  };
}

function readBound(bytes: number, bytesPerSecond: number, level: string): TimeBound {
  const ns = (bytes / bytesPerSecond) * 1e9;
  return { ns, arithmetic: `${figure(bytes)} B ÷ ${figure(bytesPerSecond / 1e9)} GB/s (${level}) = ${figure(ns)} ns` };
}

const larger = (a: TimeBound, b: TimeBound): TimeBound => (b.ns > a.ns ? b : a);

/**
 * Provable lower bound in ns: minimum FLOP on the fastest pipe the comparison admits at the maximum clock and,
 * cold only, minimum bytes read at the datasheet DRAM rate, without those that may have stayed in L2. Only this may call
 * a time implausible.
 */
export function vetoBoundNs(work: ProblemWork, spec: DeviceSpec): TimeBound {
  const pipe = fastestPipe(work.comparison, spec);
  const compute = computeBound(work.minimumFlop, pipe, spec.boostClockHz.value, 1, spec);
  if (work.cache === 'hot') return compute;
  const bytes = work.minimumReadBytes * Math.max(0, 1 - (work.cachedReadRatio ?? 0));
  return larger(compute, readBound(bytes, spec.dramBytesPerSecond.value, 'DRAM datasheet'));
}

/**
 * Share of the tensor peak that large matrix products reach.
 * Source: own measurement on one H200 SXM, 790 of 989 TFLOP/s in a bf16 8192³ product.
 */
const ATTAINABLE_COMPUTE_SHARE = 0.8;

/** The measured rate of the matrix product, if it was measured for this pipe. */
function measuredComputeBound(flop: number, pipe: Pipe, peaks: MeasuredPeaks | undefined): TimeBound | undefined {
  if (peaks?.matrixFlopPerSecond === undefined || pipe.tensorProducts === undefined) return undefined;
  const rate = peaks.matrixFlopPerSecond / pipe.tensorProducts;
  const ns = (flop / rate) * 1e9;
  const products = pipe.tensorProducts === 1 ? '' : ` ÷ ${pipe.tensorProducts} products`;
  return {
    ns,
    arithmetic:
      `${figure(flop)} FLOP ÷ ${figure(peaks.matrixFlopPerSecond / 1e12)} TFLOP/s${products} (measured matrix product;` +
      ` datasheet ${figure(peaks.datasheet.matrixFlopPerSecond / 1e12)} dense) = ${figure(ns)} ns`,
  };
}

interface ReadRate {
  readonly bytesPerSecond: number;
  readonly level: string;
}

/** Cold: DRAM as measured, else the datasheet's rate times what streaming kernels reach. Hot: L2. */
function attainableReadRate(
  { cache }: Pick<ProblemWork, 'cache'>,
  spec: DeviceSpec,
  peaks: MeasuredPeaks | undefined,
): ReadRate {
  if (cache === 'hot') return { bytesPerSecond: spec.l2BytesPerClock.value * spec.sustainedClockHz.value, level: 'L2' };
  if (peaks === undefined) return attainableDram(spec);
  const datasheet = figure(peaks.datasheet.dramBytesPerSecond / 1e9);
  return { bytesPerSecond: peaks.copyBytesPerSecond, level: `measured copy; datasheet ${datasheet}` };
}

const attainableDram = (spec: DeviceSpec): ReadRate => ({
  bytesPerSecond: spec.dramBytesPerSecond.value * spec.dramAttainableRatio.value,
  level: 'attainable DRAM',
});

/** Hot reads come from L2, and from DRAM what L2 can't hold. A copy's rate is no bound there: reads alone are faster than it. */
function attainableRead(work: ProblemWork, spec: DeviceSpec, peaks: MeasuredPeaks | undefined): TimeBound {
  const { bytesPerSecond, level } = attainableReadRate(work, spec, peaks);
  const read = readBound(work.minimumReadBytes, bytesPerSecond, level);
  const bytesBeyondL2 = work.minimumReadBytes - spec.l2Bytes.value;
  if (work.cache === 'cold' || bytesBeyondL2 <= 0) return read;
  const dram = attainableDram(spec);
  return larger(read, readBound(bytesBeyondL2, dram.bytesPerSecond, `${dram.level}, what L2 can't hold`));
}

/**
 * Time in ns at realistic rates. It is the larger of two, plus one launch: the usual algorithm's FLOP at the measured
 * matrix rate (or a realistic share of the peak at the sustained clock), and the reads at the rate of DRAM (cold; measured
 * if possible) or L2 (hot; DRAM for what it can't hold). Never below the lower bound, which does not use measured peaks.
 */
export function attainableBoundNs(work: ProblemWork, spec: DeviceSpec, peaks?: MeasuredPeaks): TimeBound {
  const pipe = fastestPipe(work.comparison, spec);
  const compute =
    measuredComputeBound(work.flop, pipe, peaks) ??
    computeBound(work.flop, pipe, spec.sustainedClockHz.value, ATTAINABLE_COMPUTE_SHARE, spec);
  const slower = larger(compute, attainableRead(work, spec, peaks));
  const launchNs = spec.launchOverheadNs.value;
  const realistic: TimeBound = {
    ns: slower.ns + launchNs,
    arithmetic: `${slower.arithmetic}, + ${launchNs} ns launch = ${figure(slower.ns + launchNs)} ns`,
  };
  return larger(realistic, vetoBoundNs(work, spec));
}

/** The rates that {@link vetoBoundNs} divides by. Hot reads have no provable rate. */
export function vetoRoof({ comparison, cache }: Pick<ProblemWork, 'comparison' | 'cache'>, spec: DeviceSpec): Roof {
  const pipe = fastestPipe(comparison, spec);
  const isCold = cache === 'cold';
  return {
    flopPerSecond: pipeRate(pipe, spec.boostClockHz.value, 1, spec),
    computeSource: `${pipe.name}, peak at the maximum clock`,
    bytesPerSecond: isCold ? spec.dramBytesPerSecond.value : null,
    memorySource: isCold ? 'DRAM datasheet' : null,
  };
}

/** The rates that {@link attainableBoundNs} divides by. */
export function attainableRoof(
  { comparison, cache }: Pick<ProblemWork, 'comparison' | 'cache'>,
  spec: DeviceSpec,
  peaks?: MeasuredPeaks,
): Roof {
  const pipe = fastestPipe(comparison, spec);
  const { bytesPerSecond, level } = attainableReadRate({ cache }, spec, peaks);
  const measured = pipe.tensorProducts === undefined ? undefined : peaks?.matrixFlopPerSecond;
  const sustained = pipeRate(pipe, spec.sustainedClockHz.value, ATTAINABLE_COMPUTE_SHARE, spec);
  return {
    flopPerSecond: measured === undefined ? sustained : measured / pipe.tensorProducts!,
    computeSource:
      measured === undefined
        ? `${pipe.name}, ${ATTAINABLE_COMPUTE_SHARE} of the peak at the sustained clock`
        : `${pipe.name}, measured matrix product`,
    bytesPerSecond,
    memorySource: level,
  };
}
