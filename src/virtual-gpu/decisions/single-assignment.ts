import type { BasicBlock, ControlFlowGraph, PtxFunction, PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { definitionsAndUses } from '../../ptx/instructions/properties.ts';
import { immediatePostDominators } from '../../ptx/post-dominators.ts';

/** A function's instructions with registers that have one definition each (static single assignment). */
export interface SingleAssignment {
  /** The same instruction with such names. */
  named(instruction: PtxInstruction): PtxInstruction;
  /** By name; where two ways meet, a selection by the condition of the branch that parted them. What a loop changes has none. */
  readonly definitions: ReadonlyMap<string, PtxInstruction>;
}

/** What registers with several definitions are called at a place of the code. */
type Names = Map<string, string>;

/**
 * Gives each definition of a register a name of its own: compilers assign `keys` before a branch and again behind it, or use one register for two values. In one pass, because each block comes after all
 * that reach it other than by closing a loop.
 */
export function singleAssignment(fn: PtxFunction, cfg: ControlFlowGraph): SingleAssignment {
  return new Renaming(fn, cfg);
}

class Renaming implements SingleAssignment {
  readonly definitions = new Map<string, PtxInstruction>();
  readonly #fn: PtxFunction;
  readonly #cfg: ControlFlowGraph;
  readonly #dominators: readonly number[];
  /** Those with several definitions that differ. */
  readonly #several: ReadonlySet<string>;
  readonly #named = new Map<PtxInstruction, PtxInstruction>();
  /** At the end of each block. */
  readonly #names: Names[] = [];
  #count = 0;

  constructor(fn: PtxFunction, cfg: ControlFlowGraph) {
    this.#fn = fn;
    this.#cfg = cfg;
    const { blocks } = cfg;
    this.#dominators = immediatePostDominators(
      blocks.map(({ predecessors }) => predecessors),
      blocks.map((_, index) => index === 0),
    );
    this.#several = definedDifferently(blocks);
    for (const block of blocks) this.#names.push(this.#rename(block));
  }

  named(instruction: PtxInstruction): PtxInstruction {
    return this.#named.get(instruction) ?? instruction;
  }

  #rename(block: BasicBlock): Names {
    const names = this.#namesAtStart(block);
    for (const instruction of block.instructions) {
      const renamed = this.#renamed(instruction, names);
      this.#named.set(instruction, renamed);
      for (const name of definitionsAndUses(renamed).definitions) this.definitions.set(name, renamed);
    }
    return names;
  }

  #renamed(instruction: PtxInstruction, names: Names): PtxInstruction {
    const { definitions, uses } = definitionsAndUses(instruction);
    if (![...definitions, ...uses].some((register) => this.#several.has(register))) return instruction;
    const { guard } = instruction;
    const [first, ...others] = instruction.operands;
    const read = {
      ...instruction,
      guard: guard && { ...guard, register: names.get(guard.register) ?? guard.register },
      operands: others.map((operand) => renameIn(operand, names)),
    };
    // The first operand is what is defined, if anything is; the others were read before.
    for (const register of definitions) if (this.#several.has(register)) names.set(register, this.#fresh(register));
    return { ...read, operands: [...(first ? [renameIn(first, names)] : []), ...read.operands] };
  }

  #fresh(register: string): string {
    this.#count += 1;
    return `${register}.${this.#count}`;
  }

  #namesAtStart(block: BasicBlock): Names {
    const forward = block.predecessors.filter((index) => index < block.index);
    const isLoop = forward.length < block.predecessors.length;
    const changed = isLoop ? this.#changedInLoop(block) : NONE;
    const names: Names = new Map();
    for (const register of this.#several) {
      const [one, ...others] = new Set(forward.map((index) => this.#names[index]!.get(register)));
      if (one === undefined && others.length === 0) continue;
      const isSame = others.length === 0 && one !== undefined && !changed.has(register);
      names.set(register, isSame ? one : this.#met(register, block, isLoop ? [] : forward));
    }
    return names;
  }

  /** Registers that the loop with this first block defines: blocks of a loop stand together. */
  #changedInLoop({ index, predecessors }: BasicBlock): ReadonlySet<string> {
    const loop = this.#cfg.blocks.slice(index, Math.max(...predecessors) + 1);
    return new Set(
      loop.flatMap(({ instructions }) => instructions.flatMap((one) => definitionsAndUses(one).definitions)),
    );
  }

  /** The name of a register where two values of it meet: a new one, defined if it is known which way gives which. */
  #met(register: string, block: BasicBlock, from: readonly number[]): string {
    const name = this.#fresh(register);
    const parting = from.length === 2 ? this.#partingOf(block, from as [number, number]) : undefined;
    if (!parting) return name;
    const { at, taken, other } = parting;
    const { guard } = at;
    const condition = this.#names[parting.block]!.get(guard.register) ?? guard.register;
    const [a, b] = [taken, other].map((index) => this.#names[index]!.get(register));
    const type = this.#fn.registers.get(register);
    if (a === undefined || b === undefined || type === undefined) return name;
    const [ifTrue, ifFalse] = guard.negated ? [b, a] : [a, b];
    if (type === 'pred') this.#choosePredicate(name, { condition, ifTrue, ifFalse }, at);
    else
      this.definitions.set(
        name,
        synthetic(at, 'selp', [type], [name, ifTrue, ifFalse, condition].map(registerOperand)),
      );
    return name;
  }

  /** `condition ? a : b` of predicates, of which there is no selection. */
  #choosePredicate(name: string, { condition, ifTrue, ifFalse }: Choice, at: PtxInstruction): void {
    const [yes, no] = [`${name}.yes`, `${name}.no`];
    const not: PtxOperand = { kind: 'register', name: condition, negated: true };
    const define = (result: string, opcode: string, operands: PtxOperand[]): void =>
      void this.definitions.set(result, synthetic(at, opcode, ['pred'], [registerOperand(result), ...operands]));
    define(yes, 'and', [registerOperand(condition), registerOperand(ifTrue)]);
    define(no, 'and', [not, registerOperand(ifFalse)]);
    define(name, 'or', [registerOperand(yes), registerOperand(no)]);
  }

  /** The branch at which the ways to these two predecessors part, and which of them is reached where it is taken. */
  #partingOf(block: BasicBlock, [first, second]: [number, number]): Parting | undefined {
    const dominator = this.#dominators[block.index]!;
    if (dominator < 0) return undefined;
    const parting = this.#cfg.blocks[dominator]!;
    const at = parting.instructions.at(-1);
    const [taken, other] = parting.successors;
    if (at?.opcode !== 'bra' || !at.guard || other === undefined || taken === other) return undefined;
    const sideOf = (from: number): number | undefined =>
      from === dominator ? block.index : [taken!, other].find((side) => this.#leadsTo(side, from, dominator));
    const sides = [sideOf(first), sideOf(second)];
    const guarded = at as PtxInstruction & Required<Pick<PtxInstruction, 'guard'>>;
    if (sides[0] === taken && sides[1] === other) return { block: dominator, at: guarded, taken: first, other: second };
    if (sides[0] === other && sides[1] === taken) return { block: dominator, at: guarded, taken: second, other: first };
    return undefined;
  }

  /** Whether a block is reached only through this side of a branch, which is reached only from there. */
  #leadsTo(side: number, to: number, parting: number): boolean {
    if (this.#cfg.blocks[side]!.predecessors.length !== 1) return false;
    for (let at = to; at >= 0 && at !== parting; at = this.#dominators[at]!) if (at === side) return true;
    return false;
  }
}

interface Choice {
  readonly condition: string;
  readonly ifTrue: string;
  readonly ifFalse: string;
}

interface Parting {
  /** Index of the block that ends with the branch. */
  readonly block: number;
  readonly at: PtxInstruction & Required<Pick<PtxInstruction, 'guard'>>;
  /** Predecessors of the block where the ways meet, by which way the branch goes. */
  readonly taken: number;
  readonly other: number;
}

const NONE: ReadonlySet<string> = new Set();

const registerOperand = (name: string): PtxOperand => ({ kind: 'register', name });

/** An instruction that is nowhere in the code. */
const synthetic = (
  { ptxLine }: PtxInstruction,
  opcode: string,
  modifiers: string[],
  operands: PtxOperand[],
): PtxInstruction => ({ opcode, modifiers, operands, text: [opcode, ...modifiers].join('.'), ptxLine });

function renameIn(operand: PtxOperand, names: Names): PtxOperand {
  switch (operand.kind) {
    case 'register':
      return names.has(operand.name) ? { ...operand, name: names.get(operand.name)! } : operand;
    case 'address':
      return { ...operand, base: operand.base && renameIn(operand.base, names) };
    case 'vector':
      return { ...operand, elements: operand.elements.map((element) => renameIn(element, names)) };
    case 'pair':
      return { ...operand, first: renameIn(operand.first, names), second: renameIn(operand.second, names) };
    default:
      return operand;
  }
}

/** Registers with several definitions, unless all read the same special register, as compilers read `%tid.x` on each of two ways. */
function definedDifferently(blocks: readonly BasicBlock[]): Set<string> {
  const first = new Map<string, PtxInstruction>();
  const several = new Set<string>();
  for (const instruction of blocks.flatMap(({ instructions }) => instructions))
    for (const register of definitionsAndUses(instruction).definitions) {
      const known = first.get(register);
      if (!known) first.set(register, instruction);
      else if (!readsSameSpecial(known, instruction)) several.add(register);
    }
  return several;
}

function readsSameSpecial(one: PtxInstruction, other: PtxInstruction): boolean {
  const [[, a], [, b]] = [one.operands, other.operands];
  return (
    !one.guard &&
    !other.guard &&
    one.text === other.text &&
    a?.kind === 'special' &&
    b?.kind === 'special' &&
    a.name === b.name
  );
}
