import type { KeptList } from './warpgroup-kernel.ts';

/** Where the pieces of an operand of wgmma lie: in shared and in private memory. */
export interface OperandPieces {
  readonly shared: Int32Array;
  readonly places: KeptList;
  /** To be added to a fault in which they play a part. */
  readonly note: string;
}

/** Pieces of operands that lie in one way, by the halves of their descriptors: numbers are found sooner than a bigint or a text. */
export class PiecesByDescriptor {
  readonly #byHigh = new Map<number, Map<number, OperandPieces>>();

  get(low: number, high: number): OperandPieces | undefined {
    return this.#byHigh.get(high)?.get(low);
  }

  set(low: number, high: number, pieces: OperandPieces): void {
    const byLow = this.#byHigh.get(high) ?? new Map<number, OperandPieces>();
    this.#byHigh.set(high, byLow.set(low, pieces));
  }

  has(descriptor: bigint): boolean {
    const half = (bits: bigint): number => Number(BigInt.asUintN(32, bits));
    return this.get(half(descriptor), half(descriptor >> 32n)) !== undefined;
  }
}
