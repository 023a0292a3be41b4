import type { BasicBlock, ControlFlowGraph, PtxFunction, PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { controlOf, definitionsAndUses } from '../../../ptx/instructions/properties.ts';
import { registersOf } from '../../../ptx/operands.ts';
import { UNIFORM_SPECIALS } from '../state/specials.ts';
import { uniformEmitter } from '../uniform/forms.ts';

export interface Uniformity {
  /** Registers that hold one value for all lanes of a warp at every read. */
  uniform: ReadonlySet<string>;
  /** Blocks that lanes of one warp may run at different times. */
  divergentBlocks: ReadonlySet<number>;
}

/**
 * Which registers are warp-uniform: all their definitions are scalar-computable from uniform values, in blocks
 * where the warp is converged. Starts from "everything uniform" and removes until nothing changes.
 */
export function analyseUniformity(fn: PtxFunction, cfg: ControlFlowGraph): Uniformity {
  const uniform = new Set(fn.registers.keys());
  const divergentBlocks = new Set<number>();
  for (let changed = true; changed; ) {
    changed = false;
    for (const block of cfg.blocks) {
      changed = removeVarying(block, uniform, divergentBlocks) || changed;
      changed = markDivergence(block, cfg, uniform, divergentBlocks) || changed;
    }
  }
  return { uniform, divergentBlocks };
}

function removeVarying(block: BasicBlock, uniform: Set<string>, divergent: ReadonlySet<number>): boolean {
  let changed = false;
  for (const instruction of block.instructions) {
    if (!divergent.has(block.index) && isUniform(instruction, uniform)) continue;
    for (const register of definitionsAndUses(instruction).definitions) changed = uniform.delete(register) || changed;
  }
  return changed;
}

function isUniform(instruction: PtxInstruction, uniform: ReadonlySet<string>): boolean {
  if (instruction.guard || !uniformEmitter(instruction)) return false;
  if (instruction.operands.some((operand) => operand.kind === 'pair')) return false;
  return instruction.operands.slice(1).every((operand) => isUniformOperand(operand, uniform));
}

function isUniformOperand(operand: PtxOperand, uniform: ReadonlySet<string>): boolean {
  if (operand.kind === 'special') return UNIFORM_SPECIALS.has(operand.name);
  if (operand.kind === 'vector') return false;
  // ld.param from a computed address is left to the lanes.
  if (operand.kind === 'address') return operand.base?.kind === 'symbol';
  return registersOf([operand]).every((register) => uniform.has(register));
}

/** A branch on a varying predicate makes every block up to its immediate post-dominator divergent. */
function markDivergence(
  block: BasicBlock,
  cfg: ControlFlowGraph,
  uniform: ReadonlySet<string>,
  divergent: Set<number>,
): boolean {
  const last = block.instructions.at(-1);
  if (!last || !parts(last, uniform)) return false;
  const stop = cfg.immediatePostDominators[block.index]!;
  let changed = false;
  const pending = [...block.successors];
  const seen = new Set<number>();
  for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
    if (index === stop || seen.has(index)) continue;
    seen.add(index);
    if (!divergent.has(index)) {
      divergent.add(index);
      changed = true;
    }
    pending.push(...cfg.blocks[index]!.successors);
  }
  return changed;
}

/** True when lanes may part after this instruction. Exits part lanes too, but the rest stays converged. */
function parts(instruction: PtxInstruction, uniform: ReadonlySet<string>): boolean {
  const control = controlOf(instruction);
  if (control === 'switch') return true;
  return control === 'branch' && instruction.guard !== undefined && !uniform.has(instruction.guard.register);
}
