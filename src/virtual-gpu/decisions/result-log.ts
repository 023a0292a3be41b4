import type { LoggedResult } from '../../core/decisions.ts';
import type { PtxFunction, PtxInstruction, PtxModule } from '../../ptx/ast.ts';
import { typesOf } from '../../ptx/instruction-parts.ts';
import { definitionsAndUses, memoryActionOf, resultOf, runsAs } from '../../ptx/instructions/properties.ts';
import { type InstrumentedModule, ifTrue, instrument, integer, widened, within } from './instrument.ts';

/** Of each site: the first result, in 8 bytes, and whether there was none, one, or another one, too. */
const SITE_BYTES = 16;
const STATE_AT = 8;
const STATES = { none: 0, one: 1, several: 2 } as const;

/** An instruction whose result may be a hidden decision. */
export interface ResultSite {
  readonly instruction: PtxInstruction;
  /** Of its destination. */
  readonly register: string;
  readonly type: string;
}

const NUMBER = /^[sub](?:16|32|64)$/;

/**
 * Arithmetic on loaded values with one whole number for a result, conversions too: where it is a fraction, honest kernels compute the same again and again, such as a count's share. Not what copies or chooses a value; choices are decisions themselves.
 *
 * @param ofValues registers that depend on values loaded from device memory.
 */
export function resultSites(fn: PtxFunction, ofValues: ReadonlySet<string>): ResultSite[] {
  return fn.body.flatMap((statement): ResultSite[] => {
    if (statement.kind !== 'instruction') return [];
    const { instruction } = statement;
    const { guard, place, opcode, operands } = instruction;
    const [destination] = operands;
    const type = destination?.kind === 'register' ? fn.registers.get(destination.name) : undefined;
    const isArithmetic =
      !guard &&
      place?.headerDepth === 0 &&
      runsAs(instruction) === 'lane' &&
      memoryActionOf(instruction) === 'none' &&
      (resultOf(instruction) === 'operands' || opcode === 'cvt') &&
      definitionsAndUses(instruction).uses.some((register) => ofValues.has(register));
    if (!isArithmetic || destination?.kind !== 'register' || type === undefined) return [];
    if (!NUMBER.test(type) || !NUMBER.test(typesOf(instruction)[0] ?? '')) return [];
    return [{ instruction, register: destination.name, type }];
  });
}

/** An instruction's place, where its function was inlined, and what it computes, without registers. Unrolled and specialised copies are alike in it. */
export function operationOf({ text, operands, place }: PtxInstruction): string {
  const numbers = operands.map((operand) => (operand.kind === 'immediate' ? String(operand.value) : operand.kind));
  return [JSON.stringify([place!.own, place!.calledFrom]), text, ...numbers].join(' ');
}

/**
 * A copy of the module in which each of these instructions says afterwards whether its result is what it was before.
 *
 * @param functions - those with such instructions, their calls inlined, in the forms that are executed.
 * @param sites - instructions of theirs, in the order of their parts of the variable.
 */
export function withResultLog(
  ptx: PtxModule,
  functions: readonly PtxFunction[],
  sites: readonly ResultSite[],
): InstrumentedModule {
  const places = new Map(sites.map(({ instruction, type }, i) => [instruction, { place: i * SITE_BYTES, type }]));
  return instrument(ptx, functions, {
    sizeBytes: sites.length * SITE_BYTES,
    registers: {
      isFirst: 'pred',
      isOther: 'pred',
      state: 'b32',
      start: 'b64',
      first: 'b64',
      bits: 'b32',
      value: 'b64',
    },
    beside(instruction, { make, scratch, start: symbol }) {
      const site = places.get(instruction);
      if (!site) return undefined;
      const { place, type } = site;
      const { isFirst, isOther, state, start, first, bits, value } = scratch;
      const [stateAt, firstAt] = [within(start, place + STATE_AT), within(start, place)];
      return {
        after: [
          ...widened(make, instruction.operands[0]!, type, { bits, value }),
          make('mov.u64', [start, symbol]),
          make('ld.global.u32', [state, stateAt]),
          make('setp.eq.u32', [isFirst, state, integer(STATES.none)]),
          make('st.global.b64', [firstAt, value], ifTrue(isFirst)),
          make('mov.u32', [state, integer(STATES.one)]),
          make('st.global.u32', [stateAt, state], ifTrue(isFirst)),
          // Of several lanes at once, one has stored its result. Others see that theirs is another one.
          make('ld.global.b64', [first, firstAt]),
          make('setp.ne.u64', [isOther, first, value]),
          make('mov.u32', [state, integer(STATES.several)]),
          make('st.global.u32', [stateAt, state], ifTrue(isOther)),
        ],
      };
    },
  });
}

/** The result of each site, from the variable's contents. */
export function resultsIn(contents: Uint8Array, sites: number): LoggedResult[] {
  const view = new DataView(contents.buffer, contents.byteOffset, contents.byteLength);
  return Array.from({ length: sites }, (_, site): LoggedResult => {
    const at = site * SITE_BYTES;
    const state = view.getUint32(at + STATE_AT, true);
    if (state === STATES.none) return 'never computed';
    return state === STATES.one ? { always: view.getBigUint64(at, true) } : 'several';
  });
}
