import { leadsTo, memoryAccesses } from '../../ptx/parameter-accesses.ts';
import { parsePtx } from '../../ptx/parse.ts';

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
  const { fn, accesses } = memoryAccesses(parsePtx(ptx), symbol);
  return fn.parameters.map(({ name, sizeBytes }) => {
    const own = accesses.flatMap((access, at) => (leadsTo(access.origins, name) ? [{ ...access, at }] : []));
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
