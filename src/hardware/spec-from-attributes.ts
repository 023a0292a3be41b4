import type { DeviceSpec, Sourced } from '../core/device-spec.ts';
import { LANES_PER_WARP } from '../core/gpu-sizes.ts';
import { CAPABILITY_SOURCES, type ComputeCapability, capabilityOf } from './compute-capabilities.ts';
import { A100 } from './specs/a100.ts';
import { H100 } from './specs/h100.ts';
import { H200 } from './specs/h200.ts';
import { L4 } from './specs/l4.ts';
import * as sources from './specs/sources.ts';

/** Attributes of a GPU for its spec, from the driver; 0 if the driver does not know one. */
export interface SpecAttributes {
  readonly computeCapabilityMajor: number;
  readonly computeCapabilityMinor: number;
  readonly smCount: number;
  /** Highest SM clock. */
  readonly clockRateKhz: number;
  readonly memoryClockRateKhz: number;
  readonly memoryBusBits: number;
  readonly l2Bytes: number;
  readonly maximumThreadsPerSm: number;
  readonly maximumThreadsPerCta: number;
  readonly maximumCtasPerSm: number;
  readonly registersPerSm: number;
  readonly sharedBytesPerSm: number;
  readonly sharedBytesPerCtaOptIn: number;
  readonly reservedSharedBytesPerCta: number;
}

/** CUdevice_attribute numbers of {@link SpecAttributes}. Source: cuda.h. */
export const DEVICE_ATTRIBUTES: Readonly<Record<keyof SpecAttributes, number>> = {
  computeCapabilityMajor: 75,
  computeCapabilityMinor: 76,
  smCount: 16,
  clockRateKhz: 13,
  memoryClockRateKhz: 36,
  memoryBusBits: 37,
  l2Bytes: 38,
  maximumThreadsPerSm: 39,
  maximumThreadsPerCta: 1,
  maximumCtasPerSm: 106,
  registersPerSm: 82,
  sharedBytesPerSm: 81,
  sharedBytesPerCtaOptIn: 97,
  reservedSharedBytesPerCta: 111,
};

/** A GPU as its driver describes it. */
export interface DescribedDevice {
  readonly name: string;
  /** e.g. `sm_90a`. */
  readonly architecture: string;
  readonly totalBytes: number;
  readonly attributes: SpecAttributes;
  /** Highest SM clock that NVML names; may lie above the driver's. */
  readonly maximumSmClockMhz?: number | undefined;
}

/**
 * Boards whose rates and latencies are known, by words of their names. `\b` keeps L40 and GH200 out. The H100 and the A100
 * are the SXM boards with 80 GB: others have another clock or memory. The RTX 4090 is not among them: its spec has the
 * tensor rate with fp32 accumulation, and a bound that may call a time implausible needs the faster one.
 */
const KNOWN_BOARDS: readonly { name: RegExp; capability: string; spec: DeviceSpec }[] = [
  { name: /\bH200\b/, capability: '9.0', spec: H200 },
  { name: /\bH100 80GB HBM3\b/, capability: '9.0', spec: H100 },
  { name: /\bA100-SXM4-80GB\b/, capability: '8.0', spec: A100 },
  { name: /\bL4\b/, capability: '8.9', spec: L4 },
];

/** The board that a GPU's name identifies, if its rates are known. */
export const boardNamed = (gpu: string): DeviceSpec | undefined =>
  KNOWN_BOARDS.find(({ name }) => name.test(gpu))?.spec;

const DRIVER = 'read from the driver';

/**
 * The spec of a real GPU: the driver's figures, completed by those of the known board, or else of its compute capability.
 * Each figure names its source.
 */
export function specFromAttributes(device: DescribedDevice): DeviceSpec {
  const { computeCapabilityMajor: major, computeCapabilityMinor: minor } = device.attributes;
  const known = KNOWN_BOARDS.find(
    ({ name, capability }) => name.test(device.name) && capability === `${major}.${minor}`,
  );
  const base = known?.spec ?? unknownBoard(device, capabilityOf(major, minor));
  return { ...base, name: device.name, architecture: device.architecture, ...readFigures(device, base) };
}

/** The figures that the driver tells. */
function readFigures(device: DescribedDevice, base: DeviceSpec): Partial<DeviceSpec> {
  const { attributes } = device;
  const boostClockHz = maximumClock(device, base.boostClockHz);
  const sustained = base.sustainedClockHz;
  return {
    boostClockHz,
    sustainedClockHz: sustained.value > boostClockHz.value ? boostClockHz : sustained,
    smCount: read(attributes, 'smCount', base.smCount),
    maximumWarpsPerSm: read(attributes, 'maximumThreadsPerSm', base.maximumWarpsPerSm, 1 / LANES_PER_WARP),
    maximumCtasPerSm: read(attributes, 'maximumCtasPerSm', base.maximumCtasPerSm),
    maximumThreadsPerCta: read(attributes, 'maximumThreadsPerCta', base.maximumThreadsPerCta),
    registersPerSm: read(attributes, 'registersPerSm', base.registersPerSm),
    sharedBytesPerSm: read(attributes, 'sharedBytesPerSm', base.sharedBytesPerSm),
    sharedBytesPerCta: read(attributes, 'sharedBytesPerCtaOptIn', base.sharedBytesPerCta),
    reservedSharedBytesPerCta: read(attributes, 'reservedSharedBytesPerCta', base.reservedSharedBytesPerCta),
    l2Bytes: read(attributes, 'l2Bytes', base.l2Bytes),
    dramBytes: device.totalBytes > 0 ? { value: device.totalBytes, source: DRIVER } : base.dramBytes,
  };
}

function read(attributes: SpecAttributes, name: keyof SpecAttributes, otherwise: Sourced, factor = 1): Sourced {
  const value = attributes[name] * factor;
  return value > 0 ? { value, source: `${DRIVER}: CUdevice_attribute ${DEVICE_ATTRIBUTES[name]}` } : otherwise;
}

/** The highest clock anybody names: the lower bound is provable only if no kernel can run at a higher one. */
function maximumClock(device: DescribedDevice, otherwise: Sourced): Sourced {
  const told: Sourced[] = [
    read(device.attributes, 'clockRateKhz', { value: 0, source: '' }, 1e3),
    { value: (device.maximumSmClockMhz ?? 0) * 1e6, source: 'read from NVML: highest SM clock' },
  ];
  return told.reduce((highest, clock) => (clock.value > highest.value ? clock : highest), otherwise);
}

/** A spec for a board of which only compute capability and attributes are known. */
function unknownBoard(device: DescribedDevice, capability: ComputeCapability): DeviceSpec {
  const { attributes } = device;
  // Latencies and widths per SM of the measured board with the same kind of memory.
  const model = capability.memory === 'hbm' ? H200 : L4;
  const like = ({ value, source }: Sourced): Sourced => ({
    value,
    source: `assumption: as on ${model.name}, the nearest board known (${source})`,
  });
  const limit = (value: number): Sourced => ({ value, source: `${CAPABILITY_SOURCES.limits}, ${capability.name}` });
  const rate = (value: number): Sourced => ({ value, source: `${CAPABILITY_SOURCES.throughput}, ${capability.name}` });
  const clock = maximumClock(device, { value: 0, source: '' });
  const boostClockHz = clock.value > 0 ? clock : like(model.boostClockHz);
  const smCount = read(attributes, 'smCount', like(model.smCount));
  return {
    id: idOf(device.name),
    name: device.name,
    architecture: device.architecture,
    smCount,
    boostClockHz,
    sustainedClockHz: { value: boostClockHz.value, source: 'assumption: the maximum clock' },
    schedulersPerSm: { value: 4, source: sources.occupancyHeader },
    maximumWarpsPerSm: limit(capability.maximumWarpsPerSm),
    maximumCtasPerSm: limit(capability.maximumCtasPerSm),
    maximumThreadsPerCta: limit(1024),
    registersPerSm: limit(65536),
    registerAllocationUnit: { value: 256, source: sources.occupancyHeader },
    maximumRegistersPerThread: limit(255),
    sharedBytesPerSm: limit(capability.sharedBytesPerSm),
    sharedBytesPerCta: limit(capability.sharedBytesPerSm - capability.reservedSharedBytesPerCta),
    reservedSharedBytesPerCta: { value: capability.reservedSharedBytesPerCta, source: sources.sharedReservation },
    sharedAllocationUnitBytes: { value: capability.sharedAllocationUnitBytes, source: sources.occupancyHeader },
    fp32PerClock: rate(capability.fp32PerClock),
    fp16PerClock: rate(capability.fp16PerClock),
    fp64PerClock: rate(capability.fp64PerClock),
    integerPerClock: rate(64),
    specialPerClock: rate(16),
    conversionPerClock: rate(64),
    tensorFp16FlopPerClock: { value: capability.tensorFp16FlopPerClock, source: CAPABILITY_SOURCES.tensor },
    sharedWavefrontsPerClock: like(model.sharedWavefrontsPerClock),
    lsuRequestsPerClock: {
      value: capability.lsuRequestsPerClock,
      source: `load/store units per SM of compute capability ${capability.name} ÷ 32`,
    },
    l1BytesPerClock: like(model.l1BytesPerClock),
    l2BytesPerClock: {
      value: (model.l2BytesPerClock.value / model.smCount.value) * smCount.value,
      source: `assumption: as much per SM as on ${model.name}`,
    },
    l2Bytes: like(model.l2Bytes),
    dramBytesPerSecond: dramRate(attributes) ?? like(model.dramBytesPerSecond),
    dramAttainableRatio: like(model.dramAttainableRatio),
    dramBytes: like(model.dramBytes),
    latencyClocks: mapFigures(model.latencyClocks, like),
    launchOverheadNs: like(model.launchOverheadNs),
    memsetNs: model.memsetNs && like(model.memsetNs),
    calibration: {
      basis: 'published',
      note: `This board was never measured; its latencies are those of ${model.name}.`,
    },
  };
}

/** Both edges of the memory clock move the bus's width. */
function dramRate({ memoryClockRateKhz, memoryBusBits }: SpecAttributes): Sourced | undefined {
  const value = memoryClockRateKhz * 1e3 * 2 * (memoryBusBits / 8);
  if (!(value > 0)) return undefined;
  return { value, source: `${DRIVER}: memory clock ${memoryClockRateKhz / 1e3} MHz × 2 × ${memoryBusBits} bits ÷ 8` };
}

const mapFigures = <F extends string>(figures: Readonly<Record<F, Sourced>>, map: (figure: Sourced) => Sourced) =>
  Object.fromEntries(Object.entries<Sourced>(figures).map(([name, figure]) => [name, map(figure)])) as Record<
    F,
    Sourced
  >;

/** `NVIDIA RTX A6000` → `rtx-a6000`. */
const idOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/^nvidia\s+/, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
