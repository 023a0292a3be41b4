import type { DeviceOfRun } from '../app/candidate-target.ts';
import { platformNotice } from '../app/doctor/platform.ts';
import type { AskTrust, TrustQuestion } from '../app/loading/trust.ts';
import type { OnDevice, Surroundings } from '../app/session.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { CommandName } from '../core/requests/commands.ts';
import { longFlag, optionsOf } from '../core/requests/request.ts';
import { plainText } from '../reports/plain-text.ts';
import { type CliContext, deviceOrDefault } from './context.ts';
import { terminalQuestion } from './terminal-question.ts';

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

/** Asks at the terminal whether a problem's host code may run. Undefined if there is no terminal to ask at. */
function terminalAsks(context: CliContext): AskTrust | undefined {
  const ask = terminalQuestion(context);
  return ask && (async (question) => /^y(?:es)?$/i.test((await ask(textOf(question))).trim()));
}

const textOf = ({ problem, folder, files, hash, namedBy }: TrustQuestion): string =>
  plainText(
    [
      `Problem ${problem} in ${folder}${namedBy === 'log' ? ', named by the log of a run,' : ''}`,
      `has programs that have not run here before: ${files.join(', ')}.`,
      'A reference can only compute; baseline.py, on a GPU, can do what you can.',
      `Run them, now and whenever they are exactly these (${hash.slice(0, 16)})? [y/N] `,
    ].join('\n'),
  );
