import { EXIT, WarpsmithError } from '../core/errors.ts';
import type { CompleteRequest } from '../core/requests/request.ts';
import type { Goal } from '../store/events.ts';

/** How a caller asks for energy. */
export type EnergyFlag = '--energy' | '--minimise energy';

/** What asks a run for energies, if anything does. */
export const energyFlagOf = ({ energy, minimise }: Pick<CompleteRequest<'optimize'>, 'energy' | 'minimise'>) =>
  minimise === 'energy' ? '--minimise energy' : energy ? '--energy' : undefined;

/**
 * Nothing predicts an energy.
 *
 * @param device its id. @throws WarpsmithError `energy-needs-a-gpu`.
 */
export function refuseEnergyWithoutGpu(flag: EnergyFlag | undefined, device: string): void {
  if (flag === undefined || !device.startsWith('virtual:')) return;
  throw new WarpsmithError(
    {
      code: 'energy-needs-a-gpu',
      message: `${device} has no energy counter, and warpsmith predicts no joules.`,
      path: flag,
      received: device,
      expected: 'a real GPU, such as cuda:0',
      hint: `Leave ${flag} out, or choose a GPU: \`warpsmith devices\` lists them.`,
    },
    EXIT.deviceOrToolMissing,
  );
}

/**
 * What means nothing where energy decides.
 *
 * @throws WarpsmithError `conflicting-options`.
 */
export function refuseEnergyConflicts(request: CompleteRequest<'optimize'>, goal: Goal | undefined): void {
  if (request.minimise !== 'energy') return;
  if (request.author !== undefined)
    throw conflict('--author', request.author.join(' '), 'Authors are told times, and hope for times.');
  if (request.objective === 'per-workload')
    throw conflict('--objective', request.objective, 'A dispatch table chooses kernels by their times.');
  if (request.prior !== undefined && request.prior !== 'none')
    throw conflict('--prior', request.prior, 'What is known beforehand are times.');
  if (goal?.kind === 'time')
    throw conflict('--goal', goal.text, 'A run that minimises energy may end with a slower kernel.', GOAL_HINT);
}

const GOAL_HINT = 'Give a ratio such as 1.5x: the joules of the start ÷ those of the best.';

const conflict = (flag: string, value: string, why: string, hint?: string): WarpsmithError =>
  new WarpsmithError({
    code: 'conflicting-options',
    message: `${flag} does not go with --minimise energy. ${why}`,
    path: flag,
    received: `${flag} ${value} and --minimise energy`,
    expected: 'one of them',
    hint: hint ?? `Leave ${flag} out, or minimise time and report energies beside it with --energy.`,
  });
