import type { PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { inlineCalls } from '../../ptx/inline-calls.ts';
import { spaceOf } from '../../ptx/instruction-parts.ts';
import { memoryActionOf } from '../../ptx/instructions/properties.ts';
import { parsePtx } from '../../ptx/parse.ts';
import { type Origins, OriginTracer } from '../../virtual-gpu/pointer-origins.ts';

/** What a compiled function does with the memory behind one of its parameters. */
export interface ParameterAccess {
  /** Bytes in the parameter block. */
  readonly sizeBytes: number;
  readonly reads: boolean;
  readonly writes: boolean;
  /** Whether it reads before its first write, in the order of the code. */
  readonly readsFirst: boolean;
  /** Whether it adds floating-point numbers atomically, in an order that no run repeats. */
  readonly addsAtomically: boolean;
}

/** Every parameter of a function of the PTX, in order. */
export function parameterAccess(ptx: string, symbol: string): ParameterAccess[] {
  const module = parsePtx(ptx);
  const fn = inlineCalls(module, symbol);
  const globals = new Set(module.variables.filter(({ space }) => space === 'global').map(({ name }) => name));
  const tracer = new OriginTracer(fn, globals);
  const instructions = fn.body.flatMap((statement) =>
    statement.kind === 'instruction' ? [statement.instruction] : [],
  );
  const accesses = instructions.flatMap((instruction, at) =>
    addressesOf(instruction).map(({ address, how }) => ({ at, how, instruction, origins: tracer.of(address) })),
  );
  return fn.parameters.map(({ name, sizeBytes }) => {
    const own = accesses.filter(({ origins }) => pointsInto(origins, name));
    const reads = own.filter(({ how }) => how !== 'write');
    const writes = own.filter(({ how }) => how !== 'read');
    return {
      sizeBytes,
      reads: reads.length > 0,
      writes: writes.length > 0,
      readsFirst: reads.length > 0 && (writes.length === 0 || reads[0]!.at <= writes[0]!.at),
      addsAtomically: own.some(({ how, instruction }) => how === 'both' && instruction.modifiers.some(isFloat)),
    };
  });
}

const isFloat = (modifier: string): boolean => /^(?:f|bf)\d/.test(modifier);

const pointsInto = (origins: Origins, parameter: string): boolean =>
  [...origins].some((alternative) => alternative.split('+').includes(parameter));

function addressesOf(instruction: PtxInstruction): { address: PtxOperand; how: 'read' | 'write' | 'both' }[] {
  const { operands } = instruction;
  const action = memoryActionOf(instruction);
  // The parameter itself, not the memory behind it.
  if (spaceOf(instruction) === 'param') return [];
  if (action === 'copy') return operands[1] ? [{ address: operands[1], how: 'read' }] : [];
  if (action === 'load') return [{ address: operands.at(-1)!, how: 'read' }];
  if (action === 'matrix-load') return [{ address: operands[1]!, how: 'read' }];
  if (action === 'store' || action === 'matrix-store') return [{ address: operands[0]!, how: 'write' }];
  const address = operands.find(({ kind }) => kind === 'address');
  return (action === 'atomic' || action === 'reduction') && address ? [{ address, how: 'both' }] : [];
}
