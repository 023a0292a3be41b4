import { NativeMemory } from '../../../ffi/native-memory.ts';
import { structLayout } from '../../../ffi/struct-layout.ts';
import { LAUNCH_ATTRIBUTE } from './constants.ts';

/** Source of sizes and fields: cuda.h, CUDA 13.0. */
const LAUNCH_CONFIG = structLayout('CUlaunchConfig', 56, {
  gridX: 'u32',
  gridY: 'u32',
  gridZ: 'u32',
  blockX: 'u32',
  blockY: 'u32',
  blockZ: 'u32',
  dynamicSharedBytes: 'u32',
  stream: 'address',
  attributes: 'address',
  attributeCount: 'u32',
});

/** The value is a union of 64 bytes. */
const LAUNCH_ATTRIBUTE_LAYOUT = structLayout('CUlaunchAttribute', 72, { id: 'i32', padding: 4, value: 64 });

export const TENSOR_MAP_BYTES = 128;
/** cuda.h requires 64 up to CUDA 12, and 128 from CUDA 13 on. */
export const TENSOR_MAP_ALIGNMENT_BYTES = 128;

export interface LaunchConfiguration {
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly dynamicSharedBytes: number;
  readonly cluster?: readonly [number, number, number] | undefined;
  readonly cooperative?: boolean;
  readonly programmaticDependent?: boolean;
}

/** A CUlaunchConfig with its attributes; `stream` is set at launch. */
export class LaunchConfig {
  readonly #config = new NativeMemory(LAUNCH_CONFIG.bytes);
  readonly #attributes: NativeMemory;

  constructor(configuration: LaunchConfiguration) {
    const attributes = attributesOf(configuration);
    this.#attributes = new NativeMemory(Math.max(1, attributes.length) * LAUNCH_ATTRIBUTE_LAYOUT.bytes);
    attributes.forEach(({ id, words }, i) => {
      const start = i * LAUNCH_ATTRIBUTE_LAYOUT.bytes;
      this.#attributes.view.setInt32(start + LAUNCH_ATTRIBUTE_LAYOUT.offsets.id, id, true);
      words.forEach((word, w) => {
        this.#attributes.view.setUint32(start + LAUNCH_ATTRIBUTE_LAYOUT.offsets.value + 4 * w, word, true);
      });
    });
    const { view } = this.#config;
    const { offsets } = LAUNCH_CONFIG;
    const { grid, block } = configuration;
    view.setUint32(offsets.gridX, grid[0], true);
    view.setUint32(offsets.gridY, grid[1], true);
    view.setUint32(offsets.gridZ, grid[2], true);
    view.setUint32(offsets.blockX, block[0], true);
    view.setUint32(offsets.blockY, block[1], true);
    view.setUint32(offsets.blockZ, block[2], true);
    view.setUint32(offsets.dynamicSharedBytes, configuration.dynamicSharedBytes, true);
    view.setBigUint64(offsets.attributes, attributes.length === 0 ? 0n : this.#attributes.address, true);
    view.setUint32(offsets.attributeCount, attributes.length, true);
  }

  /** Its address, for a launch in `stream`. */
  addressFor(stream: bigint): bigint {
    this.#config.view.setBigUint64(LAUNCH_CONFIG.offsets.stream, stream, true);
    return this.#config.address;
  }
}

function attributesOf(configuration: LaunchConfiguration): { id: number; words: readonly number[] }[] {
  const { cluster, cooperative, programmaticDependent } = configuration;
  return [
    ...(cluster ? [{ id: LAUNCH_ATTRIBUTE.clusterDimension, words: cluster }] : []),
    ...(cooperative ? [{ id: LAUNCH_ATTRIBUTE.cooperative, words: [1] }] : []),
    ...(programmaticDependent ? [{ id: LAUNCH_ATTRIBUTE.programmaticStreamSerialization, words: [1] }] : []),
  ];
}
