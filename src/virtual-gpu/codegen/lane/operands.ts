import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { typesOf } from '../../../ptx/instruction-parts.ts';
import { sizeOfPtxType } from '../../../ptx/types.ts';
import { LANES } from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import type { Local } from '../../wasm/function-builder.ts';
import type { BlockFrame } from '../block-frame.ts';
import { pushOwnRank } from '../memory/own-rank.ts';
import { LANE_CONSTANTS, LANE_SPECIALS, UNIFORM_SPECIALS, type UniformSpecial } from '../state/specials.ts';
import type { Part, PendingInstruction } from './context.ts';
import type { LaneRegisters } from './registers.ts';

/** Pushes the operands of lane-wise instructions: one v128 for four words or predicates, or for two 64-bit lanes. */
export class LaneOperands {
  #frame: BlockFrame;
  #registers: LaneRegisters;
  /** Free while an operand is pushed. */
  #scratch: Local;

  constructor(frame: BlockFrame, registers: LaneRegisters, scratch: Local) {
    this.#frame = frame;
    this.#registers = registers;
    this.#scratch = scratch;
  }

  pushWord(operand: PtxOperand, pending: PendingInstruction): void {
    const { b } = this.#frame;
    const { instruction } = pending;
    // 16-bit values are held zero-extended, negative literals included.
    if (operand.kind === 'immediate')
      b.i32x4(Number(BigInt.asUintN(isHalfWord(instruction) ? 16 : 32, operand.value)) | 0);
    else if (operand.kind === 'symbol') {
      const { value, namesCta } = this.#symbolValue(operand, instruction);
      b.i32x4(Number(BigInt.asIntN(32, value)));
      if (namesCta) pushOwnRank(b).op('i32x4.splat', 'i32x4.add');
    } else if (operand.kind === 'special') this.#pushSpecial(operand.name, instruction);
    else this.#pushRegister(operand, pending, 'i32x4.splat', 0);
  }

  pushPart(operand: PtxOperand, part: Part, pending: PendingInstruction): void {
    const { b } = this.#frame;
    const { instruction } = pending;
    if (operand.kind === 'immediate') b.i64x2(operand.value);
    else if (operand.kind === 'symbol') {
      const { value, namesCta } = this.#symbolValue(operand, instruction);
      b.i64x2(value);
      if (namesCta) pushOwnRank(b).op('i64.extend_i32_u', 'i64x2.splat', 'i64x2.add');
    } else if (operand.kind === 'special') this.#pushWideSpecial(operand.name, instruction);
    else this.#pushRegister(operand, pending, 'i64x2.splat', part);
  }

  #pushRegister(operand: PtxOperand, { instruction, uniforms }: PendingInstruction, splat: string, part: Part): void {
    if (operand.kind !== 'register')
      throw unsupported(instruction, `has a ${operand.kind} operand the virtual GPU does not take`);
    const { b } = this.#frame;
    const uniform = uniforms.get(operand.name);
    if (uniform !== undefined) b.get(uniform).op(splat);
    else b.get(this.#registers.locals(operand.name)[part]!);
  }

  /** −1 where it holds, else 0. */
  pushPredicate(operand: PtxOperand, { instruction, uniforms }: PendingInstruction): void {
    const { b } = this.#frame;
    if (operand.kind === 'immediate') {
      b.i32x4(operand.value === 0n ? 0 : -1);
      return;
    }
    if (operand.kind !== 'register') throw unsupported(instruction, `has a ${operand.kind} as predicate`);
    const uniform = uniforms.get(operand.name);
    if (uniform !== undefined) b.i32(0).get(uniform).op('i32.sub', 'i32x4.splat');
    else b.get(this.#registers.locals(operand.name)[0]!);
    if (operand.negated) b.op('v128.not');
  }

  isScalar(operand: PtxOperand, { uniforms }: PendingInstruction): boolean {
    return operand.kind === 'immediate' || (operand.kind === 'register' && uniforms.has(operand.name));
  }

  /** As one i32, if it is a scalar. */
  pushScalar(operand: PtxOperand, { uniforms }: PendingInstruction): void {
    const { b } = this.#frame;
    if (operand.kind === 'immediate') b.i32(Number(BigInt.asIntN(32, operand.value)));
    else if (operand.kind === 'register') b.get(uniforms.get(operand.name)!);
  }

  #symbolValue(
    operand: PtxOperand & { kind: 'symbol' },
    instruction: PtxInstruction,
  ): { value: bigint; namesCta: boolean } {
    const { symbols, namesCtas } = this.#frame.kernel;
    const address = symbols.get(operand.name);
    if (!address) throw unsupported(instruction, `names ${operand.name}, which has no address`);
    return { value: address.value + BigInt(operand.offset), namesCta: namesCtas && address.space === 'shared' };
  }

  #pushSpecial(name: string, instruction: PtxInstruction): void {
    const { b, locals } = this.#frame;
    const stored = LANE_SPECIALS.get(name);
    if (stored !== undefined) {
      b.get(locals.at).memory('v128.load', stored);
      return;
    }
    const uniform = UNIFORM_SPECIALS.get(name);
    if (uniform) return this.#loadSplat('v128.load32_splat', uniform);
    const constants = LANE_CONSTANTS.get(name);
    if (!constants) throw unknownSpecial(instruction, name);
    this.#pushLaneConstants(constants);
  }

  #pushWideSpecial(name: string, instruction: PtxInstruction): void {
    const special = UNIFORM_SPECIALS.get(name);
    if (!special?.isWide) throw unknownSpecial(instruction, name);
    this.#loadSplat('v128.load64_splat', special);
  }

  #loadSplat(load: string, { area, offset }: UniformSpecial): void {
    const { b, locals } = this.#frame;
    if (area === 'launch') b.i32(0);
    else b.get(locals.warp);
    b.memory(load, offset);
  }

  /** The chunk's four of 32 constants. */
  #pushLaneConstants(value: (lane: number) => number): void {
    const { b, locals } = this.#frame;
    const chosen = this.#scratch;
    b.i32x4(value(0), value(1), value(2), value(3)).set(chosen);
    for (let lane = 4; lane < LANES; lane += 4) {
      b.i32x4(value(lane), value(lane + 1), value(lane + 2), value(lane + 3)).get(chosen);
      b.get(locals.chunk)
        .i32(lane * 4)
        .op('i32.eq', 'i32x4.splat')
        .i32x4(0)
        .op('i32x4.ne');
      b.op('v128.bitselect').set(chosen);
    }
    b.get(chosen);
  }
}

const unknownSpecial = (instruction: PtxInstruction, name: string): Error =>
  unsupported(instruction, `reads ${name}, which is not implemented on the virtual GPU`);

/** True when the operands (of a conversion: the source) are 16 bits wide. */
function isHalfWord(instruction: PtxInstruction): boolean {
  const type = typesOf(instruction).at(-1);
  return type !== undefined && sizeOfPtxType(type) === 2;
}
