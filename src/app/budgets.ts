import { WarpsmithError } from '../core/errors.ts';
import type { RequestOf } from '../core/requests/request.ts';
import type { Budgets } from '../store/events.ts';

/** Where no other budget is given. */
const DEFAULT_MAXIMUM_EVALUATIONS = 30;

/** @throws WarpsmithError `money-needs-a-price`. */
export function budgetsOf(request: RequestOf<'optimize'>): Budgets {
  const { maximumMinutes = null, maximumGpuMinutes = null, maximumMoney = null, gpuPricePerHour = null } = request;
  if (maximumMoney !== null && gpuPricePerHour === null) {
    throw new WarpsmithError({
      code: 'money-needs-a-price',
      message: 'A budget in money needs the price of the GPU.',
      path: '--max-money',
      received: String(maximumMoney),
      expected: '--gpu-price as well, per hour and in the same currency',
      hint: 'For example --max-money 5 --gpu-price 3.50.',
    });
  }
  const isOtherwiseLimited = maximumMinutes !== null || maximumGpuMinutes !== null || maximumMoney !== null;
  const maximumEvaluations = request.maximumEvaluations ?? (isOtherwiseLimited ? null : DEFAULT_MAXIMUM_EVALUATIONS);
  return { maximumEvaluations, allowance: null, maximumMinutes, maximumGpuMinutes, maximumMoney, gpuPricePerHour };
}
