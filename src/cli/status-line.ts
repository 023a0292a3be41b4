import { CLEAR_LINE, paintFor } from './output.ts';

/** One line on stderr that says what is going on. On a terminal it is redrawn; elsewhere steps are plain lines. */
export interface StatusLine {
  /** Shows a step: replaces the line on a terminal, adds a line elsewhere. */
  step(text: string): void;
  /** Shows on a terminal only what is going on now, with the seconds it takes. */
  busy(text: string | undefined): void;
  /** Prints a line that stays. */
  print(line: string): void;
  clear(): void;
}

const REDRAW_MS = 500;
const NARROWEST_COLUMNS = 20;

export function createStatusLine(stream: NodeJS.WriteStream): StatusLine {
  const paint = paintFor(stream);
  let current: { text: string; sinceMs: number } | undefined;
  let timer: NodeJS.Timeout | undefined;

  const erase = () => {
    if (stream.isTTY && current) stream.write(CLEAR_LINE);
  };
  const draw = () => {
    if (!stream.isTTY || !current) return;
    const seconds = Math.floor((performance.now() - current.sinceMs) / 1000);
    const columns = Math.max(NARROWEST_COLUMNS, (stream.columns || 80) - 1);
    const line = [...`… ${current.text} (${seconds} s)`].slice(0, columns).join('');
    stream.write(CLEAR_LINE + paint('dim', line));
  };
  const stopTimer = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const busy = (text: string | undefined) => {
    erase();
    current = text === undefined ? undefined : { text, sinceMs: performance.now() };
    draw();
    if (!current) stopTimer();
    else if (stream.isTTY) timer ??= setInterval(draw, REDRAW_MS).unref();
  };
  return {
    step(text) {
      if (stream.isTTY) busy(text);
      else stream.write(`${text}\n`);
    },
    busy,
    print(line) {
      erase();
      stream.write(`${line}\n`);
      draw();
    },
    clear: () => busy(undefined),
  };
}

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
