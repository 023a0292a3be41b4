import { formatNs, formatTime } from './format.ts';
import { verdictCell } from './run-text.ts';
import type { ProgressionRow, RunView, Stage } from './run-view.ts';

const WIDTH = 800;
const HEIGHT = 360;
const MARGIN = { left: 80, right: 20, top: 40, bottom: 50 };

const COLOURS = {
  keep: '#1b7f3b',
  revert: '#b3541e',
  undecided: '#8a8a8a',
  best: '#1b7f3b',
  axis: '#666',
  text: '#222',
};

/** What an evaluation without a decision was. */
const STAGE_WORDS: Readonly<Record<Stage, string>> = {
  judge: 'undecided',
  screen: 'measured longer after this',
  confirm: 'confirmation',
};

type TimedRow = ProgressionRow & { time: NonNullable<ProgressionRow['time']> };

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const round = (value: number): number => Math.round(value * 10) / 10;

/** 1-2-5 steps per decade that lie within the range. */
function ticks(low: number, high: number): number[] {
  const found: number[] = [];
  for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10) {
    for (const step of [1, 2, 5]) if (decade * step >= low && decade * step <= high) found.push(decade * step);
  }
  return found;
}

interface Scales {
  x(index: number): number;
  y(ns: number): number;
}

function makeScales(rowCount: number, lowNs: number, highNs: number): Scales {
  const innerWidth = WIDTH - MARGIN.left - MARGIN.right;
  const innerHeight = HEIGHT - MARGIN.top - MARGIN.bottom;
  const span = Math.log(highNs / lowNs);
  return {
    x: (index) => round(MARGIN.left + (innerWidth * (index + 0.5)) / rowCount),
    y: (ns) => round(MARGIN.top + innerHeight * (Math.log(highNs / ns) / span)),
  };
}

function mark(row: TimedRow, index: number, { x, y }: Scales): string {
  const colour = COLOURS[row.decision ?? 'undecided'];
  const [low, high] = row.time.intervalNs;
  const title = escapeXml(
    [
      `${row.evaluationId} ${row.change}: ${row.time.kind} ${formatTime(row.time.kind, row.time.medianNs)}`,
      ...(row.verdict ? [verdictCell(row)] : []),
      row.decision ?? STAGE_WORDS[row.stage],
    ].join(', '),
  );
  return (
    `<g><title>${title}</title>` +
    `<line x1="${x(index)}" x2="${x(index)}" y1="${y(low)}" y2="${y(high)}" stroke="${colour}" stroke-opacity="0.35"/>` +
    `<circle cx="${x(index)}" cy="${y(row.time.medianNs)}" r="4" fill="${row.decision === 'keep' ? colour : 'white'}" stroke="${colour}" stroke-width="2"/></g>`
  );
}

/** Staircase of the best time so far. */
function bestLine(rows: readonly TimedRow[], { x, y }: Scales): string {
  const points: string[] = [];
  let best: number | undefined;
  rows.forEach((row, index) => {
    if (best !== undefined) points.push(`${x(index)},${y(best)}`);
    if (row.decision === 'keep') {
      best = row.time.medianNs;
      points.push(`${x(index)},${y(best)}`);
    }
  });
  return `<polyline points="${points.join(' ')}" fill="none" stroke="${COLOURS.best}" stroke-width="1.5"/>`;
}

/** Plot of time (logarithmic) by evaluation, with intervals; kept changes are filled. Undefined without times. */
export function progressionSvg(view: RunView): string | undefined {
  const rows = view.progression.filter((row): row is TimedRow => row.time !== null);
  const kind = rows[0]?.time.kind;
  if (!kind) return undefined;
  const lowNs = Math.min(...rows.map(({ time }) => time.intervalNs[0])) / 1.1;
  const highNs = Math.max(...rows.map(({ time }) => time.intervalNs[1])) * 1.1;
  const scales = makeScales(rows.length, lowNs, highNs);
  const grid = ticks(lowNs, highNs).map(
    (ns) =>
      `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${scales.y(ns)}" y2="${scales.y(ns)}" stroke="#ddd"/>` +
      `<text x="${MARGIN.left - 8}" y="${scales.y(ns) + 4}" text-anchor="end">${formatNs(ns)}</text>`,
  );
  const labels = rows.map(
    (row, index) =>
      `<text x="${scales.x(index)}" y="${HEIGHT - MARGIN.bottom + 18}" text-anchor="middle">${row.evaluationId}</text>`,
  );
  const { problem, workload, device } = view;
  const title = escapeXml(`${problem.name} ${workload.name} on ${device.name}: ${kind} time, log scale (filled: kept)`);
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11" fill="${COLOURS.text}">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    `<title>${title}</title>`,
    `<text x="${MARGIN.left}" y="22" font-size="14">${title}</text>`,
    ...grid,
    bestLine(rows, scales),
    ...rows.map((row, index) => mark(row, index, scales)),
    ...labels,
    `<text x="${WIDTH / 2}" y="${HEIGHT - 12}" text-anchor="middle" fill="${COLOURS.axis}">evaluation</text>`,
    '</svg>',
  ].join('\n')}\n`;
}
