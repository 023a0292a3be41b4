/** Numbers of the CUDA driver API. Source: cuda.h, CUDA 13.0; they never change between versions. */

/** CUdevice_attribute. */
export const DEVICE_ATTRIBUTE = {
  maximumThreadsPerCta: 1,
  maximumBlockX: 2,
  maximumBlockY: 3,
  maximumBlockZ: 4,
  maximumGridX: 5,
  maximumGridY: 6,
  maximumGridZ: 7,
  defaultSharedBytesPerCta: 8,
  warpSize: 10,
  registersPerCta: 12,
  clockRateKhz: 13,
  smCount: 16,
  computeMode: 20,
  eccEnabled: 32,
  pciBusId: 33,
  pciDeviceId: 34,
  memoryClockRateKhz: 36,
  memoryBusBits: 37,
  l2Bytes: 38,
  maximumThreadsPerSm: 39,
  pciDomainId: 50,
  computeCapabilityMajor: 75,
  computeCapabilityMinor: 76,
  sharedBytesPerSm: 81,
  registersPerSm: 82,
  cooperativeLaunch: 95,
  sharedBytesPerCtaOptIn: 97,
  maximumCtasPerSm: 106,
  reservedSharedBytesPerCta: 111,
  clusterLaunch: 120,
} as const;
export type DeviceAttribute = keyof typeof DEVICE_ATTRIBUTE;
export type DeviceAttributes = Readonly<Record<DeviceAttribute, number>>;

/** CUfunction_attribute. */
export const FUNCTION_ATTRIBUTE = {
  maximumThreadsPerCta: 0,
  staticSharedBytes: 1,
  localBytes: 3,
  registers: 4,
  maximumDynamicSharedBytes: 8,
  carveOut: 9,
  clusterSizeMustBeSet: 10,
  requiredClusterX: 11,
  requiredClusterY: 12,
  requiredClusterZ: 13,
  nonPortableClusterAllowed: 14,
} as const;

/** CUjit_option. */
export const JIT_OPTION = {
  infoLog: 3,
  infoLogBytes: 4,
  errorLog: 5,
  errorLogBytes: 6,
  verbose: 12,
  lineInfo: 13,
} as const;

/** CUlaunchAttributeID. */
export const LAUNCH_ATTRIBUTE = { cooperative: 2, clusterDimension: 4, programmaticStreamSerialization: 6 } as const;

/** CU_STREAM_NON_BLOCKING: no implicit ordering with the legacy default stream. */
export const STREAM_NON_BLOCKING = 1;
/** CU_STREAM_CAPTURE_MODE_THREAD_LOCAL. */
export const CAPTURE_MODE_THREAD_LOCAL = 1;
/** CU_EVENT_DEFAULT: with timing. */
export const EVENT_DEFAULT = 0;
/** CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP. */
export const HOST_MEMORY_MAPPED = 3;

/** CUtensorMap… */
export const TENSOR_MAP_DTYPE: Readonly<Record<string, number>> = {
  u8: 0,
  i8: 0,
  u16: 1,
  i16: 1,
  u32: 2,
  i32: 3,
  u64: 4,
  i64: 5,
  f16: 6,
  f32: 7,
  f64: 8,
  bf16: 9,
};
export const TENSOR_MAP_INTERLEAVE: Readonly<Record<string, number>> = { none: 0, '16B': 1, '32B': 2 };
export const TENSOR_MAP_SWIZZLE: Readonly<Record<string, number>> = { none: 0, '32B': 1, '64B': 2, '128B': 3 };
export const TENSOR_MAP_L2_PROMOTION: Readonly<Record<string, number>> = { none: 0, '64B': 1, '128B': 2, '256B': 3 };
export const TENSOR_MAP_FILL: Readonly<Record<string, number>> = { zeros: 0, nan: 1 };
