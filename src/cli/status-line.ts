import type { EvaluationStage } from '../core/evaluation.ts';
import { cutText } from '../reports/print/wrap.ts';
import { canRedraw, createLiveArea, type LiveArea } from './live-area.ts';
import { paintFor } from './output.ts';

/** One line on stderr that says what is going on. On a terminal it is redrawn; elsewhere steps are plain lines. */
export interface StatusLine {
  /** Shows a step: replaces the line on a terminal, adds a line elsewhere. */
  step(text: string): void;
  /** Shows on a terminal only what is going on now, with the seconds it takes. */
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

/** Shows the steps of a use case on one line until it ends, however it ends. */
export async function withStatusLine<T>(
  stream: NodeJS.WriteStream,
  work: (onStep: (text: string) => void) => Promise<T>,
): Promise<T> {
  const status = createStatusLine(stream);
  try {
    return await work((text) => status.step(text));
  } finally {
    status.clear();
  }
}

/** Shows on a terminal what is being done of an evaluation, until it ends, however it ends. */
export async function withStages<T>(
  stream: NodeJS.WriteStream,
  work: (onStage: (stage: EvaluationStage) => void) => Promise<T>,
): Promise<T> {
  const status = createStatusLine(stream);
  try {
    return await work((stage) => status.busy(describeStage(stage)));
  } finally {
    status.clear();
  }
}
