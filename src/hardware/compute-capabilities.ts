import * as sources from './specs/sources.ts';

/** Figures of an SM that follow from the compute capability. Rates as in DeviceSpec: lane operations per clock per SM. */
export interface ComputeCapability {
  /** e.g. `8.6`. */
  readonly name: string;
  readonly maximumWarpsPerSm: number;
  readonly maximumCtasPerSm: number;
  readonly sharedBytesPerSm: number;
  readonly reservedSharedBytesPerCta: number;
  readonly sharedAllocationUnitBytes: number;
  readonly fp32PerClock: number;
  /** Lanes of half2 instructions: half of the results per clock. */
  readonly fp16PerClock: number;
  readonly fp64PerClock: number;
  readonly tensorFp16FlopPerClock: number;
  readonly lsuRequestsPerClock: number;
  /** GPUs with HBM have the wider path to L2. */
  readonly memory: 'hbm' | 'gddr';
}

const KIB = 1024;

/**
 * Limits: table "Technical Specifications per Compute Capability"; arithmetic: table "Throughput of Native Arithmetic
 * Instructions". Tensor rates: the dense fp16 peak of the largest board's datasheet ÷ (SMs × boost clock), the faster of
 * fp16 and fp32 accumulation: V100 1024, RTX 2080 Ti 1024, A100 2048, RTX 3090 Ti 1024, AGX Orin 2048, RTX 4090 1024,
 * H100 4096, B200 8192, RTX 5090 1024. What a bound takes from here may be too fast for a board, never too slow.
 */
const TABLE: readonly ComputeCapability[] = [
  row('7.0', [64, 32, 96, 0, 256], [64, 64, 32, 1024, 1], 'hbm'),
  row('7.5', [32, 16, 64, 0, 256], [64, 64, 2, 1024, 0.5], 'gddr'),
  row('8.0', [64, 32, 164, 1, 128], [64, 128, 32, 2048, 1], 'hbm'),
  row('8.6', [48, 16, 100, 1, 128], [128, 128, 2, 1024, 0.5], 'gddr'),
  row('8.7', [48, 16, 164, 1, 128], [128, 128, 2, 2048, 0.5], 'gddr'),
  row('8.9', [48, 24, 100, 1, 128], [128, 128, 2, 1024, 0.5], 'gddr'),
  row('9.0', [64, 32, 228, 1, 128], [128, 128, 64, 4096, 1], 'hbm'),
  row('10.0', [64, 32, 228, 1, 128], [128, 128, 64, 8192, 1], 'hbm'),
  row('12.0', [48, 24, 100, 1, 128], [128, 128, 2, 1024, 0.5], 'gddr'),
];

export const CAPABILITY_SOURCES = {
  limits: sources.computeCapabilities,
  throughput: sources.throughput,
  tensor: 'datasheet of the largest board of the compute capability: dense fp16 peak ÷ (SMs × boost clock)',
} as const;

function row(
  name: string,
  [maximumWarpsPerSm, maximumCtasPerSm, sharedKib, reservedKib, sharedAllocationUnitBytes]: Limits,
  [fp32PerClock, fp16PerClock, fp64PerClock, tensorFp16FlopPerClock, lsuRequestsPerClock]: Rates,
  memory: 'hbm' | 'gddr',
): ComputeCapability {
  return {
    name,
    maximumWarpsPerSm,
    maximumCtasPerSm,
    sharedBytesPerSm: sharedKib * KIB,
    reservedSharedBytesPerCta: reservedKib * KIB,
    sharedAllocationUnitBytes,
    fp32PerClock,
    fp16PerClock,
    fp64PerClock,
    tensorFp16FlopPerClock,
    lsuRequestsPerClock,
    memory,
  };
}
type Limits = readonly [warps: number, ctas: number, sharedKib: number, reservedKib: number, allocationUnit: number];
type Rates = readonly [fp32: number, fp16: number, fp64: number, tensor: number, lsu: number];

function order(name: string): number {
  const [major, minor] = name.split('.').map(Number);
  return major! * 100 + minor!;
}

/** The table's row for a compute capability, or of the newest older one: new minor versions differ little. */
export const capabilityOf = (major: number, minor: number): ComputeCapability =>
  TABLE.findLast(({ name }) => order(name) <= major * 100 + minor) ?? TABLE[0]!;
