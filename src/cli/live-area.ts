import { type Overlay, setOverlay } from './plain-stream.ts';

/** Lines at the bottom of a terminal, redrawn in place. All other output appears above them. */
export interface LiveArea {
  /** Redraws the lines if they have changed. */
  refresh(): void;
  /** Removes the lines for good. Calling it twice is harmless. */
  close(): void;
}

/** Redraws keep the seconds in the lines up to date. */
const REDRAW_MS = 500;
const NARROWEST_COLUMNS = 20;

const ESC = '\u001b[';
/** Synchronised output: the terminal shows a whole frame at once. Terminals without it ignore these codes. */
const FRAME = [`${ESC}?2026h`, `${ESC}?2026l`] as const;
/** Turns wrapping off and on. Long lines are cut, because the code must know on which row each line begins. */
const CUT = [`${ESC}?7l`, `${ESC}?7h`] as const;
const [TO_LINE_END, TO_SCREEN_END] = [`${ESC}K`, `${ESC}J`];

/** Columns that a line of it may take. */
export const columnsOf = (stream: NodeJS.WriteStream): number =>
  Math.max(NARROWEST_COLUMNS, (stream.columns || 80) - 1);

/** Whether the stream is a terminal that can move the cursor. */
export const canRedraw = (stream: NodeJS.WriteStream): boolean => stream.isTTY === true && process.env.TERM !== 'dumb';

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no column.
const COLOURS = /\u001b\[\d+m/g;
const widthOf = (line: string): number => [...line.replaceAll(COLOURS, '')].length;

/**
 * @param stream made by `plainStream`, and a terminal that {@link canRedraw}.
 * @param lines returns the lines to show in this many columns.
 */
export function createLiveArea(stream: NodeJS.WriteStream, lines: (columns: number) => readonly string[]): LiveArea {
  /** The lines on the screen. The cursor stands at their end. */
  let drawn: readonly string[] = [];
  let isClosed = false;
  const columns = (): number => columnsOf(stream);
  /** If the user made the terminal narrower, it has wrapped the drawn lines, so rows are counted. */
  const toTop = (): string => {
    const rows = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / (columns() + 1))), 0);
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
  // However the process ends, the shell's prompt must not appear in the middle of the lines.
  process.on('exit', close);
  setOverlay(stream, overlay);
  return { refresh, close };
}
