import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { spaceOf } from '../../../ptx/instruction-parts.ts';
import { WINDOW } from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import type { SymbolAddress } from '../kernel-context.ts';

/** Upper half of a generic address, by space; symbols in device memory carry theirs already. */
const GENERIC_WINDOW: Record<SymbolAddress['space'], number> = {
  global: 0,
  shared: WINDOW.shared,
  local: WINDOW.local,
  const: WINDOW.constant,
  param: WINDOW.parameter,
};

/** A copy of the instruction in which numbers stand for the names of variables: what is left to JavaScript needs no names. */
export function resolveSymbols(
  instruction: PtxInstruction,
  symbols: ReadonlyMap<string, SymbolAddress>,
): PtxInstruction {
  const addressOf = (name: string, isGeneric: boolean): bigint => {
    const symbol = symbols.get(name);
    if (!symbol) throw unsupported(instruction, `names ${name}, which has no address`);
    return symbol.value | (isGeneric ? BigInt(GENERIC_WINDOW[symbol.space]) << 32n : 0n);
  };
  const isGenericAccess = spaceOf(instruction) === 'generic';
  const resolve = (operand: PtxOperand): PtxOperand => {
    if (operand.kind === 'symbol')
      return { kind: 'immediate', type: 'integer', value: addressOf(operand.name, false) + BigInt(operand.offset) };
    if (operand.kind !== 'address' || operand.base?.kind !== 'symbol') return operand;
    const { base, offset } = operand;
    return {
      kind: 'address',
      base: null,
      offset: Number(addressOf(base.name, isGenericAccess)) + base.offset + offset,
    };
  };
  return { ...instruction, operands: instruction.operands.map(resolve) };
}
