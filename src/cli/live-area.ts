import { type Overlay, setOverlay } from './plain-stream.ts';

/** Lines at the bottom of a terminal that are redrawn in place; what is written to the stream appears above them. */
export interface LiveArea {
  /** Draws what the lines are now; nothing where they are what they were. */
  refresh(): void;
  /** Takes the lines off the screen, for good. Harmless when called twice. */
  close(): void;
}

/** The seconds in the lines go on. */
const REDRAW_MS = 500;
const NARROWEST_COLUMNS = 20;

const ESC = '\u001b[';
/** A terminal shows a frame whole, where it knows this; others ignore it. */
const FRAME = [`${ESC}?2026h`, `${ESC}?2026l`] as const;
/** A line that is too long is cut, not wrapped: where one ends the next begins would be a guess. */
const CUT = [`${ESC}?7l`, `${ESC}?7h`] as const;
const [TO_LINE_END, TO_SCREEN_END] = [`${ESC}K`, `${ESC}J`];

/** Whether lines can be redrawn there. */
export const canRedraw = (stream: NodeJS.WriteStream): boolean => stream.isTTY === true && process.env.TERM !== 'dumb';

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no column.
const COLOURS = /\u001b\[\d+m/g;
const columnsOf = (line: string): number => [...line.replaceAll(COLOURS, '')].length;

/**
 * @param stream made by `plainStream`, and a terminal that {@link canRedraw}.
 * @param lines what to show in so many columns; none shows nothing.
 */
export function createLiveArea(stream: NodeJS.WriteStream, lines: (columns: number) => readonly string[]): LiveArea {
  /** What is on the screen; the cursor stands at its end. */
  let drawn: readonly string[] = [];
  let isClosed = false;
  const columns = (): number => Math.max(NARROWEST_COLUMNS, (stream.columns || 80) - 1);
  /** A terminal that was made narrower has wrapped what was drawn. */
  const toTop = (): string => {
    const rows = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(columnsOf(line) / (columns() + 1))), 0);
    return rows > 1 ? `\r${ESC}${rows - 1}A` : '\r';
  };
  const overlay: Overlay = {
    erase() {
      if (drawn.length === 0) return '';
      const codes = `${toTop()}${TO_SCREEN_END}`;
      drawn = [];
      return codes;
    },
    draw(clean) {
      const before = drawn.length > 0 ? toTop() : '';
      drawn = lines(columns()).map(clean);
      const text = drawn.map((line) => line + TO_LINE_END).join('\n');
      return `${FRAME[0]}${before}${CUT[0]}${text}${before === '' ? '' : TO_SCREEN_END}${CUT[1]}${FRAME[1]}`;
    },
  };
  const refresh = (): void => {
    if (!isClosed && lines(columns()).join('\n') !== drawn.join('\n')) setOverlay(stream, overlay);
  };
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    clearInterval(timer);
    process.off('exit', close);
    setOverlay(stream, undefined);
  };
  const timer = setInterval(refresh, REDRAW_MS).unref();
  // Whatever ends the process, the shell's prompt does not stand in the middle of it.
  process.on('exit', close);
  setOverlay(stream, overlay);
  return { refresh, close };
}
