import type { DeviceOfRun } from '../app/candidate-target.ts';
import { DEFAULT_DEVICE } from '../app/session.ts';
import { EXIT } from '../core/errors.ts';
import type { Document } from '../reports/document.ts';
import { type Printing, printResult } from './output.ts';

/** The process that runs a command, and how its result is asked for. */
export interface CommandContext extends Printing {
  /** Fires on Ctrl-C. */
  readonly signal: AbortSignal;
}

export type CliContext = Pick<CommandContext, 'streams' | 'signal'>;

/** Runs a command and returns its exit code. */
export type Run<Request> = (request: Request, context: CommandContext) => Promise<number>;

/** A command that prints what it finds. */
export const printing =
  <R, V extends object>(find: (request: R) => V | Promise<V>, document: (view: V) => Document): Run<R> =>
  async (request, context) => {
    printResult(context, await find(request), document);
    return EXIT.ok;
  };

/**
 * The device asked for, or the default, saying so. A replay needs none.
 *
 * @param ofRun the device of the run that the command is about, if it is about one.
 */
export async function deviceOrDefault(
  { device, replay, queue }: { readonly device?: string; readonly replay?: string; readonly queue?: string },
  { streams }: CliContext,
  ofRun: () => DeviceOfRun | undefined = () => undefined,
): Promise<string> {
  if (device !== undefined) return device;
  if (replay !== undefined) return 'recorded';
  if (queue !== undefined) return 'queue';
  const known = ofRun();
  if (known) {
    streams.err.write(`No --device given: using ${known.device} (that of run ${known.run}).\n`);
    return known.device;
  }
  const { defaultDevice } = await import('../app/devices.ts');
  const chosen = defaultDevice();
  const why = chosen === DEFAULT_DEVICE ? 'there is no CUDA GPU here' : 'the first GPU of this machine';
  streams.err.write(`No --device given: using ${chosen} (${why}).\n`);
  return chosen;
}
