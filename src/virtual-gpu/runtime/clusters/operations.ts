import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { has, isOfCluster, typeOf, vectorLength } from '../../../ptx/instruction-parts.ts';
import { sizeOfPtxType } from '../../../ptx/types.ts';
import { CLUSTER_RANK_SHIFT, OFFSET_IN_CTA, WINDOW } from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import { CLUSTER_PHASE } from '../cta-state.ts';
import { completeBytes, mbarrierBeside } from '../mbarriers/operations.ts';
import type { WarpContext } from '../warp-context.ts';

/** barrier.cluster.arrive: counts towards the cluster's barrier and goes on. Releases unless it says `.relaxed`. */
export function clusterArrive(context: WarpContext): void {
  const { instruction, lanes, watcher, warp } = context;
  const { clusterPhases } = context.ownCta;
  for (const lane of lanes) {
    const thread = context.threadOf(lane);
    if (clusterPhases[thread] !== CLUSTER_PHASE.outside)
      throw context.fault(
        'barrier',
        "arrives at the cluster's barrier twice, with no barrier.cluster.wait between:",
        lane,
      );
    clusterPhases[thread] = CLUSTER_PHASE.arrived;
  }
  watcher?.clusterArrive(warp, !has(instruction, 'relaxed'));
}

/** mapa: the same place in the shared memory of another CTA of the cluster, as an address of the same kind. */
export function mapAddress(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const [destination, source, rankOperand] = operands as [PtxOperand, PtxOperand, PtxOperand];
  const isGeneric = !instruction.modifiers.some((modifier) => modifier.startsWith('shared'));
  for (const lane of lanes) {
    const address = context.integer(source, lane);
    const rank = context.word(rankOperand, lane);
    if (isGeneric && Number(address >> 32n) !== WINDOW.shared)
      throw context.fault('out-of-bounds', 'takes an address of shared memory, not', lane, {
        address,
        accessBytes: 1,
        space: 'generic',
      });
    context.neighbour(rank, lane);
    const there = (address & BigInt(OFFSET_IN_CTA)) | (BigInt(rank) << BigInt(CLUSTER_RANK_SHIFT));
    context.setInteger(destination, lane, isGeneric ? (BigInt(WINDOW.shared) << 32n) | there : there);
  }
}

/** getctarank: of the CTA in whose shared memory an address lies. */
export function rankOfAddress(context: WarpContext): void {
  const [destination, source] = context.operands as [PtxOperand, PtxOperand];
  for (const lane of context.lanes) {
    const rank = Number((context.integer(source, lane) & 0xffffffffn) >> BigInt(CLUSTER_RANK_SHIFT));
    context.setWord(destination, lane, rank);
  }
}

/**
 * st.async: values that reach a CTA of the cluster when somebody waits at their mbarrier there, not before.
 * Source: PTX ISA, st.async.
 */
export function storeAsync(instruction: PtxInstruction): (context: WarpContext) => void {
  const isKnown = isOfCluster(instruction) && has(instruction, 'mbarrier::complete_tx::bytes');
  if (!isKnown || has(instruction, 'mmio')) throw unsupported(instruction);
  const [count, size] = [vectorLength(instruction), sizeOfPtxType(typeOf(instruction))];
  return (context) => sendValues(context, count, size);
}

function sendValues(context: WarpContext, count: number, size: number): void {
  const { operands, lanes } = context;
  const bytes = count * size;
  context.requireCluster();
  for (const lane of lanes) {
    const address = context.address(operands[0]!, lane);
    context.resolve(address, 'shared', bytes, true, lane);
    const { cta, address: offset } = context.inCluster(address, 'shared', lane);
    const barrier = mbarrierBeside(context, operands[1 + count]!, lane, cta);
    const values = new DataView(new ArrayBuffer(bytes));
    for (let element = 0; element < count; element++) {
      const value = operands[1 + element]!;
      if (size === 8) values.setBigUint64(element * size, context.double(value, lane), true);
      else values.setUint32(element * size, context.word(value, lane), true);
    }
    const land = (): void => {
      context.receive(new Uint8Array(values.buffer), offset, barrier, lane);
      completeBytes(context, lane, cta, barrier, bytes);
    };
    cta.send(barrier, land, context.senderAt(lane));
  }
}
