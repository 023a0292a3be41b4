import type { PtxInstruction } from '../../ptx/ast.ts';
import { has } from '../../ptx/instruction-parts.ts';
import { unsupported } from '../unsupported.ts';
import { bulkPrefetch } from './cache-hints.ts';
import type { WarpContext } from './warp-context.ts';

type Step = (context: WarpContext) => void;

/**
 * cp.async. A copy lands when the kernel waits for it, not before. Code that forgets the wait reads the old contents of
 * shared memory, as may happen on hardware. The source is also read at that time.
 */
export function asyncCopy(context: WarpContext): void {
  stepFor(context.instruction)(context);
}

function stepFor(instruction: PtxInstruction): Step {
  const { modifiers } = instruction;
  if (modifiers.includes('bulk') && modifiers.includes('prefetch')) return bulkPrefetch;
  if (modifiers[0] !== 'async' || modifiers.includes('bulk') || modifiers.includes('mbarrier'))
    throw unsupported(instruction);
  if (modifiers.includes('commit_group')) return commit;
  if (modifiers.includes('wait_group')) return waitGroup;
  if (modifiers.includes('wait_all')) return waitAll;
  if (modifiers.includes('ca') || modifiers.includes('cg')) return issue;
  throw unsupported(instruction);
}

function issue(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const [destination, source, size, sourceSize] = operands;
  if (!destination || !source || size?.kind !== 'immediate' || has(instruction, 'L2::cache_hint'))
    throw unsupported(instruction);
  const bytes = Number(size.value);
  const loads = [];
  const stores = [];
  for (const lane of lanes) {
    const [to, from] = [context.address(destination, lane), context.address(source, lane)];
    const wanted = sourceSize ? Math.min(bytes, context.word(sourceSize, lane)) : bytes;
    const target = context.resolve(to, 'shared', bytes, true, lane);
    stores.push({ lane, address: to, space: 'shared' });
    if (wanted === 0) {
      context.copies.open.push(() => {
        fillZero(target, 0, bytes);
        context.landed(to, lane);
      });
      continue;
    }
    const origin = context.resolve(from, 'global', bytes, false, lane, wanted);
    loads.push({ lane, address: from, space: 'global' });
    context.copies.open.push(() => {
      for (let i = 0; i < wanted; i++) target.view.setUint8(target.offset + i, origin.view.getUint8(origin.offset + i));
      fillZero(target, wanted, bytes);
      context.landed(to, lane);
    });
  }
  context.countRequest(loads, bytes, 'load');
  context.countRequest(stores, bytes, 'store');
}

function fillZero(target: { view: DataView; offset: number }, from: number, to: number): void {
  for (let i = from; i < to; i++) target.view.setUint8(target.offset + i, 0);
}

function commit({ copies }: WarpContext): void {
  copies.groups.push(copies.open);
  copies.open = [];
}

function waitGroup({ copies, operands }: WarpContext): void {
  const allowed = operands[0]?.kind === 'immediate' ? Number(operands[0].value) : 0;
  while (copies.groups.length > allowed) for (const copy of copies.groups.shift()!) copy();
}

function waitAll({ copies }: WarpContext): void {
  for (const group of [...copies.groups, copies.open]) for (const copy of group) copy();
  copies.groups = [];
  copies.open = [];
}
