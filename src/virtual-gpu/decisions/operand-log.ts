import type { LoggedPairs, OperandPair } from '../../core/decisions.ts';
import type { PtxFunction, PtxGuard, PtxInstruction, PtxModule, PtxOperand, PtxStatement } from '../../ptx/ast.ts';
import { typeOf } from '../../ptx/instruction-parts.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { uniqueName } from '../../ptx/unique-name.ts';

/** Pairs of one comparison that are kept: those of its first threads. */
const MOST_PAIRS = 4096;

const PAIR_BYTES = 16;
const COUNTER_BYTES = 16;
const SITE_BYTES = COUNTER_BYTES + MOST_PAIRS * PAIR_BYTES;

const COMPARING: ReadonlySet<string> = new Set(['setp', 'min', 'max']);

/** Whether a decision compares two operands: a comparison, or a bound. */
export const hasOperands = ({ opcode }: PtxInstruction): boolean => COMPARING.has(opcode);

/** A module whose decisions leave what they compared in a variable of its own. */
export interface ModuleWithLog {
  readonly ptx: PtxModule;
  /** Name of the variable. */
  readonly variable: string;
}

/**
 * A copy of the module in which each of these decisions first stores its operands to a variable in device memory. It computes what the module
 * computes.
 *
 * @param functions - those with such decisions, their calls inlined, in the forms that are executed.
 * @param sites - instructions of theirs, in the order of their parts of the variable.
 */
export function withOperandLog(
  ptx: PtxModule,
  functions: readonly PtxFunction[],
  sites: readonly PtxInstruction[],
  which: LoggedPairs,
): ModuleWithLog {
  const names = new Set([...ptx.variables, ...ptx.functions].map(({ name }) => name));
  const variable = uniqueName(names, 'warpsmith_operands');
  const places = new Map(sites.map((site, place) => [site, place * SITE_BYTES]));
  return {
    variable,
    ptx: {
      ...ptx,
      variables: [
        ...ptx.variables,
        {
          ...{ name: variable, space: 'global', type: 'b8', alignmentBytes: 16, external: false },
          sizeBytes: sites.length * SITE_BYTES,
        },
      ],
      functions: ptx.functions.map((fn) => {
        const logging = functions.find(({ name }) => name === fn.name);
        return logging ? logIn(logging, { variable, places, which }) : fn;
      }),
    },
  };
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

interface Logged {
  readonly variable: string;
  /** Where a decision's part of the variable begins, in bytes. */
  readonly places: ReadonlyMap<PtxInstruction, number>;
  readonly which: LoggedPairs;
}

function logIn(fn: PtxFunction, { variable, places, which }: Logged): PtxFunction {
  const used = new Set([...fn.registers.keys(), ...fn.variables.map(({ name }) => name)]);
  const registers = new Map(fn.registers);
  const register = (name: string, type: string): Register => {
    const unique = uniqueName(used, name);
    registers.set(unique, type);
    return { kind: 'register', name: unique };
  };
  const scratch: Scratch = {
    isLogged: register('%log_p', 'pred'),
    index: register('%log_i', 'b32'),
    address: register('%log_a', 'b64'),
    start: register('%log_s', 'b64'),
    bits: register('%log_b', 'b32'),
    value: register('%log_v', 'b64'),
  };
  const body = fn.body.flatMap((statement): PtxStatement[] => {
    const place = statement.kind === 'instruction' ? places.get(statement.instruction) : undefined;
    if (statement.kind !== 'instruction' || place === undefined) return [statement];
    const log = logOf(statement.instruction, { variable, place, which, scratch });
    return [...log.map((instruction) => ({ kind: 'instruction' as const, instruction })), statement];
  });
  return { ...fn, registers, body };
}

type Register = Extract<PtxOperand, { kind: 'register' }>;

/** Registers that each log uses anew. */
interface Scratch {
  readonly isLogged: Register;
  readonly index: Register;
  readonly address: Register;
  readonly start: Register;
  readonly bits: Register;
  readonly value: Register;
}

function logOf(
  comparison: PtxInstruction,
  { variable, place, which, scratch }: Pick<Logged, 'variable' | 'which'> & { place: number; scratch: Scratch },
): PtxInstruction[] {
  const { isLogged, index, address, start, bits, value } = scratch;
  const type = typeOf(comparison);
  const [, a, b] = comparison.operands as [PtxOperand, PtxOperand, PtxOperand];
  const make = (text: string, operands: PtxOperand[], guard?: PtxGuard): PtxInstruction => {
    const [opcode, ...modifiers] = text.split('.') as [string, ...string[]];
    return { opcode, modifiers, text, operands, ptxLine: comparison.ptxLine, ...(guard && { guard }) };
  };
  const ifLogged: PtxGuard = { register: isLogged.name, negated: false };
  const within = (base: PtxOperand, offset: number): PtxOperand => ({ kind: 'address', base, offset });
  const symbol: PtxOperand = { kind: 'symbol', name: variable, offset: 0 };
  const store = (operand: PtxOperand, offset: number): PtxInstruction[] => [
    ...widened(make, operand, type, { bits, value }),
    make('st.global.b64', [within(address, offset), value], ifLogged),
  ];
  return [
    // Not logged, as long as the decision's own guard leaves it out.
    make('mov.u32', [index, integer(0)]),
    make('setp.ne.u32', [isLogged, index, integer(0)]),
    which === 'unequal'
      ? make(`setp.ne.${type}`, [isLogged, a, b], comparison.guard)
      : make('setp.eq.u32', [isLogged, index, integer(0)], comparison.guard),
    make('mov.u64', [start, symbol]),
    make('atom.global.add.u32', [index, within(start, place), integer(1)], ifLogged),
    make('setp.lt.u32', [isLogged, index, integer(MOST_PAIRS)], ifLogged),
    make('mul.wide.u32', [address, index, integer(PAIR_BYTES)]),
    make('add.s64', [address, address, start]),
    ...store(a, place + COUNTER_BYTES),
    ...store(b, place + COUNTER_BYTES + PAIR_BYTES / 2),
  ];
}

const integer = (value: number): PtxOperand => ({ kind: 'immediate', type: 'integer', value: BigInt(value) });

/** The operand's bits in 64, zeros above them. */
function widened(
  make: (text: string, operands: PtxOperand[]) => PtxInstruction,
  operand: PtxOperand,
  type: string,
  { bits, value }: Pick<Scratch, 'bits' | 'value'>,
): PtxInstruction[] {
  const width = 8 * sizeOfPtxType(type);
  if (operand.kind === 'immediate')
    return [make('mov.u64', [value, { ...operand, type: 'integer', value: BigInt.asUintN(width, operand.value) }])];
  if (width === 64) return [make('mov.b64', [value, operand])];
  if (width === 16) return [make('cvt.u64.u16', [value, operand])];
  return [make('mov.b32', [bits, operand]), make('cvt.u64.u32', [value, bits])];
}
