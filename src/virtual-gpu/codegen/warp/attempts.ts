/** Code for the usual case of whole-warp instructions. It pushes whether the case was a usual one: if not, JavaScript executes them. */
import type { PtxOperand } from '../../../ptx/ast.ts';
import { has } from '../../../ptx/instruction-parts.ts';
import { elementsOf } from '../../../ptx/operands.ts';
import { LAUNCH, PATTERN, SHARED } from '../../layout.ts';
import { matrixCountOf, MATRIX_ROW_BYTES as ROW_BYTES, MATRIX_ROWS as ROWS } from '../../runtime/matrix-form.ts';
import { tensorFormOf } from '../../runtime/tensor-form.ts';
import type { Local } from '../../wasm/function-builder.ts';
import { emitTranspose } from '../../wasm/transpose.ts';
import { chunkOffsets } from '../control/runtime-functions.ts';
import { emitCounts, emitWatches } from '../memory/accounts.ts';
import { dropOwnRanks } from '../memory/own-rank.ts';
import { newGroup } from '../memory/plan.ts';
import type { WarpFormContext } from './context.ts';

/** False, and no code, where none of the cases is a usual one. */
type Attempt = (context: WarpFormContext) => boolean;

/** Byte offset of a register from the warp's state; undefined for other operands, and registers that hold one value for the warp. */
function placeOf({ kernel }: WarpFormContext, operand: PtxOperand | undefined): number | undefined {
  if (operand?.kind !== 'register' || kernel.uniform.has(operand.name)) return undefined;
  return kernel.slotOf(operand.name);
}

/** mma.sync: calls the kernel of its form, which takes the addresses of A, B, C and D. */
const multiply: Attempt = (context) => {
  const { b, kernel, instruction, locals } = context;
  const form = tensorFormOf(instruction, kernel.target);
  const [d = [], ...factors] = instruction.operands.map(elementsOf);
  const places = [...factors.flat(), ...d].map((operand) => placeOf(context, operand));
  const product = form && kernel.imports.products.get(form);
  if (product === undefined || places.includes(undefined)) return false;
  for (const place of places) b.get(locals.warp).add(place!);
  b.call(product);
  return true;
};

/** ldmatrix: rows that are aligned and lie in the own shared memory. */
const loadMatrix: Attempt = (context) => {
  const { b, kernel, instruction, locals } = context;
  const count = matrixCountOf(instruction);
  const [matrices, address] = instruction.operands;
  if (count === undefined || !matrices || address?.kind !== 'address') return false;
  if (address.base?.kind !== 'register') return false;
  const base = placeOf(context, address.base);
  const isWide = kernel.kindOf(address.base.name) === 'double-word';
  const places = elementsOf(matrices).map((operand) => placeOf(context, operand));
  if (base === undefined || isWide || places.includes(undefined)) return false;
  const isLoaded = b.local('i32');
  const addresses = Array.from({ length: (count * ROWS) / 4 }, (_, chunk) => {
    b.get(locals.warp).memory('v128.load', base + chunk * 16);
    const four = b.i32x4(Number(address.offset)).op('i32x4.add').pop('v128');
    if (kernel.namesCtas) dropOwnRanks(b, four);
    return four;
  });
  pushAreRows(context, addresses);
  b.tee(isLoaded);
  b.if(() => {
    places.forEach((place, matrix) => {
      const rows = Array.from({ length: ROWS }, (_, row) =>
        b
          .get(addresses[matrix * 2 + (row >> 2)]!)
          .lane('i32x4.extract_lane', row & 3)
          .memory('v128.load', SHARED)
          .pop('v128'),
      );
      const vectors = has(instruction, 'trans') ? emitTranspose(b, rows) : rows;
      for (const [i, vector] of vectors.entries())
        b.get(locals.warp, vector).memory('v128.store', place! + i * ROW_BYTES);
    });
    if (kernel.counting || kernel.watching) noteRows(context, addresses);
  });
  b.get(isLoaded);
  return true;
};

/** Has rows counted or watched, those of each matrix for themselves. Lanes that have none repeat the addresses of those that do. */
function noteRows(context: WarpFormContext, addresses: readonly Local[]): void {
  const { b, kernel, instruction } = context;
  const rows = { instruction, isStore: false, offset: 0, bytes: ROW_BYTES };
  const quarters = Array.from({ length: addresses.length / 2 }, (_, quarter) => ({ ...rows, quarter }));
  const group = newGroup(context, 'shared', quarters);
  for (const [chunk, at] of chunkOffsets.entries())
    b.i32(group.pattern)
      .get(addresses[chunk % addresses.length]!)
      .memory('v128.store', PATTERN.addresses + at);
  if (kernel.watching) emitWatches(context, [{ group }]);
  else emitCounts(context, [{ group }]);
}

/** Pushes whether these are addresses of rows in shared memory. */
function pushAreRows({ b }: WarpFormContext, addresses: readonly Local[]): void {
  const end = b.i32(0).memory('v128.load32_splat', LAUNCH.totalSharedBytes).pop('v128');
  for (const [i, address] of addresses.entries()) {
    b.get(address)
      .i32x4(ROW_BYTES - 1)
      .op('v128.and');
    b.get(address)
      .i32x4(ROW_BYTES - 1)
      .op('i32x4.add')
      .get(end)
      .op('i32x4.ge_u', 'v128.or');
    if (i > 0) b.op('v128.or');
  }
  b.op('v128.any_true', 'i32.eqz');
}

const ATTEMPTS: ReadonlyMap<string, Attempt> = new Map([
  ['mma', multiply],
  ['ldmatrix', loadMatrix],
]);

/** Pushes whether the instruction was executed; false, and no code, if it is one for JavaScript. */
export const attempt: Attempt = (context) => {
  const { instruction, masked } = context;
  if (masked || instruction.guard) return false;
  return ATTEMPTS.get(instruction.opcode)?.(context) ?? false;
};
