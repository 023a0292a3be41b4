import type { Pattern } from '../pattern.ts';
import { aggregateAtomics } from './aggregate-atomics.ts';
import { asynchronousProducts } from './asynchronous-products.ts';
import { copiesAhead } from './copies-ahead.ts';
import { fewerInstructions } from './fewer-instructions.ts';
import { fewerSpecialFunctions } from './fewer-special-functions.ts';
import { fitCtas } from './fit-ctas.ts';
import { fuseLaunches } from './fuse-launches.ts';
import { keepArraysInRegisters } from './keep-arrays-in-registers.ts';
import { largerTiles } from './larger-tiles.ts';
import { moreWorkInFlight } from './more-work-in-flight.ts';
import { orderCtasForReuse } from './order-ctas-for-reuse.ts';
import { overlapSoftmax } from './overlap-softmax.ts';
import { padSharedRows } from './pad-shared-rows.ts';
import { parallelismFirst } from './parallelism-first.ts';
import { raiseOccupancy } from './raise-occupancy.ts';
import { tensorCores } from './tensor-cores.ts';
import { tilesInSharedMemory } from './tiles-in-shared-memory.ts';
import { tuneNeighbours } from './tune-neighbours.ts';
import { uniformBranches } from './uniform-branches.ts';
import { vectorisedLoads } from './vectorised-loads.ts';
import { warpParallelReductions } from './warp-parallel-reductions.ts';
import { wholeWaves } from './whole-waves.ts';

/** Every pattern, the most specific first. */
export const PATTERNS: readonly Pattern[] = [
  parallelismFirst,
  warpParallelReductions,
  tilesInSharedMemory,
  vectorisedLoads,
  padSharedRows,
  fitCtas,
  raiseOccupancy,
  wholeWaves,
  tensorCores,
  overlapSoftmax,
  copiesAhead,
  asynchronousProducts,
  moreWorkInFlight,
  largerTiles,
  keepArraysInRegisters,
  aggregateAtomics,
  orderCtasForReuse,
  fewerSpecialFunctions,
  fuseLaunches,
  uniformBranches,
  fewerInstructions,
  tuneNeighbours,
];
