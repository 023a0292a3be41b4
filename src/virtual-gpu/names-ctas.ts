import type { PtxInstruction } from '../ptx/ast.ts';
import { isOfCluster } from '../ptx/instruction-parts.ts';
import { showsRanks } from '../ptx/instructions/properties.ts';

/**
 * Whether code can tell that addresses of its shared memory hold the CTA's rank: it reaches other CTAs by them, or puts them into
 * descriptors of matrices. nvcc's machine code adds the rank to every such address; here other code is spared the work.
 */
export const namesCtas = (instructions: readonly PtxInstruction[]): boolean =>
  instructions.some((instruction) => showsRanks(instruction) || isOfCluster(instruction));
