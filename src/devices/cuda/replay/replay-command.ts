import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { entryFile } from '../../../process/entry-file.ts';
import { gpuEnvironment } from '../../../process/gpu-environment.ts';
import { writeTemporaryFile } from '../../../process/temporary-file.ts';
import { type ReplayRequest, type ReplayResult, readResult, toFile } from './replay-request.ts';

const ENTRY = fileURLToPath(entryFile(new URL('./replay-main.ts', import.meta.url)));

/** A replay made ready in a temporary folder. */
export interface ReplayCommand {
  /** Program and arguments; a tool puts its own in front of them. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The result file of the ended process; undefined if it did not write one. */
  result(): ReplayResult | undefined;
}

/** Profilers keep their settings there. */
const home = (): Record<string, string> => (process.env.HOME === undefined ? {} : { HOME: process.env.HOME });

/** Writes the request into `folder`. Returns the command that runs it. */
export function prepareReplay(request: ReplayRequest, folder: string): ReplayCommand {
  const resultPath = join(folder, 'replay-result.bin');
  const requestPath = writeTemporaryFile(folder, 'replay-request.bin', toFile(request));
  return {
    command: [process.execPath, ENTRY, requestPath, resultPath],
    environment: { ...gpuEnvironment(), ...home() },
    result: () => (existsSync(resultPath) ? readResult(resultPath) : undefined),
  };
}
