/** Columns of a terminal that nothing else is known of. */
export const TERMINAL_WIDTH = 80;

/** What belongs to the number before it. */
const UNIT = /^(?:[nµm]?s|min|h|d|%|[KMG]iB|B|[TGM]?FLOP(?:\/s)?|MHz|°C|W|×)[.,;:)\]]*$/u;

/** Words that may stand at a line's end, a number with its unit being one. */
function words(text: string): string[] {
  const found: string[] = [];
  for (const word of text.split(' ')) {
    const last = found.at(-1);
    if (last !== undefined && /\d$/.test(last) && UNIT.test(word)) found[found.length - 1] = `${last} ${word}`;
    else found.push(word);
  }
  return found;
}

/**
 * Prose in lines of at most `width` code points, the second and later ones indented by `hang`. Only spaces are broken
 * at, so a word that is longer than a line, such as a path, has a line to itself and exceeds it.
 */
export function wrap(text: string, width = TERMINAL_WIDTH, hang = 2): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words(text)) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line.trim() === '' || [...longer].length <= width) line = longer;
    else {
      lines.push(line);
      line = ' '.repeat(hang) + word;
    }
  }
  return [...lines, line];
}
