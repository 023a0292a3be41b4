import type { PtxOperand } from '../../ptx/ast.ts';
import { has, spaceOf } from '../../ptx/instruction-parts.ts';
import { LANES, WINDOW } from '../layout.ts';
import type { FaultPlace } from '../runtime/fault.ts';
import { type Address, addressHalves, type WarpContext } from '../runtime/warp-context.ts';

const ADDRESSES = addressHalves();
/** Bytes that lanes read of what they copy. */
const WANTED = new Uint32Array(LANES);

/** Generic addresses of these lie in a CTA's own memory. */
const PRIVATE_WINDOWS: ReadonlySet<number> = new Set([WINDOW.shared, WINDOW.local, WINDOW.constant, WINDOW.parameter]);

/**
 * Puts the real address of each lane's access into a register. A generic address of a CTA's own memory stays what it is, and one from which
 * nothing is copied may be any.
 * @throws KernelFault if an access is misaligned, or out of the bounds of the buffer in pages.
 */
export function translate(context: WarpContext): void {
  const { instruction, operands } = context;
  const [real, virtual, size, taken] = operands as [PtxOperand, PtxOperand, PtxOperand, PtxOperand?];
  const bytes = context.word(size, 0);
  const isGeneric = spaceOf(instruction) === 'generic';
  const { low, high } = context.addresses(virtual, ADDRESSES);
  if (taken) context.wordsInto(taken, WANTED);
  for (const lane of context.lanes) {
    const address = { low: low[lane]!, high: high[lane]! };
    const isLeft = (taken && WANTED[lane] === 0) || (isGeneric && PRIVATE_WINDOWS.has(address.high));
    if (isLeft) context.setHalves(real, lane, address.low, address.high);
    else context.setHalves(real, lane, placeOf(context, address, bytes, lane), WINDOW.global);
  }
}

function placeOf(context: WarpContext, { low, high }: Address, bytes: number, lane: number): number {
  const isStore = has(context.instruction, 'store');
  // Exact for every address near a buffer: below 2^47.
  const address = high * 2 ** 32 + low;
  const where = (): FaultPlace => ({
    address: (BigInt(high) << 32n) | BigInt(low),
    accessBytes: bytes,
    space: 'global',
    buffer: context.pages.nearest(address),
  });
  const access = `global ${isStore ? 'write' : 'read'}`;
  if (low % bytes !== 0) throw context.fault('misaligned', `misaligned ${bytes}-byte ${access}`, lane, where());
  const place = context.pages.place(address, bytes, isStore);
  if (place === undefined) throw context.fault('out-of-bounds', `out-of-bounds ${access}`, lane, where());
  return place;
}
