/** Rows of comma-separated values; fields may be quoted, and quoted ones may hold commas, line ends and doubled quotes. */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const field = /"((?:[^"]|"")*)"|([^",\r\n]*)/y;
  let at = 0;
  while (at < text.length) {
    field.lastIndex = at;
    const match = field.exec(text)!;
    row.push(match[1] === undefined ? (match[2] ?? '') : match[1].replaceAll('""', '"'));
    // Text after a closing quote belongs to no field: skip to the separator.
    at = endOfField(text, field.lastIndex);
    if (text[at] === ',') {
      at++;
      if (at === text.length) row.push('');
      continue;
    }
    at += text.startsWith('\r\n', at) ? 2 : 1;
    rows.push(row);
    row = [];
  }
  if (row.length > 0) rows.push(row);
  return rows;
}

function endOfField(text: string, from: number): number {
  let at = from;
  while (at < text.length && !',\r\n'.includes(text[at]!)) at++;
  return at;
}

/** A number as ncu prints it, with or without separators of thousands; undefined for `n/a` and other words. */
export function parseNumber(text: string): number | undefined {
  const plain = text.trim().replaceAll(',', '');
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain)) return undefined;
  return Number(plain);
}
