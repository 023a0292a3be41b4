import type { Budgets } from '../store/events.ts';
import { allowanceOf } from './allowance.ts';
import { createBudget, type ResolvedBudgets } from './budget.ts';
import { createHistory } from './history.ts';
import { minimisesEnergy } from './minimised.ts';
import { createMoveLedger } from './move-ledger.ts';
import { createProposer } from './proposers/create-proposer.ts';
import { emit, type OptimizeOptions, type Run, reference } from './run.ts';

/** The budgets, with the evaluations reserved for the time after the search. */
export const resolveBudgets = (
  { workloads, ablation, problem }: Pick<OptimizeOptions, 'workloads' | 'ablation' | 'problem'>,
  budgets: Budgets,
): ResolvedBudgets => ({
  ...budgets,
  allowance: allowanceOf({
    budgets,
    workloadCount: workloads.length,
    ablates: ablation !== false,
    advises: (problem.file.independentDimensions ?? []).length > 0,
  }),
});

/** A run before its first evaluation, and the event that describes it. */
export function startRun(options: OptimizeOptions): Run {
  const history = createHistory(options.history ?? [], options.clockMs ?? (() => performance.now()));
  const { workloads, goal, request, environment, repository, roofline } = options;
  const budgets = resolveBudgets(options, options.budgets);
  const run: Run = {
    options,
    history,
    budget: createBudget(budgets, history.clockMs),
    ledger: createMoveLedger(),
    proposer: createProposer(options),
    iteration: 0,
    bests: [],
    trials: new Map(),
    judged: new Map(),
    judgements: new Map(),
    advised: new Set(),
    ablated: new Set(),
    deviceFailures: 0,
    withoutGain: 0,
    isExtended: false,
  };
  const { name, dimensions, cache } = workloads[0]!;
  emit(run, {
    type: 'run-started',
    problem: {
      name: options.problem.file.name,
      folder: options.problem.folder,
      dtype: options.problem.file.dtype,
    },
    repository,
    start: reference(options.start),
    workload: { name, dimensions, cache },
    workloads: [...workloads],
    device: options.device,
    seed: options.seed,
    strategy: options.strategy ?? 'guided',
    minimised: minimisesEnergy(options) ? 'energy' : undefined,
    budgets,
    goal: goal ?? null,
    priors: options.priors ?? { patterns: [], costs: [] },
    request,
    environment: environment ?? {},
    roofline,
  });
  return run;
}
