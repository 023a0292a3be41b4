import { type Counters, type CounterTotals, INSTRUCTION_CLASSES, type LaunchCounters } from '../core/counters.ts';

/** Sums of no launch. */
const noCounters = (): CounterTotals => ({
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

type Sums = { [name: string]: number | Sums };

/** Adds every number of `into`'s shape, nested ones too. */
const addInto = (into: Sums, from: Sums): void => {
  for (const [name, value] of Object.entries(into)) {
    if (typeof value === 'number') into[name] = value + (from[name] as number);
    else addInto(value, from[name] as Sums);
  }
};

/** Totals over a launch sequence, spread at the top level and under `totals`, beside the launches. */
export const sumCounters = (launches: LaunchCounters[]): Counters => {
  const totals = noCounters();
  for (const launch of launches) addInto(totals as unknown as Sums, launch as unknown as Sums);
  return { ...totals, totals, launches };
};
