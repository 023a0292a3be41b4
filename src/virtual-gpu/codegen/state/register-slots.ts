import { definitionsAndUses } from '../../../ptx/instructions/properties.ts';
import type { Liveness } from '../../../ptx/liveness.ts';
import { WARP } from '../../layout.ts';
import type { JitBlock } from '../control/blocks.ts';
import { type RegisterKind, slotBytes } from './register-kinds.ts';

export interface RegisterSlots {
  /** Offset in a warp's state, by register. */
  offsets: ReadonlyMap<string, number>;
  /** Size of a warp's state. */
  warpBytes: number;
}

interface Interval {
  register: string;
  first: number;
  last: number;
}

/**
 * Assigns every register a place in the warp's state. Registers with disjoint live ranges share one, so that a warp's state
 * stays in the host's L1 cache. Linear scan over block order.
 */
export function assignSlots(
  blocks: readonly JitBlock[],
  liveness: Liveness,
  kindOf: (register: string) => RegisterKind,
): RegisterSlots {
  const offsets = new Map<string, number>();
  const free = new Map<number, number[]>();
  let end: number = WARP.registers;
  const active: Interval[] = [];
  for (const interval of intervals(blocks, liveness)) {
    for (let i = active.length - 1; i >= 0; i--) {
      if (active[i]!.last >= interval.first) continue;
      const [done] = active.splice(i, 1);
      const bytes = slotBytes(kindOf(done!.register));
      const list = free.get(bytes) ?? [];
      list.push(offsets.get(done!.register)!);
      free.set(bytes, list);
    }
    const bytes = slotBytes(kindOf(interval.register));
    const reused = free.get(bytes)?.pop();
    offsets.set(interval.register, reused ?? end);
    if (reused === undefined) end += bytes;
    active.push(interval);
  }
  return { offsets, warpBytes: (end + 255) & ~255 };
}

/** From the first to the last position at which a register is named or live, in block order. */
function intervals(blocks: readonly JitBlock[], liveness: Liveness): Interval[] {
  const byRegister = new Map<string, Interval>();
  const touch = (register: string, position: number) => {
    const interval = byRegister.get(register);
    if (!interval) byRegister.set(register, { register, first: position, last: position });
    else {
      interval.first = Math.min(interval.first, position);
      interval.last = Math.max(interval.last, position);
    }
  };
  let position = 0;
  for (const block of blocks) {
    for (const register of liveness.liveIn[block.index]!) touch(register, position);
    for (const instruction of block.instructions) {
      position++;
      const { definitions, uses } = definitionsAndUses(instruction);
      for (const register of [...definitions, ...uses]) touch(register, position);
    }
    position++;
    for (const register of liveness.liveOut[block.index]!) touch(register, position);
  }
  return [...byRegister.values()].sort((a, b) => a.first - b.first || a.last - b.last);
}
