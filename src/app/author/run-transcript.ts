import { join } from 'node:path';
import type { Problem } from '../../core/problem.ts';
import type { Priors } from '../../store/events.ts';
import { RUN_FILES, type RunFolder } from '../../store/run-folder.ts';
import {
  addToTranscript,
  beginTranscript,
  readTranscript,
  TRANSCRIPT_VERSION,
  type Transcript,
  type TranscriptLine,
} from '../../store/transcript.ts';
import type { Session } from '../session.ts';

/** A run's transcript, open for what comes next. */
export interface RunTranscript {
  /** Of a resumed run, what came earlier; of a replay, all of it. */
  readonly recorded: Omit<Transcript, 'header'>;
  /** Whether somebody is asked when that is at its end. */
  readonly goesOn: boolean;
  readonly record: (one: TranscriptLine) => void;
  /** Who answered, e.g. `anthropic:NAME`. */
  readonly model: string;
}

/**
 * @param transcript the one to replay, if any.
 * @throws WarpsmithError `no-transcript`, `damaged-transcript`.
 */
export function openRunTranscript(request: {
  readonly run: RunFolder;
  readonly transcript: string | undefined;
  readonly model: string;
  readonly problem: Problem;
  readonly session: Pick<Session, 'device'>;
  readonly seed: number;
  readonly priors: Priors;
}): RunTranscript {
  const { run, transcript, problem, session, seed, priors } = request;
  const path = join(run.path, RUN_FILES.transcript);
  const replayed = transcript === undefined ? undefined : readTranscript(transcript);
  const model = replayed?.header.model ?? request.model;
  const rest = { goesOn: !replayed, record: (one: TranscriptLine) => addToTranscript(path, one), model };
  if (run.log.history.length > 0) return { recorded: readTranscript(path), ...rest };
  const { name } = problem.file;
  const device = session.device.identity.id;
  beginTranscript(path, { schemaVersion: TRANSCRIPT_VERSION, model, problem: name, device, seed, priors });
  const recorded = {
    exchanges: replayed?.exchanges ?? [],
    agents: replayed?.agents ?? [],
    choices: replayed?.choices ?? [],
  };
  const choices = recorded.choices.map((choice) => ({ choice }));
  for (const one of [...recorded.exchanges, ...recorded.agents, ...choices]) addToTranscript(path, one);
  return { recorded, ...rest };
}
