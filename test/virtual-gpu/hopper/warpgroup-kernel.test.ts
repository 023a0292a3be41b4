import { describe, expect, it } from 'vitest';
import { numbersBelow } from '../../../src/core/values.ts';
import { numberToF16 } from '../../../src/virtual-gpu/runtime/half-numbers.ts';
import { halfForm } from '../../../src/virtual-gpu/runtime/tensor-form.ts';
import { warpgroupModel } from '../../../src/virtual-gpu/runtime/tensor-model.ts';
import { createWarpgroupKernel, KeptList } from '../../../src/virtual-gpu/runtime/warpgroups/warpgroup-kernel.ts';

const [ROWS, COLUMNS, K] = [16, 8, 16];
const PIECE_HALVES = 8;
const REGISTER_BYTES = 128;
/** Bytes from the beginning of memory. */
const [A, B, WARP] = [1024, 4096, 8192];

/** Addresses of two pieces of each row, from `start` on. */
const piecesOf = (start: number, rows: number): KeptList =>
  new KeptList(Int32Array.from({ length: rows * 2 }, (_, i) => start + i * PIECE_HALVES * 2));

/** A warp that multiplies a matrix by a tile of columns, of which element (k, column) is `k == column + shift`. */
function warp() {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const halves = new Uint16Array(memory.buffer);
  const value = (row: number, k: number): number => ((row * 7 + k * 3) % 31) - 15;
  for (let i = 0; i < ROWS * K; i++) halves[A / 2 + i] = numberToF16(value(Math.floor(i / K), i % K));
  const kernel = createWarpgroupKernel(memory, halfForm('f16', K, warpgroupModel));
  const registers = new KeptList(Int32Array.from({ length: 4 }, (_, r) => r * REGISTER_BYTES));
  const words = new Float32Array(memory.buffer);
  return {
    kernel,
    multiply(a: KeptList, b: KeptList, shift: number): boolean {
      for (let i = 0; i < COLUMNS * K; i++)
        halves[B / 2 + i] = numberToF16(i % K === Math.floor(i / K) + shift ? 1 : 0);
      const place = kernel.placeOf(registers);
      expect(kernel.decode(kernel.placeOf(a))).toBe(1);
      expect(kernel.multiply(0, 1, 0, WARP, 0, kernel.placeOf(b), place)).toBe(1);
      return numbersBelow(ROWS * COLUMNS).every((i) => {
        const [row, column] = [Math.floor(i / COLUMNS), i % COLUMNS];
        const [lane, register] = [(row % 8) * 4 + (column >> 1), (row >> 3) * 2 + (column & 1)];
        return words[(WARP + register * REGISTER_BYTES) / 4 + lane] === value(row, column + shift);
      });
    },
  };
}

describe('lists that the kernel of a warpgroup keeps', () => {
  it('are those of this product, however many others there were: registers stay for long, pieces are new with each launch', () => {
    const { kernel, multiply } = warp();
    const elsewhere = new Int32Array(512);
    for (let round = 0; round < 4000; round++) {
      expect(multiply(piecesOf(A, ROWS), piecesOf(B, COLUMNS), round % 9), `product ${round}`).toBe(true);
      for (let i = 0; i < round % 3; i++) kernel.placeOf(new KeptList(elsewhere.subarray(0, 100 * i + 28)));
    }
  });

  it('stay where they are while there is room', () => {
    const { kernel } = warp();
    const list = piecesOf(A, ROWS);
    const place = kernel.placeOf(list);
    kernel.placeOf(piecesOf(B, COLUMNS));
    expect(kernel.placeOf(list)).toBe(place);
  });

  it('are another kernel’s again when that one is asked', () => {
    const [first, second] = [warp(), warp()];
    const [a, b] = [piecesOf(A, ROWS), piecesOf(B, COLUMNS)];
    second.kernel.placeOf(new KeptList(new Int32Array(100)));
    for (const one of [first, second, first]) expect(one.multiply(a, b, 3)).toBe(true);
  });
});
