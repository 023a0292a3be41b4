import type { Device } from '../core/device.ts';
import type { Evaluator } from '../core/evaluation.ts';
import type { Problem } from '../core/problem.ts';
import type { Recording } from '../store/recording.ts';
import type { Toolchain } from '../toolchains/toolchain.ts';
import { type DrawSeed, recordedSeeds } from './seed.ts';

/** What evaluations are made with. */
interface Instruments {
  readonly device: Pick<Device, 'identity' | 'spec'>;
  readonly toolchain: Pick<Toolchain, 'identity'>;
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * An evaluator that also records every evaluation in `file`.
 *
 * @throws WarpsmithError if the file can't be written, is no recording, or was recorded on another device.
 */
export async function recordTo(
  file: string,
  evaluator: Evaluator,
  { device, toolchain, environment }: Instruments,
): Promise<Evaluator> {
  const [{ openRecording }, { createRecordingEvaluator }] = await Promise.all([
    import('../store/recording.ts'),
    import('../evaluation/recording/record.ts'),
  ]);
  const { name, version } = toolchain.identity;
  const { identity, spec } = device;
  return createRecordingEvaluator(
    evaluator,
    openRecording(file, { device: identity, spec, compiler: { name, version }, environment }),
  );
}

interface Replay extends Instruments, AsyncDisposable {
  readonly evaluator: Evaluator;
  readonly libraryBaselines: (problem: Problem) => Promise<readonly string[]>;
  readonly drawSeed: DrawSeed;
  readonly recordedAt: string;
}

/**
 * A session that answers from a recording, with the recorded device and compiler.
 *
 * @throws WarpsmithError `no-recording`, `damaged-recording` or `newer-recording`.
 */
export async function openReplay(file: string): Promise<Replay> {
  const [{ readRecording }, { createRecordedEvaluator }] = await Promise.all([
    import('../store/recording.ts'),
    import('../evaluation/recording/replay.ts'),
  ]);
  const recording = readRecording(file);
  const [{ device, spec, compiler, environment, time }] = recording.sessions;
  return {
    device: { identity: device, spec },
    toolchain: { identity: { ...compiler, path: '' } },
    evaluator: createRecordedEvaluator(recording),
    environment: { ...environment, replayed: `from a recording of ${time}` },
    drawSeed: recordedSeeds(recording),
    recordedAt: time,
    libraryBaselines: async (problem) => recordedLibraries(recording, problem),
    async [Symbol.asyncDispose]() {},
  };
}

/** Every measured library, in the order of the requests. */
function recordedLibraries({ evaluations }: Recording, problem: Problem): string[] {
  const ofProblem = evaluations.filter(({ request }) => request.problem.name === problem.file.name);
  return [...new Set(ofProblem.flatMap(({ request: { libraryBaselines } }) => libraryBaselines))];
}
