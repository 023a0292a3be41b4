import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { minimalEnvironment } from '../../../process/minimal-environment.ts';
import { writeTemporaryFile } from '../../../process/temporary-file.ts';
import { type ReplayRequest, type ReplayResult, readResult, toFile } from './replay-request.ts';

/** The sources run as they are; a built package has JavaScript beside this file. */
const ENTRY = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './replay-main.ts' : './replay-main.js', import.meta.url),
);

/** A replay made ready in a temporary folder. */
export interface ReplayCommand {
  /** Program and arguments that run it; a tool puts its own in front. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** What the process left when it ended; nothing where it did not get that far. */
  result(): ReplayResult | undefined;
}

/** Which of the machine's GPUs a process sees, and where its driver lies; profilers keep their settings in HOME. */
const PASSED_ON = ['LD_LIBRARY_PATH', 'CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER', 'HOME'];

/** Writes the request into `folder` and says how to run it. */
export function prepareReplay(request: ReplayRequest, folder: string): ReplayCommand {
  const resultPath = join(folder, 'replay-result.bin');
  const requestPath = writeTemporaryFile(folder, 'replay-request.bin', toFile(request));
  const passedOn = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    command: [process.execPath, ENTRY, requestPath, resultPath],
    environment: { ...minimalEnvironment(), ...Object.fromEntries(passedOn) },
    result: () => (existsSync(resultPath) ? readResult(resultPath) : undefined),
  };
}
