import { SHADOW, SHAPE_BYTES } from './shadow-layout.ts';

/** A worker's {@link SHADOW} memory. */
export class ShadowMemory {
  readonly memory = new WebAssembly.Memory({ initial: 1 });
  /** Where shapes begin, and the blocks of CTAs. */
  readonly shapes: number;
  readonly blocks: number;

  /** @param groups access groups of the kernel. */
  constructor(groups: number) {
    this.shapes = (SHADOW.heads + groups * 4 + 15) & ~15;
    this.blocks = this.shapes + SHAPE_BYTES;
  }

  get i32(): Int32Array {
    return new Int32Array(this.memory.buffer);
  }

  /** Makes room up to this address. Views from before are void. */
  reserve(end: number): void {
    const missing = Math.ceil((end - this.memory.buffer.byteLength) / 65536);
    if (missing > 0) this.memory.grow(missing);
  }
}
