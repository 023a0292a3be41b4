import type { WidthSite } from '../../core/widths.ts';
import type { PtxFunction, PtxInstruction, PtxModule, PtxOperand } from '../../ptx/ast.ts';
import { formOf, typesOf } from '../../ptx/instruction-parts.ts';
import { runsAs } from '../../ptx/instructions/properties.ts';
import { bitsOfPtxType } from '../../ptx/types.ts';
import {
  type InstrumentedModule,
  ifTrue,
  instrument,
  integer,
  type Make,
  type Register,
  within,
} from './instrument.ts';

/** Of each site: the largest magnitude so far. */
const SITE_BYTES = 8;

/** What is computed exactly, in 64 bits. */
type Exact = 'add' | 'sub' | 'mul' | 'mad' | 'shl' | 'operand' | 'second operand';

/** An instruction whose exact result may not fit its width. Copies of one operation, as of unrolled loops, share a number. */
interface PlacedWidth {
  readonly instruction: PtxInstruction;
  readonly exact: Exact;
  /** Of its operands. */
  readonly bits: number;
  /** Among the sites. */
  readonly number: number;
}

/** The sites of some functions. */
export interface WidthSites {
  readonly sites: readonly WidthSite[];
  readonly placed: readonly PlacedWidth[];
  /** Those with sites. */
  readonly functions: readonly PtxFunction[];
}

/** Products of 24 bits: library functions only stand for them. */
const isOfLibrary = ({ opcode }: PtxInstruction): boolean => opcode.endsWith('24');

const NARROW = /^[sub](?:16|32)$/;
const WHOLE = /^[sub](?:8|16|32|64)$/;

/** Whole numbers up to these are exact. */
const EXACT_UP_TO: Readonly<Record<string, number>> = { f32: 2 ** 24, f16: 2 ** 11, bf16: 2 ** 8 };

/** To so many bits compilers narrow a number with a mask. Low bits may be missing of it, which are zeros anyway: of a square, or of a multiple of four. */
const MASKED = [8, 16, 24] as const;
const MAY_MISS = 63n;

type Width = Pick<PlacedWidth, 'exact' | 'bits'> & Pick<WidthSite, 'ends' | 'holds'>;

/**
 * Arithmetic of whole numbers and conversions of them in the author's own code. Products of 24 bits also where a library function stands for the instruction.
 *
 * @param functions - their calls inlined, in the forms that are executed.
 */
export function widthSites(functions: readonly PtxFunction[]): WidthSites {
  const numbers = new Map<string, number>();
  const sites: WidthSite[] = [];
  const placed: PlacedWidth[] = [];
  for (const fn of functions) {
    const free = freeLowBits(fn);
    for (const statement of fn.body) {
      if (statement.kind !== 'instruction') continue;
      const { instruction } = statement;
      const { guard, place } = instruction;
      if (guard || !place || runsAs(instruction) !== 'lane') continue;
      for (const { exact, bits, ends, holds } of widthsOf(instruction, free)) {
        if (place.headerDepth > (isOfLibrary(instruction) ? 1 : 0)) continue;
        const key = JSON.stringify([fn.name, place.own, place.calledFrom, formOf(instruction), exact, holds, ends]);
        const number = numbers.get(key) ?? sites.length;
        if (number === sites.length) sites.push({ place: place.own, holds, ends });
        numbers.set(key, number);
        placed.push({ instruction, exact, bits, number });
      }
    }
  }
  const own = new Set(placed.map(({ instruction }) => instruction));
  const has = (fn: PtxFunction): boolean =>
    fn.body.some((statement) => statement.kind === 'instruction' && own.has(statement.instruction));
  return { sites, placed, functions: functions.filter(has) };
}

/** Below the first, a number fits whether it has a sign or not. */
const endsOf = (bits: number): number[] => [2 ** (bits - 1), 2 ** bits];

/** By register: how many of its low bits a shift has left free, of what is put together of two shifted numbers those of the lesser shift. Compilers write each register once, but for those of loops and joins. */
function freeLowBits({ body }: PtxFunction): ReadonlyMap<string, number> {
  const free = new Map<string, number>();
  const bitsOf = (operand: PtxOperand | undefined): number =>
    operand?.kind === 'register' ? (free.get(operand.name) ?? 0) : 0;
  for (const statement of body) {
    if (statement.kind !== 'instruction') continue;
    const { opcode, operands } = statement.instruction;
    const [to, a, b] = operands;
    const bits = FREEING[opcode]?.(a, b, bitsOf);
    if (to?.kind === 'register' && bits !== undefined) free.set(to.name, bits);
  }
  return free;
}

type Operand = PtxOperand | undefined;

/** How many low bits of a result are free. */
const FREEING: Readonly<
  Record<string, (a: Operand, b: Operand, bitsOf: (one: Operand) => number) => number | undefined>
> = {
  shl: (_a, b) => (b?.kind === 'immediate' ? Number(b.value) : undefined),
  or: (a, b, bitsOf) => Math.min(bitsOf(a), bitsOf(b)),
};

function widthsOf(instruction: PtxInstruction, free: ReadonlyMap<string, number>): Width[] {
  const { opcode, modifiers, operands } = instruction;
  const types = typesOf(instruction);
  const [to, from] = types as [string | undefined, string | undefined];
  if (to === undefined || operands[0]?.kind !== 'register') return [];
  const ofResult = (exact: Exact): Width[] => {
    const bits = bitsOfPtxType(to);
    return NARROW.test(to) && types.length === 1
      ? [{ exact, bits, ends: endsOf(bits), holds: `whole numbers of ${bits} bits` }]
      : [];
  };
  switch (opcode) {
    case 'add':
    case 'sub':
      // The low words of longer sums wrap.
      return modifiers.includes('sat') || modifiers.includes('cc') ? [] : ofResult(opcode);
    case 'mul':
    case 'mad':
      return modifiers.includes('lo') && !modifiers.includes('cc') ? ofResult(opcode) : [];
    case 'shl':
      return ofResult('shl');
    case 'mul24':
    case 'mad24': {
      if (!modifiers.includes('lo') || modifiers.includes('sat')) return [];
      const factor = { bits: 32, ends: endsOf(24), holds: 'factors of 24 bits' };
      return [
        { ...factor, exact: 'operand' },
        { ...factor, exact: 'second operand' },
        ...ofResult(opcode === 'mul24' ? 'mul' : 'mad'),
      ];
    }
    case 'and':
      return maskedWidth(operands, to);
    case 'or':
      return packedWidth(operands, to, free);
    case 'cvt':
      return from === undefined || modifiers.includes('sat') ? [] : convertedWidth(to, from);
    default:
      return [];
  }
}

function maskedWidth(operands: readonly PtxOperand[], type: string): Width[] {
  const mask = operands.find((operand) => operand.kind === 'immediate');
  const bits =
    mask && MASKED.find((one) => mask.value < 2n ** BigInt(one) && (mask.value | MAY_MISS) === 2n ** BigInt(one) - 1n);
  const width = bitsOfPtxType(type);
  if (bits === undefined || !WHOLE.test(type) || bits >= width || operands[1]?.kind !== 'register') return [];
  return [{ exact: 'operand', bits: width, ends: [2 ** bits], holds: `whole numbers of ${bits} bits` }];
}

/** `row << 16 | column`: the second number must fit below the first one. */
function packedWidth(operands: readonly PtxOperand[], type: string, free: ReadonlyMap<string, number>): Width[] {
  const [a, b] = operands.slice(1);
  if (a?.kind !== 'register' || b?.kind !== 'register') return [];
  const room = [free.get(a.name) ?? 0, free.get(b.name) ?? 0] as const;
  const bits = MASKED.find((one) => one === Math.max(...room));
  if (bits === undefined || room[0] === room[1]) return [];
  const exact = room[0] > room[1] ? 'second operand' : 'operand';
  return [{ exact, bits: bitsOfPtxType(type), ends: [2 ** bits], holds: `whole numbers of ${bits} bits` }];
}

function convertedWidth(to: string, from: string): Width[] {
  if (!WHOLE.test(from)) return [];
  const bits = bitsOfPtxType(from);
  const exactUpTo = EXACT_UP_TO[to];
  if (exactUpTo !== undefined && 2 ** bits > exactUpTo)
    return [{ exact: 'operand', bits, ends: [exactUpTo], holds: `whole numbers in ${to === 'f32' ? 'fp32' : to}` }];
  const narrower = bitsOfPtxType(to);
  if (!WHOLE.test(to) || narrower >= bits) return [];
  return [{ exact: 'operand', bits, ends: endsOf(narrower), holds: `whole numbers of ${narrower} bits` }];
}

/**
 * A copy of the module in which each of these instructions first takes the magnitude of its exact result into the largest one of its site. A magnitude is the lesser one of what the operands give with
 * and without signs, because instructions do not say whether they have any: so that of x + (-1) is small.
 */
export function withWidthLog(
  ptx: PtxModule,
  { functions, sites, placed }: WidthSites,
  among: ReadonlySet<number> | undefined,
): InstrumentedModule {
  const widths = Map.groupBy(
    placed.filter(({ number }) => among?.has(number) ?? true),
    ({ instruction }) => instruction,
  );
  return instrument(ptx, functions, {
    sizeBytes: sites.length * SITE_BYTES,
    registers: { isLarger: 'pred', start: 'b64', most: 'b64', signed: 'b64', unsigned: 'b64', other: 'b64' },
    beside(instruction, { make, scratch, start: symbol }) {
      const { isLarger, start, most, signed, unsigned } = scratch;
      const before = (widths.get(instruction) ?? []).flatMap((width) => {
        const mostAt = within(start, width.number * SITE_BYTES);
        return [
          ...exactResult(make, width, 's', signed, scratch.other),
          ...exactResult(make, width, 'u', unsigned, scratch.other),
          make('min.u64', [unsigned, unsigned, signed]),
          make('mov.u64', [start, symbol]),
          make('ld.global.u64', [most, mostAt]),
          make('setp.gt.u64', [isLarger, unsigned, most]),
          // Of several lanes, each may be the largest.
          make('red.global.max.u64', [mostAt, unsigned], ifTrue(isLarger)),
        ];
      });
      return before.length > 0 ? { before } : undefined;
    },
  });
}

/** The magnitude of what an instruction computes, in 64 bits, of operands that have signs or none. */
function exactResult(
  make: Make,
  { instruction, exact, bits }: PlacedWidth,
  sign: 's' | 'u',
  result: Register,
  other: Register,
): PtxInstruction[] {
  const [, a, b, c] = instruction.operands as [PtxOperand, PtxOperand, PtxOperand, PtxOperand];
  const extended = (into: Register, operand: PtxOperand): PtxInstruction => {
    if (operand.kind !== 'immediate')
      return bits === 64 ? make('mov.b64', [into, operand]) : make(`cvt.${sign}64.${sign}${bits}`, [into, operand]);
    const value = (sign === 's' ? BigInt.asIntN : BigInt.asUintN)(bits, operand.value);
    return make('mov.u64', [into, { kind: 'immediate', type: 'integer', value: BigInt.asUintN(64, value) }]);
  };
  const magnitude = make('abs.s64', [result, result]);
  const ofSigned = sign === 's' ? [magnitude] : [];
  switch (exact) {
    case 'operand':
      // What doesn't lie in the register is a place, not a number.
      return [extended(result, a), ...ofSigned];
    case 'second operand':
      return [extended(result, b), ...ofSigned];
    case 'shl': {
      const amount = b.kind === 'immediate' ? integer(Number(BigInt.asUintN(32, b.value))) : b;
      return [extended(result, a), make('shl.b64', [result, result, amount]), ...ofSigned];
    }
    case 'add':
    case 'sub':
      return [extended(result, a), extended(other, b), make(`${exact}.s64`, [result, result, other]), magnitude];
    case 'mul':
      return [extended(result, a), extended(other, b), make('mul.lo.s64', [result, result, other]), ...ofSigned];
    case 'mad':
      return [
        ...[extended(result, a), extended(other, b), make('mul.lo.s64', [result, result, other])],
        ...[extended(other, c), make('add.s64', [result, result, other]), ...ofSigned],
      ];
  }
}

/** The largest magnitude of each site, from the variable's contents; 0 where nothing was computed. */
export function magnitudesIn(contents: Uint8Array, sites: number): number[] {
  const view = new DataView(contents.buffer, contents.byteOffset, contents.byteLength);
  return Array.from({ length: sites }, (_, site) => Number(view.getBigUint64(site * SITE_BYTES, true)));
}
