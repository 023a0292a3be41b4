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
    // Ignores text after a closing quote, up to the separator.
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

/** A metric's cell: a number, and a number for each of its instances if it has any. */
export interface MetricCell {
  readonly value?: number;
  readonly byInstance?: ReadonlyMap<string, number>;
}

/** `1024`, or with its instances `1024 (FFMA: 1000; BRA: 24)`; neither for words. */
export function parseMetricCell(text: string): MetricCell {
  const total = parseNumber(text);
  if (total !== undefined) return { value: total };
  const match = /^([-+\d.,e]*)\s*\((.*)\)$/is.exec(text.trim());
  if (!match) return {};
  const byInstance = new Map<string, number>();
  for (const item of match[2]!.split(';')) {
    const colon = item.lastIndexOf(':');
    const value = parseNumber(item.slice(colon + 1));
    if (colon > 0 && value !== undefined) byInstance.set(item.slice(0, colon).trim(), value);
  }
  const value = parseNumber(match[1]!);
  return { value, byInstance: byInstance.size > 0 ? byInstance : undefined };
}
