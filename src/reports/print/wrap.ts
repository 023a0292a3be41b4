/** Columns of a terminal that nothing else is known of. */
export const TERMINAL_WIDTH = 80;

/** What is not broken: a word, or a number with its unit. */
const UNBROKEN = /\S*\d (?:[nµm]?s|min|h|d|%|[KMG]iB|B|[kMGTP]?FLOP(?:\/s)?|MHz|°C|W|×)(?=[^\w]|$)\S*|\S+/gu;

const length = (text: string): number => [...text].length;

/**
 * Where lines of prose begin and end in a text without line breaks: at most `width` code points each, of which all but
 * the first give `hang` to their indentation. A word that is longer than a line, such as a path, has one to itself and
 * exceeds it.
 */
export function wrapRanges(text: string, width: number, hang: number): [start: number, end: number][] {
  const lines: [number, number][] = [];
  let [start, end] = [0, 0];
  for (const { 0: word, index } of text.matchAll(UNBROKEN)) {
    const stop = index + word.length;
    if (end > start && length(text.slice(start, stop)) > width - (lines.length > 0 ? hang : 0)) {
      lines.push([start, end]);
      start = index;
    }
    end = stop;
  }
  return [...lines, [start, end]];
}

/** A text in lines of at most `width` code points, all but the first indented by `hang`; see `wrapRanges`. */
export const wrapText = (text: string, width: number, hang: number): string[] =>
  wrapRanges(text, width, hang).map(([start, end], line) => ' '.repeat(line > 0 ? hang : 0) + text.slice(start, end));

/** How much of a text fits with a `…` after it: whole words, where there is room for one. In code units. */
export function cutLength(text: string, width: number): number {
  const fits = [...text].slice(0, width - 1).join('');
  if (text[fits.length] === ' ') return fits.trimEnd().length;
  const words = fits.replace(/\s+\S*$/u, '');
  return (words === '' ? fits : words).length;
}

/** A text in at most `width` code points. */
export const cutText = (text: string, width: number): string =>
  length(text) <= width ? text : `${text.slice(0, cutLength(text, width))}…`;
