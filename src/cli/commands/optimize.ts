import { optimizePerWorkload } from '../../app/dispatch.ts';
import { type OptimizeRequest, optimizeProblem } from '../../app/optimize.ts';
import { WarpsmithError } from '../../core/errors.ts';
import { GUIDED } from '../../optimizer/strategy-names.ts';
import type { Budgets } from '../../store/events.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStop, exitCodeOfStops } from '../exit-code.ts';
import { judgingRequest, noteIgnored } from '../judging-request.ts';
import type { JudgingOptions } from '../options.ts';
import { printOutcome, printPerWorkload } from '../print-outcome.ts';
import { createProgress } from '../progress.ts';

interface Options extends Omit<JudgingOptions, 'workload'> {
  target: string;
  store: string;
  workload?: string[];
  strategy?: string;
  objective: 'geometric-mean' | 'per-workload';
  /** commander's spelling of --no-diagnosis, --no-exploring and --no-ablation. */
  diagnosis: boolean;
  exploring: boolean;
  ablation: boolean;
  maxEvaluations?: number;
  maxMinutes?: number;
  maxGpuMinutes?: number;
  maxMoney?: number;
  gpuPrice?: number;
  goal?: string;
  requireSanitizer?: boolean;
}

/** Where no other budget is given. */
const DEFAULT_MAXIMUM_EVALUATIONS = 30;

/** @throws WarpsmithError `money-needs-a-price`. */
function budgetsOf(options: Options): Budgets {
  const { maxMinutes = null, maxGpuMinutes = null, maxMoney = null, gpuPrice = null } = options;
  const isOtherwiseLimited = maxMinutes !== null || maxGpuMinutes !== null || maxMoney !== null;
  const fallback = isOtherwiseLimited ? null : DEFAULT_MAXIMUM_EVALUATIONS;
  if (maxMoney !== null && gpuPrice === null) {
    throw new WarpsmithError({
      code: 'money-needs-a-price',
      message: 'A budget in money needs to know what the GPU costs.',
      path: '--max-money',
      received: String(maxMoney),
      expected: '--gpu-price as well, per hour and in the same currency',
      hint: 'For example --max-money 5 --gpu-price 3.50.',
    });
  }
  return {
    maximumEvaluations: options.maxEvaluations ?? fallback,
    allowance: null,
    maximumMinutes: maxMinutes,
    maximumGpuMinutes: maxGpuMinutes,
    maximumMoney: maxMoney,
    gpuPricePerHour: gpuPrice,
  };
}

/** Only a guided run asks findings, or goes on without them. @throws WarpsmithError `conflicting-options`. */
function refuseConflicts({ strategy = GUIDED, diagnosis, exploring }: Options): void {
  if (strategy === GUIDED || (diagnosis && exploring)) return;
  const flag = diagnosis ? '--no-exploring' : '--no-diagnosis';
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: `${flag} is for guided runs: ${strategy} asks no findings.`,
    path: flag,
    received: `--strategy ${strategy} and ${flag}`,
    expected: 'one of them',
    hint: `Leave ${flag} out, or use --strategy ${GUIDED}.`,
  });
}

export const run: Run<Options> = async (options, context) => {
  const { streams } = context;
  const { workload: workloads = [], strategy, diagnosis, exploring, ablation, objective, ...judging } = options;
  refuseConflicts(options);
  const budgets = budgetsOf(options);
  const request = await judgingRequest(judging, context);
  noteIgnored(options, request.device, context);
  const progress = createProgress(streams.err);
  const asked: OptimizeRequest = {
    ...request,
    store: options.store,
    workloads,
    budgets,
    diagnosis,
    exploring,
    ablation,
    strategy,
    onEvent: progress.onEvent,
    goal: options.goal,
    requireSanitizer: options.requireSanitizer,
  };
  try {
    if (objective === 'per-workload') {
      const outcome = await optimizePerWorkload(asked, (text) => void streams.err.write(`${text}\n`));
      progress.end();
      printPerWorkload(streams, outcome, options.json ?? false);
      return exitCodeOfStops(outcome.runs.map(({ result }) => result.stopReason));
    }
    const outcome = await optimizeProblem(asked);
    progress.end();
    printOutcome(streams, outcome, options.json ?? false);
    return exitCodeOfStop(outcome.result.stopReason);
  } finally {
    progress.end();
  }
};
