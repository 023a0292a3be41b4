import type { PlannedArgument } from '../../../core/launch-plan.ts';
import { NativeMemory } from '../../../ffi/native-memory.ts';
import {
  TENSOR_MAP_DTYPE,
  TENSOR_MAP_FILL,
  TENSOR_MAP_INTERLEAVE,
  TENSOR_MAP_L2_PROMOTION,
  TENSOR_MAP_SWIZZLE,
} from '../driver/constants.ts';
import type { Driver } from '../driver/driver.ts';
import { TENSOR_MAP_ALIGNMENT_BYTES, TENSOR_MAP_BYTES } from '../driver/structs.ts';

export type TensorMapArgument = Extract<PlannedArgument, { kind: 'tensor-map' }>;

function words64(values: readonly number[]): NativeMemory {
  const memory = new NativeMemory(8 * Math.max(1, values.length));
  for (const [i, value] of values.entries()) memory.view.setBigUint64(8 * i, BigInt(value), true);
  return memory;
}
function words32(values: readonly number[]): NativeMemory {
  const memory = new NativeMemory(4 * Math.max(1, values.length));
  for (const [i, value] of values.entries()) memory.view.setUint32(4 * i, value, true);
  return memory;
}

/** The encoded map, or the reason in words why the driver refuses it. */
export function encodeTensorMap(
  driver: Driver,
  map: TensorMapArgument,
  address: bigint,
): { map: NativeMemory } | { refusal: string } {
  const encode = driver.optional.cuTensorMapEncodeTiled;
  if (!encode) return { refusal: 'this driver cannot encode tensor maps; CUDA 12 or later can' };
  const dtype = TENSOR_MAP_DTYPE[map.dtype];
  if (dtype === undefined) return { refusal: `tensor maps have no type ${map.dtype}` };
  const encoded = new NativeMemory(TENSOR_MAP_BYTES, TENSOR_MAP_ALIGNMENT_BYTES);
  const [dimensions, strides] = [words64(map.globalDim), words64(map.globalStridesBytes)];
  const [box, elementStrides] = [words32(map.boxDim), words32(map.elementStrides)];
  const code = encode(
    encoded.address,
    dtype,
    map.globalDim.length,
    address,
    dimensions.address,
    strides.address,
    box.address,
    elementStrides.address,
    TENSOR_MAP_INTERLEAVE[map.interleave] ?? 0,
    TENSOR_MAP_SWIZZLE[map.swizzle] ?? 0,
    TENSOR_MAP_L2_PROMOTION[map.l2Promotion] ?? 0,
    TENSOR_MAP_FILL[map.fill] ?? 0,
  );
  return code === 0
    ? { map: encoded }
    : { refusal: `${driver.error('cuTensorMapEncodeTiled', code).message}; ${describe(map, address)}` };
}

function describe(map: TensorMapArgument, address: bigint): string {
  const list = (values: readonly number[]) => `[${values.join(', ')}]`;
  return `buffer ${map.buffer} at a multiple of ${address & -address}, ${map.dtype}, globalDim ${list(map.globalDim)}, globalStridesBytes ${list(map.globalStridesBytes)}, boxDim ${list(map.boxDim)}, elementStrides ${list(map.elementStrides)}, swizzle ${map.swizzle}, interleave ${map.interleave}, l2Promotion ${map.l2Promotion}, fill ${map.fill}. Addresses, strides and bytes of the inner box must be multiples of 16, each boxDim at most 256, and the inner box of a map that is not interleaved no wider than the swizzle`;
}
