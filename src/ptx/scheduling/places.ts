import type { PtxFunction, PtxInstruction, PtxOperand } from '../ast.ts';
import { spaceOf } from '../instruction-parts.ts';
import {
  hasUniformForm,
  isConstant,
  isIntegerSum,
  isMove,
  isPerThread,
  isUnsignedConversion,
} from '../instructions/machine-code.ts';
import { definitionsAndUses, memoryActionOf } from '../instructions/properties.ts';
import { registersOf } from '../operands.ts';
import { registersOfPtxType } from '../types.ts';
import type { Region } from './regions.ts';

/**
 * - `tight`: what ptxas can do without for lack of registers. It makes special registers again, and has values that all threads
 *   share in uniform registers.
 * - `loose`: with registers to spare, these have places like all others.
 */
export type Economy = 'tight' | 'loose';

/** Which values share a 32-bit register, or need none. */
export interface Places {
  /** The register that holds this one's value; undefined if none needs to. */
  placeOf(register: string): string | undefined;
  /** 32-bit registers of a place. */
  widthOf(place: string): number;
}

/** Where one register is used. */
interface Use {
  readonly instruction: PtxInstruction;
  /** As an address, or a part of one. */
  readonly isAddress: boolean;
}

export function findPlaces(fn: PtxFunction, regions: readonly Region[], economy: Economy): Places {
  return new PlaceFinder(fn, regions, economy);
}

class PlaceFinder implements Places {
  readonly #fn: PtxFunction;
  readonly #isTight: boolean;
  readonly #writers = new Map<string, PtxInstruction | null>();
  readonly #uses = new Map<string, Use[]>();
  readonly #places = new Map<string, string | undefined>();
  readonly #uniform = new Map<string, boolean>();
  readonly #addresses = new Map<string, boolean>();
  readonly #sums = new Map<string, readonly string[]>();
  /** By its terms: the first address that is their sum. */
  readonly #sameSum = new Map<string, string>();

  constructor(fn: PtxFunction, regions: readonly Region[], economy: Economy) {
    this.#fn = fn;
    this.#isTight = economy === 'tight';
    for (const { instructions } of regions) for (const placed of instructions) this.#note(placed);
    // In the order of the program: the first of equal sums holds the place.
    for (const register of this.#writers.keys()) this.placeOf(register);
  }

  #note({ instruction, keeps }: Region['instructions'][number]): void {
    const { definitions, uses } = definitionsAndUses(instruction);
    for (const name of definitions) this.#writers.set(name, this.#writers.has(name) || keeps ? null : instruction);
    const addresses = new Set(registersOf(instruction.operands.filter(({ kind }) => kind === 'address')));
    for (const name of uses) {
      const known = this.#uses.get(name) ?? [];
      known.push({ instruction, isAddress: addresses.has(name) });
      this.#uses.set(name, known);
    }
  }

  /** The only instruction that writes it, on all lanes; undefined if there is none. */
  #writerOf(register: string): PtxInstruction | undefined {
    return this.#writers.get(register) ?? undefined;
  }

  widthOf(register: string): number {
    return registersOfPtxType(this.#fn.registers.get(register) ?? '');
  }

  placeOf(register: string): string | undefined {
    if (this.#places.has(register)) return this.#places.get(register);
    this.#places.set(register, register); // What a circle of copies leads back to.
    const place = this.#find(register);
    this.#places.set(register, place);
    return place;
  }

  #find(register: string): string | undefined {
    const writer = this.#writerOf(register);
    if (!writer) return register;
    const [, source] = writer.operands;
    if (memoryActionOf(writer) === 'load' && spaceOf(writer) === 'param') return undefined;
    if (this.#isTight && this.#isUniform(register)) return undefined;
    if (isIntegerSum(writer) && this.#isOnlyAddress(register)) return this.#placeOfSum(register);
    if (isConstant(writer) || (this.#isTight && isMove(writer) && source?.kind === 'special')) return undefined;
    const copied = this.#copied(register, writer);
    return copied === undefined ? register : this.placeOf(copied);
  }

  /** The register whose value this one has, in whole or in a half of it. */
  #copied(register: string, writer: PtxInstruction): string | undefined {
    const [target, source] = writer.operands;
    if (isMove(writer) && source?.kind === 'vector') return this.#wholeOf(register, source.elements);
    if (source?.kind !== 'register') return undefined;
    const [width, sourceWidth] = [this.widthOf(register), this.widthOf(source.name)];
    if (target?.kind === 'vector') return isMove(writer) && sourceWidth === 1 ? source.name : undefined;
    if (isMove(writer)) return width === sourceWidth ? source.name : undefined;
    return isUnsignedConversion(writer) && width === 2 && sourceWidth === 1 ? source.name : undefined;
  }

  /** The register whose two halves these are. */
  #wholeOf(register: string, halves: readonly PtxOperand[]): string | undefined {
    if (this.widthOf(register) !== 1) return undefined;
    const wholes = new Set(halves.map((half) => (half.kind === 'register' ? this.placeOf(half.name) : undefined)));
    const [whole] = wholes;
    return wholes.size === 1 ? whole : undefined;
  }

  /** Integers made of nothing that differs between the threads of a CTA. */
  #isUniform(register: string): boolean {
    const known = this.#uniform.get(register);
    if (known !== undefined) return known;
    this.#uniform.set(register, false);
    const writer = this.#writerOf(register);
    const isUniform = writer !== undefined && this.#computesUniform(writer);
    this.#uniform.set(register, isUniform);
    return isUniform;
  }

  #computesUniform(writer: PtxInstruction): boolean {
    if (memoryActionOf(writer) === 'load') return spaceOf(writer) === 'param';
    if (!hasUniformForm(writer)) return false;
    return writer.operands.slice(1).every((operand) => {
      if (operand.kind === 'register') return this.#isUniform(operand.name);
      if (operand.kind === 'special') return !isPerThread(operand.name);
      return operand.kind === 'immediate' || operand.kind === 'symbol';
    });
  }

  /** Used for nothing but addresses, and sums that are. */
  #isOnlyAddress(register: string): boolean {
    const known = this.#addresses.get(register);
    if (known !== undefined) return known;
    this.#addresses.set(register, false);
    const uses = this.#uses.get(register) ?? [];
    const isOnly = uses.length > 0 && uses.every((use) => this.#isPartOfAddress(use));
    this.#addresses.set(register, isOnly);
    return isOnly;
  }

  #isPartOfAddress({ instruction, isAddress }: Use): boolean {
    if (isAddress) return true;
    const [target] = instruction.operands;
    if (!isIntegerSum(instruction) || target?.kind !== 'register') return false;
    return this.#writerOf(target.name) === instruction && this.#isOnlyAddress(target.name);
  }

  /**
   * Addresses that differ by a constant share a place: the instruction adds the constant. So `(base + 64) + x` and
   * `(base + 128) + x` are one.
   */
  #placeOfSum(register: string): string | undefined {
    const terms = this.#termsOf(register);
    const [first] = terms;
    if (first === undefined) return undefined;
    if (terms.length === 1 && first !== register) return this.placeOf(first);
    const key = terms.join(' ');
    const known = this.#sameSum.get(key);
    if (known !== undefined) return known;
    this.#sameSum.set(key, register);
    return register;
  }

  /** What is added up, without constants. */
  #termsOf(register: string): readonly string[] {
    const known = this.#sums.get(register);
    if (known) return known;
    this.#sums.set(register, [register]);
    const terms = this.#addedUp(register, this.#writerOf(register));
    this.#sums.set(register, terms);
    return terms;
  }

  #addedUp(register: string, writer: PtxInstruction | undefined): readonly string[] {
    if (!writer) return [register];
    if (isConstant(writer)) return [];
    const copied = this.#copied(register, writer);
    if (copied !== undefined && this.widthOf(copied) === this.widthOf(register)) return this.#termsOf(copied);
    if (!isIntegerSum(writer)) return [register];
    return writer.operands
      .slice(1)
      .flatMap((operand) => (operand.kind === 'register' ? this.#termsOf(operand.name) : []))
      .sort();
  }
}
