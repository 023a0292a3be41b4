import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { elementsOf } from '../../../ptx/operands.ts';
import { PARAMETERS } from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import type { BlockFrame } from '../block-frame.ts';
import { pushOwnRank } from '../memory/own-rank.ts';
import { recordUniformDecision } from '../record-decisions.ts';
import { UNIFORM_SPECIALS } from '../state/specials.ts';
import { type UniformContext, uniformEmitter } from './forms.ts';

type Scalar = 'i32' | 'i64';

/** Emits an instruction whose operands are all warp-uniform, once for the warp. */
export function emitUniform(frame: BlockFrame, instruction: PtxInstruction): void {
  uniformEmitter(instruction)!(contextOf(frame, instruction));
  recordUniformDecision(frame, instruction);
}

function contextOf(frame: BlockFrame, instruction: PtxInstruction): UniformContext {
  const { b, uniforms } = frame;
  const operands = instruction.operands.flatMap(elementsOf);
  const push = (index: number, type: Scalar) => pushScalar(frame, instruction, operands[index]!, type);
  return {
    b,
    instruction,
    word: (index) => push(index, 'i32'),
    double: (index) => push(index, 'i64'),
    predicate: (index) => {
      push(index, 'i32');
      const operand = operands[index]!;
      if (operand.kind === 'register' && operand.negated) b.op('i32.eqz');
    },
    set: (index = 0) => {
      const operand = operands[index]!;
      if (operand.kind === 'register') uniforms.define(operand.name);
      else b.op('drop');
    },
    immediate: (index) => {
      const operand = operands[index]!;
      return operand.kind === 'immediate' ? Number(BigInt.asIntN(32, operand.value)) : undefined;
    },
    parameterOffset: (index) => {
      const operand = operands[index]!;
      if (operand.kind !== 'address' || operand.base?.kind !== 'symbol') throw unsupported(instruction);
      return PARAMETERS + Number(symbolValue(frame, operand.base.name)) + operand.base.offset + operand.offset;
    },
  };
}

function pushScalar(frame: BlockFrame, instruction: PtxInstruction, operand: PtxOperand, type: Scalar): void {
  switch (operand.kind) {
    case 'register':
      frame.b.get(frame.uniforms.local(operand.name));
      return;
    case 'immediate':
      pushConstant(frame, operand.value, type);
      return;
    case 'symbol':
      pushSymbol(frame, operand, type);
      return;
    case 'special':
      pushSpecial(frame, operand.name, type);
      return;
    default:
      throw unsupported(instruction);
  }
}

function pushConstant({ b }: BlockFrame, value: bigint, type: Scalar): void {
  if (type === 'i64') b.i64(value);
  else b.i32(Number(BigInt.asIntN(32, value)));
}

function pushSymbol(frame: BlockFrame, { name, offset }: PtxOperand & { kind: 'symbol' }, type: Scalar): void {
  const { b, kernel } = frame;
  pushConstant(frame, symbolValue(frame, name) + BigInt(offset), type);
  if (!kernel.namesCtas || kernel.symbols.get(name)!.space !== 'shared') return;
  pushOwnRank(b);
  if (type === 'i64') b.op('i64.extend_i32_u');
  b.op(`${type}.add`);
}

function pushSpecial({ b, locals }: BlockFrame, name: string, type: Scalar): void {
  const special = UNIFORM_SPECIALS.get(name)!;
  if (special.area === 'launch') b.i32(0);
  else b.get(locals.warp);
  b.memory(special.isWide ? `${type}.load` : 'i32.load', special.offset);
}

function symbolValue({ kernel }: BlockFrame, name: string): bigint {
  const address = kernel.symbols.get(name);
  if (!address) throw new Error(`${name} has no address`);
  return address.value;
}
