/**
 * An address of shared memory holds the rank of its CTA in the cluster above its 18 bits. Shifted into a descriptor and not masked, the
 * rank is added to the leading bytes: what they are for lies elsewhere in every CTA but the first.
 */
import { CLUSTER_RANK_SHIFT } from '../../layout.ts';
import type { WarpContext } from '../warp-context.ts';
import { type MatrixDescriptor, readDescriptor } from './shared-operands.ts';

/** Descriptors hold addresses without their lowest four bits. */
const RANK_BIT = BigInt(CLUSTER_RANK_SHIFT - 4);
/** What each rank adds to the leading bytes: the field's lowest bit is bit 16, and counts 16 bytes. */
const LEADING_BYTES = 16 * 2 ** (CLUSTER_RANK_SHIFT - 4 - 16);
/** Rows after which a swizzle repeats. */
const ATOM_ROWS = 8;

const REMEDY =
  'an address of shared memory holds the rank of its CTA from bit 24 on, and a descriptor takes its lower 18 bits: mask it (& 0x3ffff)';

/** An operand, as the CTAs of a cluster remember it. */
export interface DescribedOperand {
  readonly descriptor: bigint;
  /** How it lies, as {@link CtaState.pieces} names that. */
  readonly kind: string;
  readonly layOut: (matrix: MatrixDescriptor) => Int32Array;
}

/**
 * What to add to a fault in which an operand plays a part: whether the rank seems to lie in its descriptor. So it seems where the atoms of a swizzle
 * would be whole without it.
 * @throws KernelFault where another CTA of the cluster had the same descriptor but for the rank, and it makes a difference.
 */
export function rankIn(context: WarpContext, operand: DescribedOperand): string {
  const { rank } = context.cta;
  const { descriptor, kind } = operand;
  for (const { state } of context.cluster) {
    const theirs = descriptor + (BigInt(state.rank - rank) << RANK_BIT);
    if (state.rank !== rank && state.pieces.get(kind)?.has(theirs) && areElsewhere(operand, readDescriptor(theirs)))
      throw context.fault(
        'out-of-bounds',
        `wgmma.mma_async has an operand whose leading bytes are ${leadingOf(descriptor)} in CTA ${rank} of the cluster and ` +
          `${leadingOf(theirs)} in CTA ${state.rank}: ${REMEDY},`,
        0,
      );
  }
  const matrix = readDescriptor(descriptor);
  const without = { ...matrix, leadingBytes: matrix.leadingBytes - LEADING_BYTES * rank };
  const atomBytes = matrix.swizzleBytes * ATOM_ROWS;
  const seemsSo = matrix.leadingBytes % atomBytes !== 0 && without.leadingBytes % atomBytes === 0;
  return seemsSo && areElsewhere(operand, without)
    ? ` (the leading bytes of its operand, ${matrix.leadingBytes}, seem to hold ${LEADING_BYTES} for the rank: ${REMEDY})`
    : '';
}

const leadingOf = (descriptor: bigint): number => readDescriptor(descriptor).leadingBytes;

/** Whether an operand's pieces would lie elsewhere by another descriptor. */
function areElsewhere({ descriptor, layOut }: DescribedOperand, other: MatrixDescriptor): boolean {
  const [here, there] = [layOut(readDescriptor(descriptor)), layOut(other)];
  return here.some((address, i) => address !== there[i]);
}
