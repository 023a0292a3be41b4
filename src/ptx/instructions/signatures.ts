/**
 * Operands by instruction. Source: PTX ISA, operand size exceeding instruction-type size (ld, st, cvt), and each
 * instruction's description.
 */
import type { PtxInstruction } from '../ast.ts';
import { bitsOfPtxType, isPtxType } from '../types.ts';
import type { Place, Signature } from './row.ts';

const value = (bits: number): Place => ({ is: 'value', bits });
const optional = (bits: number): Place => ({ is: 'value', bits, optional: true });
const repeated = (count: number, place: Place): Place[] => new Array<Place>(count).fill(place);
export const predicate = value(1);
export const word = value(32);
export const address: Place = { is: 'address' };
export const label: Place = { is: 'label' };
export const anything: Place = { is: 'anything' };
export const perhaps: Place = { is: 'anything', optional: true };
export const perhapsWord = optional(32);

const typesOf = ({ modifiers }: PtxInstruction): number[] => modifiers.filter(isPtxType).map(bitsOfPtxType);

/** Bits of the last type, which most instructions work in; undefined when there is none. */
const lastBits = (instruction: PtxInstruction): number | undefined => typesOf(instruction).at(-1);

/** Operands that no modifier changes. */
export const fixed =
  (...places: Place[]): Signature =>
  () =>
    places;

/** Forms that have little in common. */
export const varied: Signature = () => undefined;

/** `count` operands of the instruction's type, the result included; `more` may follow. */
export const alike =
  (count: number, ...more: Place[]): Signature =>
  (instruction) => {
    const bits = lastBits(instruction);
    return bits === undefined ? undefined : [...repeated(count, value(bits)), ...more];
  };

/** Multiplications: `.wide` has a result, and an addend, of twice the width. */
export const multiply =
  (addends: number): Signature =>
  (instruction) => {
    const bits = lastBits(instruction);
    if (bits === undefined) return undefined;
    const wide = value(instruction.modifiers.includes('wide') ? 2 * bits : bits);
    return [wide, value(bits), value(bits), ...repeated(addends, wide)];
  };

/** A result of its own width from operands of the instruction's type, and what follows them. */
export const into =
  (resultBits: number, sources: number, ...more: Place[]): Signature =>
  (instruction) => [value(resultBits), ...repeated(sources, value(lastBits(instruction) ?? 32)), ...more];

/** First type: the result; last type: the sources. */
export const convert: Signature = (instruction) => {
  const [to, from] = typesOf(instruction);
  if (to === undefined || from === undefined) return undefined;
  const wider = (bits: number): Place => ({ is: 'value', bits, orMore: true });
  return [wider(to), wider(from), { ...wider(from), optional: true }, perhaps];
};

export const compare: Signature = into(1, 2, optional(1));

/** As compare, with a result of the first type. */
export const set: Signature = (instruction) => {
  const [to, from] = typesOf(instruction);
  return to === undefined || from === undefined ? undefined : [value(to), value(from), value(from), optional(1)];
};

/** `slct.T.s32|f32`: the last operand, of the last type, chooses. */
export const chooseBySign: Signature = (instruction) => {
  const [to, by] = typesOf(instruction);
  return to === undefined || by === undefined ? undefined : [value(to), value(to), value(to), value(by)];
};

/** A loaded or stored register may be wider than the access. */
const memoryValue = (instruction: PtxInstruction): Place => ({
  is: 'value',
  bits: lastBits(instruction) ?? 8,
  orMore: true,
});

/** A cache policy may follow. */
export const load: Signature = (instruction) => [memoryValue(instruction), address, perhaps];
export const uniformLoad: Signature = (instruction) => [memoryValue(instruction), address];
export const store: Signature = (instruction) => [address, memoryValue(instruction), perhaps];

/** An atomic, after its result if it has one: address, operand, a second one to compare and swap; vectors are left out. */
export const atomic =
  (hasResult: boolean): Signature =>
  (instruction) => {
    const bits = lastBits(instruction);
    if (bits === undefined || instruction.modifiers.some((m) => /^v\d$/.test(m))) return undefined;
    const operands = instruction.modifiers.includes('cas') ? 2 : 1;
    return [...(hasResult ? [value(bits)] : []), address, ...repeated(operands, value(bits)), perhaps];
  };

export const vote: Signature = ({ modifiers }) => [
  value(modifiers.includes('ballot') ? 32 : 1),
  predicate,
  perhapsWord,
];

export const barrier: Signature = ({ modifiers }) =>
  modifiers.includes('red') || modifiers.includes('cluster') ? undefined : [word, perhapsWord];
