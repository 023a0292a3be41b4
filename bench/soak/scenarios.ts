import type { OptimizeRequest } from '../../src/app/optimize.ts';
import type { Timing } from '../../src/core/timing.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';

/** A search that is killed again and again. */
export interface Scenario {
  kind: Timing['kind'];
  strategy: NonNullable<OptimizeRequest['strategy']>;
  /** As `--workload` takes them. */
  workloads: readonly string[];
}

/** Between them: every kind of time, guided and blind searches, one workload and several. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  guided: { kind: 'predicted', strategy: 'guided', workloads: [] },
  'guided-measured': { kind: 'measured', strategy: 'guided', workloads: [] },
  'guided-several-workloads': { kind: 'predicted', strategy: 'guided', workloads: ['all'] },
  'measured-several-workloads': { kind: 'measured', strategy: 'guided', workloads: ['all'] },
  random: { kind: 'predicted', strategy: 'random', workloads: [] },
  tpe: { kind: 'predicted', strategy: 'tpe', workloads: [] },
  evolutionary: { kind: 'measured', strategy: 'evolutionary', workloads: [] },
};

export const PROBLEM = new URL('scale', import.meta.url).pathname;

/** What a scenario asks of the loop. */
export const requestOf = (
  { strategy, workloads, kind }: Scenario,
  store: string,
  maximumEvaluations: number,
): OptimizeRequest => ({
  target: PROBLEM,
  device: kind === 'measured' ? 'cuda:0' : 'virtual:l4',
  workloads,
  parameters: {},
  seed: 7,
  strategy,
  budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations },
  store,
});
