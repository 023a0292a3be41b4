import type { EvaluationStage } from '../core/evaluation.ts';
import { cutText } from '../reports/print/wrap.ts';
import { canRedraw, createLiveArea, type LiveArea } from './live-area.ts';
import { paintFor } from './output.ts';

/** A line on stderr that shows the current step. A terminal redraws it; elsewhere each step is a plain line. */
export interface StatusLine {
  /** Shows a step: replaces the line on a terminal, adds a line elsewhere. */
  step(text: string): void;
  /** Shows the text with the elapsed seconds, on a terminal only. */
  busy(text: string | undefined): void;
  clear(): void;
}

export function createStatusLine(stream: NodeJS.WriteStream): StatusLine {
  const paint = paintFor(stream);
  let current: { text: string; sinceMs: number } | undefined;
  let area: LiveArea | undefined;

  const line = (columns: number): string[] => {
    if (!current) return [];
    const seconds = Math.floor((performance.now() - current.sinceMs) / 1000);
    return [paint('dim', cutText(`… ${current.text} (${seconds} s)`, columns))];
  };
  const clear = (): void => {
    current = undefined;
    area?.close();
    area = undefined;
  };
  const busy = (text: string | undefined): void => {
    if (text === undefined) clear();
    else if (canRedraw(stream)) {
      current = { text, sinceMs: performance.now() };
      if (area) area.refresh();
      else area = createLiveArea(stream, line);
    }
  };
  return {
    step(text) {
      if (canRedraw(stream)) busy(text);
      else stream.write(`${text}\n`);
    },
    busy,
    clear,
  };
}

const STAGES: { [S in EvaluationStage['stage']]: (stage: Extract<EvaluationStage, { stage: S }>) => string } = {
  compile: () => 'compiling',
  verify: ({ check, index, count }) => `check ${index} of ${count}: ${check}`,
  time: ({ kind }) => (kind === 'measured' ? 'measuring' : 'predicting'),
};

/** `check 3 of 12: S=77,D=64, large inputs`. */
export const describeStage = (stage: EvaluationStage): string =>
  (STAGES[stage.stage] as (stage: EvaluationStage) => string)(stage);

/** Callbacks through which a use case reports its progress. */
interface Told {
  readonly onStep: (text: string) => void;
  readonly onStage: (stage: EvaluationStage) => void;
}

/**
 * Shows the steps of a use case on one line while it works, and removes the line when it ends or fails. A terminal also
 * shows the stage of the step's evaluation.
 */
export async function withStatus<T>(stream: NodeJS.WriteStream, work: (told: Told) => Promise<T>): Promise<T> {
  const status = createStatusLine(stream);
  let step = '';
  try {
    return await work({
      onStep(text) {
        step = `${text}: `;
        status.step(text);
      },
      onStage: (stage) => status.busy(step + describeStage(stage)),
    });
  } finally {
    status.clear();
  }
}
