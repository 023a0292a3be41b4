export interface Column {
  title: string;
  align?: 'left' | 'right';
}

/** Width on screen: counts code points, which is right for what these tables hold. */
const width = (text: string): number => [...text].length;

function pad(text: string, to: number, align: Column['align']): string {
  const space = ' '.repeat(Math.max(0, to - width(text)));
  return align === 'right' ? space + text : text + space;
}

/** An aligned plain-text table; `paintTitle` styles the heading line. */
export function textTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  paintTitle: (text: string) => string = (text) => text,
): string {
  const widths = columns.map(({ title }, index) =>
    Math.max(width(title), ...rows.map((row) => width(row[index] ?? ''))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => pad(cell, widths[index]!, columns[index]!.align))
      .join('  ')
      .trimEnd();
  return [paintTitle(line(columns.map(({ title }) => title))), ...rows.map(line)].join('\n');
}

const escapeCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** A Markdown table. */
export function markdownTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = columns.map(({ align }) => (align === 'right' ? '---:' : '---'));
  return [line(columns.map(({ title }) => title)), line(rule), ...rows.map((row) => line(row.map(escapeCell)))].join(
    '\n',
  );
}
