import type { LoggedPairs, OperandPair } from '../../core/decisions.ts';
import type { PtxFunction, PtxInstruction, PtxModule, PtxOperand } from '../../ptx/ast.ts';
import { typeOf } from '../../ptx/instruction-parts.ts';
import { type InstrumentedModule, ifTrue, instrument, integer, widened, within } from './instrument.ts';

/** Pairs of one comparison that are kept: those of its first threads. */
const MOST_PAIRS = 4096;

const PAIR_BYTES = 16;
const COUNTER_BYTES = 16;
const SITE_BYTES = COUNTER_BYTES + MOST_PAIRS * PAIR_BYTES;

/**
 * A copy of the module in which each of these decisions first stores its operands to a variable in device memory.
 *
 * @param functions - those with such decisions, their calls inlined, in the forms that are executed.
 * @param sites - instructions of theirs, in the order of their parts of the variable.
 */
export function withOperandLog(
  ptx: PtxModule,
  functions: readonly PtxFunction[],
  sites: readonly PtxInstruction[],
  which: LoggedPairs,
): InstrumentedModule {
  const places = new Map(sites.map((site, place) => [site, place * SITE_BYTES]));
  return instrument(ptx, functions, {
    sizeBytes: sites.length * SITE_BYTES,
    registers: { isLogged: 'pred', index: 'b32', address: 'b64', start: 'b64', bits: 'b32', value: 'b64' },
    beside(instruction, { make, scratch, start: symbol }) {
      const place = places.get(instruction);
      if (place === undefined) return undefined;
      const { isLogged, index, address, start, bits, value } = scratch;
      const type = typeOf(instruction);
      const [, a, b] = instruction.operands as [PtxOperand, PtxOperand, PtxOperand];
      const store = (operand: PtxOperand, offset: number): PtxInstruction[] => [
        ...widened(make, operand, type, { bits, value }),
        make('st.global.b64', [within(address, offset), value], ifTrue(isLogged)),
      ];
      return {
        before: [
          // Not logged, as long as the decision's own guard leaves it out.
          make('mov.u32', [index, integer(0)]),
          make('setp.ne.u32', [isLogged, index, integer(0)]),
          which === 'unequal'
            ? make(`setp.ne.${type}`, [isLogged, a, b], instruction.guard)
            : make('setp.eq.u32', [isLogged, index, integer(0)], instruction.guard),
          make('mov.u64', [start, symbol]),
          make('atom.global.add.u32', [index, within(start, place), integer(1)], ifTrue(isLogged)),
          make('setp.lt.u32', [isLogged, index, integer(MOST_PAIRS)], ifTrue(isLogged)),
          make('mul.wide.u32', [address, index, integer(PAIR_BYTES)]),
          make('add.s64', [address, address, start]),
          ...store(a, place + COUNTER_BYTES),
          ...store(b, place + COUNTER_BYTES + PAIR_BYTES / 2),
        ],
      };
    },
  });
}

/** The pairs of each site, from the variable's contents. Repeated ones are there once. */
export function pairsIn(contents: Uint8Array, sites: number): OperandPair[][] {
  const view = new DataView(contents.buffer, contents.byteOffset, contents.byteLength);
  return Array.from({ length: sites }, (_, site) => {
    const start = site * SITE_BYTES;
    const count = Math.min(MOST_PAIRS, view.getUint32(start, true));
    const pairs = new Map<string, OperandPair>();
    for (let i = 0; i < count; i++) {
      const at = start + COUNTER_BYTES + i * PAIR_BYTES;
      const [a, b] = [view.getBigUint64(at, true), view.getBigUint64(at + 8, true)];
      pairs.set(`${a} ${b}`, { a, b });
    }
    return [...pairs.values()];
  });
}
