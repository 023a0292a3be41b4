import type { AccessGroup } from '../codegen/memory/access-groups.ts';
import { growTo } from '../runtime/memories.ts';
import { ACCESS, SHADOW, SHAPE_BYTES } from './shadow-layout.ts';

/** A worker's {@link SHADOW} memory. */
export class ShadowMemory {
  readonly memory = new WebAssembly.Memory({ initial: 1 });
  /** Where lists of accesses to device memory begin, shapes, and the blocks of CTAs. */
  readonly lists: number;
  readonly shapes: number;
  readonly blocks: number;

  /** @param groups of the kernel. */
  constructor(groups: readonly AccessGroup[]) {
    const bytesOfLists = groups.reduce((sum, { accesses }) => sum + ACCESS.list + accesses.length * ACCESS.size, 0);
    this.lists = (SHADOW.heads + groups.length * 4 + 15) & ~15;
    this.shapes = this.lists + bytesOfLists;
    this.blocks = this.shapes + SHAPE_BYTES;
    this.reserve(this.blocks);
  }

  get i32(): Int32Array {
    return new Int32Array(this.memory.buffer);
  }

  /** Makes room up to this address. Views from before are void. */
  reserve(end: number): void {
    growTo(this.memory, end);
  }
}
