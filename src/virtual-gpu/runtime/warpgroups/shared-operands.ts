import { swizzled } from '../bulk-copies/parts.ts';

/** A matrix in shared memory, as a wgmma descriptor describes it. */
export interface MatrixDescriptor {
  readonly start: number;
  readonly leadingBytes: number;
  readonly strideBytes: number;
  readonly baseOffset: number;
  /** Bytes of a swizzled row; 0 for none. */
  readonly swizzleBytes: number;
}

/** By the descriptor's two highest bits. */
const SWIZZLE_BYTES = [0, 128, 64, 32] as const;

/** Addresses and offsets are written without their lowest four bits. Source: PTX ISA, wgmma matrix descriptor. */
const field = (descriptor: bigint, bit: bigint): number => Number((descriptor >> bit) & 0x3fffn) * 16;

export const readDescriptor = (descriptor: bigint): MatrixDescriptor => ({
  start: field(descriptor, 0n),
  leadingBytes: field(descriptor, 16n),
  strideBytes: field(descriptor, 32n),
  baseOffset: Number((descriptor >> 49n) & 7n),
  swizzleBytes: SWIZZLE_BYTES[Number(descriptor >> 62n) & 3]!,
});

/** Bytes of a piece: eight neighbours of 16 bits, sixteen of 8, four of 32. */
export const PIECE_BYTES = 16;
/** Rows of 16 bytes that lie together. */
const CORE_ROWS = 8;

/**
 * Addresses of an operand's pieces along K: both of one row (of A) or column (of B) after the other. An instruction's K has
 * two pieces, whatever the type. Layouts: PTX ISA, strides of wgmma's shared memory operands.
 */
export function piecesAlongK(matrix: MatrixDescriptor, first: number, count: number): Int32Array {
  const { start, leadingBytes, strideBytes, swizzleBytes } = matrix;
  const rowBytes = swizzleBytes || PIECE_BYTES;
  const pieceStep = swizzleBytes > 0 ? PIECE_BYTES : leadingBytes;
  return Int32Array.from({ length: count * 2 }, (_, i) => {
    const row = first + (i >> 1);
    const at = start + (row % CORE_ROWS) * rowBytes + Math.floor(row / CORE_ROWS) * strideBytes + (i & 1) * pieceStep;
    return swizzled(at, swizzleBytes);
  });
}

/** Addresses of an operand's pieces along M or N, eight elements each: `depth` of one piece of M or N after the other. */
export function piecesAcrossK(matrix: MatrixDescriptor, first: number, count: number, depth: number): Int32Array {
  const { start, leadingBytes, strideBytes, swizzleBytes } = matrix;
  const perRow = (swizzleBytes || PIECE_BYTES) / PIECE_BYTES;
  const [pieceBytes, coreBytes] = swizzleBytes > 0 ? [leadingBytes, strideBytes] : [strideBytes, leadingBytes];
  return Int32Array.from({ length: count * depth }, (_, i) => {
    const piece = first + Math.floor(i / depth);
    const k = i % depth;
    const at =
      start +
      (piece % perRow) * PIECE_BYTES +
      Math.floor(piece / perRow) * pieceBytes +
      (k % CORE_ROWS) * perRow * PIECE_BYTES +
      Math.floor(k / CORE_ROWS) * coreBytes;
    return swizzled(at, swizzleBytes);
  });
}
