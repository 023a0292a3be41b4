import type { DeviceOfRun } from '../app/candidate-target.ts';
import { DEFAULT_DEVICE } from '../app/session.ts';
import type { Streams } from './output.ts';

/** The streams and the interrupt signal of the process that runs a command. */
export interface CliContext {
  streams: Streams;
  /** Fires on Ctrl-C. */
  signal: AbortSignal;
}

/** The process, and how the command line asks for the result. */
export interface CommandContext extends CliContext {
  /** Whether `--json` asks for one JSON object on stdout instead of text for people. */
  json: boolean;
  /** Whether `--verbose` asks for what is folded, too. */
  verbose: boolean;
}

/** Runs a command and returns its exit code. */
export type Run<Request> = (request: Request, context: CommandContext) => Promise<number>;

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
