import type { DeviceOfRun } from '../app/candidate-target.ts';
import { platformNotice } from '../app/doctor/platform.ts';
import type { OnDevice, Surroundings } from '../app/session.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { CommandName } from '../core/requests/commands.ts';
import { longFlag, optionsOf } from '../core/requests/request.ts';
import { terminalAsks } from './ask-trust.ts';
import { type CliContext, deviceOrDefault } from './context.ts';

type Asked = Readonly<Record<string, unknown>> & {
  readonly device?: string;
  readonly replay?: string;
  readonly queue?: string;
};

function refuseConflicts(name: CommandName, request: Asked): void {
  if (request.replay === undefined) return;
  for (const [field, option] of optionsOf(name)) {
    if (!option.notInReplays || request[field] === undefined) continue;
    const flag = longFlag(option);
    throw new WarpsmithError({
      code: 'conflicting-options',
      message: `${flag} has no effect with --replay, which answers from a recording.`,
      path: flag,
      received: `--replay and ${flag}`,
      expected: 'one of them',
      hint: `Remove ${flag} to replay, or --replay to judge again.`,
    });
  }
}

/** Once, before what may need a compiler or a GPU; a replay needs neither. */
export function notePlatform({ replay }: Pick<Asked, 'replay'>, { streams }: CliContext): void {
  const notice = replay === undefined ? platformNotice(process) : undefined;
  if (notice !== undefined) streams.err.write(`${notice}\n`);
}

/** Notes on stderr which options have no effect on a virtual device. */
function noteIgnored(name: CommandName, request: Asked, device: string, { streams }: CliContext): void {
  if (!device.startsWith('virtual:')) return;
  for (const [field, option] of optionsOf(name)) {
    const value = request[field];
    if (option.onlyOnGpus === undefined || value === undefined || value === 'none') continue;
    streams.err.write(`${longFlag(option)} has no effect on ${device}: ${option.onlyOnGpus}.\n`);
  }
}

/** The interrupt signal and the trust question of this process, for use cases that run a problem's code or take long. */
export const surroundings = (context: CliContext): Surroundings => ({
  signal: context.signal,
  askTrust: terminalAsks(context),
});

/** Resolves the device of a request to judge: the named one or the default. For `ofRun` see {@link deviceOrDefault}. */
export async function onDevice<R extends Asked>(
  name: CommandName,
  request: R,
  context: CliContext,
  ofRun?: () => DeviceOfRun | undefined,
): Promise<OnDevice<R>> {
  refuseConflicts(name, request);
  notePlatform(request, context);
  const device = await deviceOrDefault(request, context, ofRun);
  noteIgnored(name, request, device, context);
  return { ...request, ...surroundings(context), device };
}
