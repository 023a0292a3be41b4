import { LINE_BYTES } from '../../core/gpu-sizes.ts';
import { spaceOf } from '../../ptx/instruction-parts.ts';
import { unsupported } from '../unsupported.ts';
import { advance, type WarpContext } from './warp-context.ts';

/** No policy of a GPU, so that a kernel that computes with it is wrong. */
const OPAQUE_POLICY = 0x5eed_0f_b175n;

/** prefetch, prefetchu: brings nothing, but must point into a buffer. */
export function prefetch(context: WarpContext): void {
  if (context.instruction.modifiers.includes('tensormap')) return;
  check(context, 1, false);
}

export function applyPriority(context: WarpContext): void {
  check(context, LINE_BYTES, false);
}

/** cp.async.bulk.prefetch.L2.global [from], bytes. */
export function bulkPrefetch(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const [from, size] = operands;
  if (!from || !size || instruction.modifiers.includes('tensor')) throw unsupported(instruction);
  for (const lane of lanes) {
    const bytes = context.word(size, lane);
    const address = context.address(from, lane);
    if (bytes > 0) context.resolve(address, 'global', 1, false, lane, 0);
    if (bytes > 1) context.resolve(advance(address, bytes - 1), 'global', 1, false, lane, 0);
  }
}

/** createpolicy: a number for `.L2::cache_hint`, whose bits mean nothing to a program. A virtual L2 keeps lines as if there were none. */
export function createPolicy(context: WarpContext): void {
  for (const lane of context.lanes) context.setInteger(context.operands[0]!, lane, OPAQUE_POLICY);
}

/** discard: the line's contents are undefined afterwards, so it is filled with meaningless bytes. */
export function discard(context: WarpContext): void {
  const targets = check(context, LINE_BYTES, true);
  for (const { view, offset } of targets)
    new Uint8Array(view.buffer, view.byteOffset + offset, LINE_BYTES).set(context.rubbish(offset, LINE_BYTES));
  context.watchRequest(targets, LINE_BYTES, 'store');
}

function check(context: WarpContext, bytes: number, isStore: boolean) {
  const { instruction, operands, lanes } = context;
  return lanes.map((lane) => {
    const address = context.address(operands[0]!, lane);
    return { lane, address, ...context.resolve(address, spaceOf(instruction), bytes, isStore, lane, 0) };
  });
}
