/** What the plots share. */
export const SVG_COLOURS = { text: '#1f2328', faint: '#59636e', grid: '#d1d9e0', kept: '#1a7f37', reverted: '#9a6700' };

export const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

export const round = (value: number): number => Math.round(value * 10) / 10;

export const svgText = (x: number, y: number, content: string, attributes = ''): string =>
  `<text x="${round(x)}" y="${round(y)}"${attributes}>${escapeXml(content)}</text>`;

const MAXIMUM_TICKS = 8;

/** 1-2-5 steps per decade that lie within the range; powers of ten where that would be too many. */
export const logTicks = (low: number, high: number): number[] => {
  const found: number[] = [];
  for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10)
    for (const step of [1, 2, 5]) if (decade * step >= low && decade * step <= high) found.push(decade * step);
  return found.length > MAXIMUM_TICKS ? found.filter((value) => Number.isInteger(Math.log10(value))) : found;
};
