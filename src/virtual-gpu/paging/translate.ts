import type { PtxOperand } from '../../ptx/ast.ts';
import { has, spaceOf } from '../../ptx/instruction-parts.ts';
import { LANES, WINDOW } from '../layout.ts';
import type { FaultPlace, KernelFault } from '../runtime/fault.ts';
import { type Address, addressHalves, type WarpContext } from '../runtime/warp-context.ts';

/** What is known of virtual addresses, as a {@link PageTable} does. */
export interface Places {
  place(address: number, bytes: number, isStore: boolean): number | undefined;
  nearest(address: number): FaultPlace['buffer'];
}

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
export function translate(context: WarpContext, pages: Places): void {
  const { instruction, operands } = context;
  const [real, virtual, size, taken] = operands as [PtxOperand, PtxOperand, PtxOperand, PtxOperand?];
  const bytes = context.word(size, 0);
  const isStore = has(instruction, 'store');
  const isGeneric = spaceOf(instruction) === 'generic';
  const { low, high } = context.addresses(virtual, ADDRESSES);
  if (taken) context.wordsInto(taken, WANTED);
  for (const lane of context.lanes) {
    const lower = low[lane]!;
    const upper = high[lane]!;
    if ((taken && WANTED[lane] === 0) || (isGeneric && PRIVATE_WINDOWS.has(upper))) continue;
    const place = lower % bytes === 0 ? pages.place(addressOf(lower, upper), bytes, isStore) : undefined;
    if (place === undefined) throw faultAt(context, pages, { low: lower, high: upper }, bytes, lane);
    low[lane] = place;
    high[lane] = WINDOW.global;
  }
  context.setAddresses(real, ADDRESSES);
}

/** Exact below 2^53, and so near every buffer. */
const addressOf = (low: number, high: number): number => high * 2 ** 32 + low;

function faultAt(
  context: WarpContext,
  pages: Places,
  { low, high }: Address,
  bytes: number,
  lane: number,
): KernelFault {
  const access = `global ${has(context.instruction, 'store') ? 'write' : 'read'}`;
  const where = {
    address: (BigInt(high) << 32n) | BigInt(low),
    accessBytes: bytes,
    space: 'global',
    buffer: pages.nearest(addressOf(low, high)),
  };
  return low % bytes === 0
    ? context.fault('out-of-bounds', `out-of-bounds ${access}`, lane, where)
    : context.fault('misaligned', `misaligned ${bytes}-byte ${access}`, lane, where);
}
