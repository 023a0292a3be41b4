import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { isOfCluster, spaceOf, typeOf, vectorLength } from '../../../ptx/instruction-parts.ts';
import { definitionsAndUses, memoryActionOf, runsAs } from '../../../ptx/instructions/properties.ts';
import { sizeOfPtxType } from '../../../ptx/types.ts';
import { BOUNDS, PATTERN } from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import type { Local } from '../../wasm/function-builder.ts';
import type { BlockFrame } from '../block-frame.ts';
import type { KernelContext } from '../kernel-context.ts';
import type { PendingInstruction } from '../lane/context.ts';
import { type Access, type AccessGroup, type AccessSpace, joinGroup } from './access-groups.ts';

/** A group during emission. */
export interface PlannedGroup {
  group: AccessGroup;
  base: PtxOperand | null;
  /** Of a uniform group: the base register; from its check on, the checked address. */
  baseLocal: Local | undefined;
}

/** Addresses of the counted spaces go through the pattern tables. */
const COUNTED: ReadonlySet<AccessSpace> = new Set(['global', 'shared']);

/** The address operand of a load or store: the first of a store, the last of a load. */
const addressOperand = (instruction: PtxInstruction): PtxOperand =>
  instruction.operands[memoryActionOf(instruction) === 'store' ? 0 : instruction.operands.length - 1]!;

/** Whether this is a load or store with a known space, so that lanes can access it four at a time. */
export function isVectorAccess(instruction: PtxInstruction, kernel: KernelContext): boolean {
  if (isOfCluster(instruction) || instruction.modifiers[0] === 'async') return false;
  if (spaceOf(instruction) !== 'generic') return true;
  const address = addressOperand(instruction);
  return address.kind === 'address' && address.base?.kind === 'symbol' && kernel.symbols.has(address.base.name);
}

/** The group of each access of a segment, and the groups in order of first use. */
export interface AccessPlan {
  readonly groupOf: ReadonlyMap<PtxInstruction, PlannedGroup>;
  readonly groups: readonly PlannedGroup[];
}

/** Assigns every access of a segment to a group. */
export function planAccesses(frame: BlockFrame, pending: readonly PendingInstruction[]): AccessPlan {
  const planner = new Planner(frame);
  for (const item of pending) planner.add(item);
  return planner;
}

class Planner implements AccessPlan {
  readonly groupOf = new Map<PtxInstruction, PlannedGroup>();
  readonly groups: PlannedGroup[] = [];
  #frame: BlockFrame;
  /** Groups that more accesses may join. */
  #open = new Map<string, PlannedGroup>();
  /** Definitions so far, by register. Accesses share a group while their base register keeps its value. */
  #definitions = new Map<string, number>();

  constructor(frame: BlockFrame) {
    this.#frame = frame;
  }

  add(item: PendingInstruction): void {
    const { instruction } = item;
    if (runsAs(instruction) === 'access') this.#assign(item);
    for (const register of definitionsAndUses(instruction).definitions)
      this.#definitions.set(register, (this.#definitions.get(register) ?? 0) + 1);
  }

  #assign({ instruction, uniforms }: PendingInstruction): void {
    const address = addressOperand(instruction);
    if (address.kind !== 'address') throw unsupported(instruction, 'has no address operand');
    const space = this.#spaceOf(instruction, address.base);
    const base = this.#normalise(address, instruction);
    const baseLocal = base.register === undefined ? undefined : uniforms.get(base.register);
    const access: Access = {
      instruction,
      isStore: memoryActionOf(instruction) === 'store',
      offset: base.offset,
      bytes: sizeOfPtxType(typeOf(instruction)) * vectorLength(instruction),
    };
    const wide = this.#frame.kernel.mergedLoads.get(instruction);
    if (wide) access.mergedBytes = wide.first === instruction ? wide.bytes : 0;
    const key = `${space}|${this.#keyOfBase(address, space, base.register, baseLocal)}`;
    const current = instruction.guard ? undefined : this.#open.get(key);
    if (current && joinGroup(current.group, access)) {
      this.groupOf.set(instruction, current);
      return;
    }
    const hasOneAddress = base.register === undefined || baseLocal !== undefined;
    const uniform = hasOneAddress && !instruction.guard && !this.#isCountedByLanes(space, access.bytes);
    const planned: PlannedGroup = {
      group: newGroup(this.#frame, space, [access], uniform),
      base: base.register === undefined ? null : { kind: 'register', name: base.register },
      baseLocal: uniform ? baseLocal : undefined,
    };
    this.groups.push(planned);
    this.groupOf.set(instruction, planned);
    if (!instruction.guard) this.#open.set(key, planned);
  }

  #keyOfBase(
    address: PtxOperand & { kind: 'address' },
    space: AccessSpace,
    register: string | undefined,
    baseLocal: Local | undefined,
  ): string {
    if (register !== undefined) return `${register}|${baseLocal ?? `v${this.#definitions.get(register) ?? 0}`}`;
    // Each variable in device memory is a separate buffer with its own bounds.
    return `#${space === 'global' && address.base?.kind === 'symbol' ? address.base.name : ''}`;
  }

  /** Counted by pattern, because the number of wavefronts of a wide request depends on the active lanes. */
  #isCountedByLanes(space: AccessSpace, bytes: number): boolean {
    return this.#frame.kernel.counting && this.#frame.masked && space === 'shared' && bytes > 4;
  }

  /** Generic accesses through a register are left to the warp operations; symbols determine their space. */
  #spaceOf(instruction: PtxInstruction, base: PtxOperand | null): AccessSpace {
    const space = spaceOf(instruction);
    if (space !== 'generic') return space;
    const symbol = base?.kind === 'symbol' ? this.#frame.kernel.symbols.get(base.name) : undefined;
    if (!symbol) throw unsupported(instruction, 'through a generic address reached the vector path');
    return symbol.space;
  }

  /** Base register (none for a constant address) and offset, symbols resolved. */
  #normalise(
    address: PtxOperand & { kind: 'address' },
    instruction: PtxInstruction,
  ): { register: string | undefined; offset: number } {
    const { base, offset } = address;
    if (base === null) return { register: undefined, offset };
    if (base.kind === 'register') return { register: base.name, offset };
    if (base.kind === 'symbol') {
      const symbol = this.#frame.kernel.symbols.get(base.name);
      if (!symbol) throw unsupported(instruction, `names ${base.name}, which has no address`);
      // Device memory's symbols: the window is implied by the space.
      return { register: undefined, offset: Number(symbol.value & 0xffffffffn) + base.offset + offset };
    }
    throw unsupported(instruction, `has a ${base.kind} as address base`);
  }
}

/** A group of accesses to the same bytes. */
export function newGroup(
  { kernel, block, masked }: Pick<BlockFrame, 'kernel' | 'block' | 'masked'>,
  space: AccessSpace,
  accesses: Access[],
  uniform = false,
): AccessGroup {
  const isRecorded = !uniform && COUNTED.has(space) && (kernel.counting || kernel.watching);
  const { instruction, offset, bytes } = accesses[0]!;
  const group: AccessGroup = {
    ...{ index: kernel.groups.length, space, accesses },
    ...{ minimum: offset, range: bytes, alignment: bytes, alignmentDelta: 0 },
    ...{ uniform, block: block.index, masked, guarded: instruction.guard !== undefined },
    bounds: kernel.allocateTable(BOUNDS.bytes),
    pattern: isRecorded ? kernel.allocateTable(kernel.counting ? PATTERN.bytes : PATTERN.ways) : 0,
    origins: kernel.origins.of(addressOperand(instruction)),
  };
  kernel.groups.push(group);
  return group;
}
