import { roundUp } from '../../../core/values.ts';
import type { PtxFunction, PtxInstruction, PtxModule, PtxOperand, PtxVariable } from '../../../ptx/ast.ts';
import { UnsupportedPtxError } from '../../../ptx/errors.ts';
import { spaceOf } from '../../../ptx/instruction-parts.ts';
import { CONSTANT_BYTES, WINDOW } from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import type { AccessSpace } from '../memory/access-groups.ts';

/** Address of a variable or parameter: the space and the offset (or full address, for device memory) in it. */
export interface SymbolAddress {
  space: AccessSpace;
  value: bigint;
}

export interface SymbolTable {
  addresses: Map<string, SymbolAddress>;
  staticSharedBytes: number;
  /** Where dynamic shared memory starts: static, rounded up to its alignment. */
  dynamicSharedStart: number;
  localBytesPerThread: number;
  constants: { offset: number; bytes: Uint8Array }[];
}

/** Dynamic shared memory starts at least 16-byte aligned, as on the hardware. */
const DYNAMIC_ALIGNMENT = 16;

/**
 * Lays out every variable a function can name. Device-memory variables were allocated when the module was loaded;
 * `globals` gives their offsets in device memory.
 */
export function layOutSymbols(module: PtxModule, fn: PtxFunction, globals: ReadonlyMap<string, number>): SymbolTable {
  const addresses = new Map<string, SymbolAddress>();
  const constants: SymbolTable['constants'] = [];
  const variables = [...module.variables, ...fn.variables];
  const used = namesIn(fn);
  const ends = { shared: 0, local: 0, const: 0 };
  const place = (variable: PtxVariable, space: 'shared' | 'local' | 'const') => {
    const offset = roundUp(ends[space], variable.alignmentBytes);
    ends[space] = offset + variable.sizeBytes;
    addresses.set(variable.name, { space, value: BigInt(offset) });
    return offset;
  };
  for (const variable of variables) {
    if (variable.space === 'global') {
      const offset = globals.get(variable.name);
      if (offset !== undefined)
        addresses.set(variable.name, { space: 'global', value: (BigInt(WINDOW.global) << 32n) | BigInt(offset) });
    } else if (variable.space === 'const') {
      const offset = place(variable, 'const');
      if (ends.const > CONSTANT_BYTES)
        throw new UnsupportedPtxError(variable.name, 0, 'does not fit: constant memory has 64 KiB');
      constants.push({ offset, bytes: variable.initialBytes ?? new Uint8Array(variable.sizeBytes) });
    } else if (variable.space === 'local') place(variable, 'local');
    else if (!variable.external && used.has(variable.name)) place(variable, 'shared');
  }
  const dynamic = variables.filter((v) => v.space === 'shared' && v.external);
  const dynamicSharedStart = roundUp(ends.shared, Math.max(DYNAMIC_ALIGNMENT, ...dynamic.map((v) => v.alignmentBytes)));
  for (const variable of dynamic) addresses.set(variable.name, { space: 'shared', value: BigInt(dynamicSharedStart) });
  for (const parameter of fn.parameters)
    addresses.set(parameter.name, { space: 'param', value: BigInt(parameter.offset) });
  return {
    addresses,
    staticSharedBytes: ends.shared,
    dynamicSharedStart,
    localBytesPerThread: roundUp(ends.local, 16),
    constants,
  };
}

/** Names of all symbols in the function's instructions, so that other kernels' shared memory takes no room. */
function namesIn(fn: PtxFunction): Set<string> {
  const names = new Set<string>();
  for (const statement of fn.body) {
    if (statement.kind !== 'instruction') continue;
    for (const operand of statement.instruction.operands) {
      if (operand.kind === 'symbol') names.add(operand.name);
      if (operand.kind === 'address' && operand.base?.kind === 'symbol') names.add(operand.base.name);
    }
  }
  return names;
}

/** Upper half of a generic address, by space; addresses of symbols in device memory already contain theirs. */
const GENERIC_WINDOW: Record<SymbolAddress['space'], number> = {
  global: 0,
  shared: WINDOW.shared,
  local: WINDOW.local,
  const: WINDOW.constant,
  param: WINDOW.parameter,
};

/** The base of an address in the own CTA's shared memory whose rank it holds. PTX has no such name. */
export const OWN_SHARED = { kind: 'special', name: 'own shared memory' } as const;

/**
 * A copy of the instruction with numbers instead of variable names, because the JavaScript operations know no names.
 * @param namesCtas addresses of shared memory hold the rank of the CTA.
 */
export function resolveSymbols(
  instruction: PtxInstruction,
  symbols: ReadonlyMap<string, SymbolAddress>,
  namesCtas: boolean,
): PtxInstruction {
  const symbolAt = (name: string): SymbolAddress => {
    const symbol = symbols.get(name);
    if (!symbol) throw unsupported(instruction, `names ${name}, which has no address`);
    return symbol;
  };
  const baseOf = ({ space }: SymbolAddress): PtxOperand | null => (namesCtas && space === 'shared' ? OWN_SHARED : null);
  const isGenericAccess = spaceOf(instruction) === 'generic';
  const resolve = (operand: PtxOperand): PtxOperand => {
    if (operand.kind === 'symbol') {
      const symbol = symbolAt(operand.name);
      const value = symbol.value + BigInt(operand.offset);
      const base = baseOf(symbol);
      return base ? { kind: 'address', base, offset: Number(value) } : { kind: 'immediate', type: 'integer', value };
    }
    if (operand.kind !== 'address' || operand.base?.kind !== 'symbol') return operand;
    const { base, offset } = operand;
    const symbol = symbolAt(base.name);
    const start = symbol.value | (isGenericAccess ? BigInt(GENERIC_WINDOW[symbol.space]) << 32n : 0n);
    return { kind: 'address', base: baseOf(symbol), offset: Number(start) + base.offset + offset };
  };
  return { ...instruction, operands: instruction.operands.map(resolve) };
}
