import type { CounterTotals } from './counters.ts';
import { INSTRUCTION_CLASSES } from './vocabulary.ts';

/** Sums of no launch. */
export const emptyTotals = (): CounterTotals => ({
  instructions: 0,
  threadInstructions: 0,
  instructionsByClass: Object.fromEntries(
    INSTRUCTION_CLASSES.map((name) => [name, 0]),
  ) as CounterTotals['instructionsByClass'],
  flop: { fp16: 0, fp32: 0, fp64: 0, tensor: 0 },
  globalLoadRequests: 0,
  globalLoadSectors: 0,
  globalLoadBytes: 0,
  globalStoreRequests: 0,
  globalStoreSectors: 0,
  globalStoreBytes: 0,
  localLoadRequests: 0,
  localStoreRequests: 0,
  sharedLoadRequests: 0,
  sharedLoadWavefronts: 0,
  sharedLoadBankConflicts: 0,
  sharedStoreRequests: 0,
  sharedStoreWavefronts: 0,
  sharedStoreBankConflicts: 0,
  barriers: 0,
  globalAtomicRequests: 0,
  sharedAtomicRequests: 0,
  branches: 0,
  divergentBranches: 0,
});
