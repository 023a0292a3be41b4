import type { Rule } from '../rule.ts';
import { atomicsContention } from './atomics-contention.ts';
import { bankConflicts } from './bank-conflicts.ts';
import { barrierHeavy } from './barrier-heavy.ts';
import { computeBound, latencyBound, memoryBound } from './bound-by.ts';
import { cacheReuse } from './cache-reuse.ts';
import { divergence } from './divergence.ts';
import { exposedCopies } from './exposed-copies.ts';
import { fewStages } from './few-stages.ts';
import { launchBound } from './launch-bound.ts';
import { narrowLoads } from './narrow-loads.ts';
import { occupancyRule } from './occupancy.ts';
import { parallelism } from './parallelism.ts';
import { redundantGlobalLoads } from './redundant-global-loads.ts';
import { registerSpills } from './register-spills.ts';
import { serialSections } from './serial-sections.ts';
import { specialFunctionBound } from './special-function-bound.ts';
import { tailEffect } from './tail-effect.ts';
import { tensorCoresUnused } from './tensor-cores-unused.ts';
import { tensorPipeIdle } from './tensor-pipe-idle.ts';
import { uncoalescedAccess } from './uncoalesced-access.ts';
import { warpImbalance } from './warp-imbalance.ts';
import { wgmmaSerialized } from './wgmma-serialized.ts';

/** Every rule, in the order of FINDING_IDS. */
export const RULES: readonly Rule[] = [
  parallelism,
  tailEffect,
  occupancyRule,
  serialSections,
  warpImbalance,
  uncoalescedAccess,
  bankConflicts,
  divergence,
  barrierHeavy,
  narrowLoads,
  redundantGlobalLoads,
  cacheReuse,
  registerSpills,
  atomicsContention,
  tensorCoresUnused,
  tensorPipeIdle,
  exposedCopies,
  fewStages,
  wgmmaSerialized,
  specialFunctionBound,
  memoryBound,
  computeBound,
  latencyBound,
  launchBound,
];
