import { DEVICE_MEMORY_MAXIMUM_PAGES, LANES, SHARED } from '../layout.ts';
import type { MemoryIndex } from '../wasm/function-builder.ts';
import { ModuleBuilder } from '../wasm/module-builder.ts';

/** A warp's copies from device memory to shared memory, in WebAssembly. */
export interface LaneCopier {
  /**
   * Copies the same number of bytes for each lane: 4, 8 or 16.
   * @param copy of each lane, the target in shared memory; then of each, the source; then of each, 0 where the target gets zeros.
   */
  copy(copy: Uint32Array, bytes: number): void;
}

/** Words for each lane in what `copy` takes. */
export const COPY_WORDS = 3;

const [DEVICE, SCRATCH]: readonly MemoryIndex[] = [1, 2];
const [TARGETS, SOURCES, TAKEN] = [0, LANES * 4, LANES * 8];

const SIZES = [
  { bytes: 4, name: 'copy4', load: 'i32.load', store: 'i32.store' },
  { bytes: 8, name: 'copy8', load: 'i64.load', store: 'i64.store' },
  { bytes: 16, name: 'copy16', load: 'v128.load', store: 'v128.store' },
] as const;

let compiled: WebAssembly.Module | undefined;

/** @param memory where shared memory lies. */
export function createLaneCopier(memory: WebAssembly.Memory, device: WebAssembly.Memory): LaneCopier {
  compiled ??= new WebAssembly.Module(emit());
  const scratch = new WebAssembly.Memory({ initial: 1 });
  const { exports } = new WebAssembly.Instance(compiled, { env: { memory, device, scratch } });
  const words = new Uint32Array(scratch.buffer, 0, COPY_WORDS * LANES);
  const functions = new Map<number, () => void>(SIZES.map(({ bytes, name }) => [bytes, exports[name] as () => void]));
  return {
    copy(copy, bytes) {
      words.set(copy);
      functions.get(bytes)!();
    },
  };
}

function emit(): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder();
  module.importMemory({ name: 'memory', minimumPages: 1 });
  module.importMemory({ name: 'device', minimumPages: 1, sharedMaximumPages: DEVICE_MEMORY_MAXIMUM_PAGES });
  module.importMemory({ name: 'scratch', minimumPages: 1 });
  for (const { bytes, name, load, store } of SIZES) {
    const f = module.defineFunction({ parameters: [], results: [] });
    for (let lane = 0; lane < LANES; lane++) {
      const word = (place: number) => f.i32(0).memory('i32.load', place + lane * 4, SCRATCH);
      word(TARGETS);
      word(SOURCES).memory(load, 0, DEVICE);
      word(TAKEN).i32(0).op('i32.ne');
      if (bytes === 16) f.op('i32x4.splat').op('i32x4.neg').op('v128.and');
      else if (bytes === 8) f.op('i64.extend_i32_u').op('i64.mul');
      else f.op('i32.mul');
      f.memory(store, SHARED);
    }
    module.exportFunction(name, f);
  }
  return module.encode();
}
