import type { BasicBlock, PtxInstruction } from './ast.ts';
import { spaceOf } from './instruction-parts.ts';
import { definitionsAndUses, memoryActionOf, resultOf, synchronisationOf } from './instructions/properties.ts';
import { elementsOf, registersOf } from './operands.ts';

/** An instruction that may read accumulators before their `wgmma.wait_group`. */
export interface EarlyRead {
  readonly register: string;
  /** The `wgmma.mma_async` that may still be computing it. */
  readonly products: ReadonlySet<PtxInstruction>;
}

/** By product: how many groups have been committed since it was issued; 0 while its own is open. */
type Ages = ReadonlyMap<PtxInstruction, number>;
/** Ages of what each register may still be waiting for. */
type Pending = Map<string, Ages>;

/** More groups than this are not told apart. */
const MOST_GROUPS = 8;

const isProduct = (i: PtxInstruction): boolean => synchronisationOf(i) === 'warpgroup' && resultOf(i) === 'accumulator';

/**
 * Follows accumulators of wgmma through the code, through copies between registers, too: a compiler puts those between
 * products and their wait, and ptxas removes them.
 */
export function earlyReads(blocks: readonly BasicBlock[]): ReadonlyMap<PtxInstruction, EarlyRead> {
  const found = new Map<PtxInstruction, EarlyRead>();
  if (!blocks.some((block) => block.instructions.some(isProduct))) return found;
  const entries: (Pending | undefined)[] = blocks.map((block) => (block.index === 0 ? new Map() : undefined));
  const queue = [0];
  for (let index = queue.pop(); index !== undefined; index = queue.pop()) {
    const state = new Map(entries[index]);
    for (const instruction of blocks[index]!.instructions) step(state, instruction);
    for (const successor of blocks[index]!.successors) {
      const known = entries[successor];
      if (known && !merge(known, state)) continue;
      entries[successor] ??= new Map(state);
      queue.push(successor);
    }
  }
  blocks.forEach((block, index) => {
    const state = new Map(entries[index]);
    for (const instruction of block.instructions) {
      const read = earlyRead(state, instruction);
      if (read) found.set(instruction, read);
      step(state, instruction);
    }
  });
  return found;
}

/** Adds what may also be pending. Returns whether that is more. */
function merge(known: Pending, more: Pending): boolean {
  let grew = false;
  for (const [register, ages] of more) {
    const before = known.get(register);
    const joined = new Map(before);
    for (const [product, age] of ages) joined.set(product, Math.min(age, joined.get(product) ?? MOST_GROUPS));
    const isMore = !before || [...joined].some(([product, age]) => before.get(product) !== age);
    if (isMore) known.set(register, joined);
    grew ||= isMore;
  }
  return grew;
}

function step(state: Pending, instruction: PtxInstruction): void {
  const [name] = instruction.modifiers;
  if (isProduct(instruction)) {
    const ages: Ages = new Map([[instruction, 0]]);
    for (const register of definitionsAndUses(instruction).definitions) state.set(register, ages);
  } else if (synchronisationOf(instruction) === 'warpgroup') {
    if (name === 'commit_group') changeAges(state, (age) => Math.min(age + 1, MOST_GROUPS));
    const [allowed] = instruction.operands;
    if (name === 'wait_group' && allowed?.kind === 'immediate')
      changeAges(state, (age) => (age > Number(allowed.value) ? undefined : age));
  } else if (isCopy(instruction)) copyPending(state, instruction);
  else if (!instruction.guard)
    for (const register of definitionsAndUses(instruction).definitions) state.delete(register);
}

function changeAges(state: Pending, change: (age: number) => number | undefined): void {
  for (const [register, ages] of state) {
    const changed = new Map<PtxInstruction, number>();
    for (const [product, age] of ages) {
      const next = change(age);
      if (next !== undefined) changed.set(product, next);
    }
    if (changed.size > 0) state.set(register, changed);
    else state.delete(register);
  }
}

/** `mov` from one register to another of the same width. */
const isCopy = ({ opcode, operands, guard }: PtxInstruction): boolean =>
  opcode === 'mov' && !guard && operands.every(({ kind }) => kind === 'register');

/** A store to the stack, to which a compiler may move accumulators; ptxas then waits for itself. */
const isSpill = (instruction: PtxInstruction): boolean =>
  memoryActionOf(instruction) === 'store' && ['local', 'generic'].includes(spaceOf(instruction));

function copyPending(state: Pending, { operands }: PtxInstruction): void {
  const [to, from] = operands.flatMap((operand) => (operand.kind === 'register' ? [operand.name] : []));
  const ages = state.get(from!);
  if (ages) state.set(to!, ages);
  else state.delete(to!);
}

/** Products may be added to accumulators on which others are at work: only other operands count. */
function readRegisters(instruction: PtxInstruction): readonly string[] {
  if (!isProduct(instruction)) return definitionsAndUses(instruction).uses;
  return registersOf(instruction.operands.slice(1).flatMap(elementsOf));
}

function earlyRead(state: Pending, instruction: PtxInstruction): EarlyRead | undefined {
  if (state.size === 0 || isCopy(instruction) || isSpill(instruction)) return undefined;
  for (const register of readRegisters(instruction)) {
    const ages = state.get(register);
    if (ages) return { register, products: new Set(ages.keys()) };
  }
  return undefined;
}
