import type { GpuState, MeasuredBlock, Measurement, MeasurementConditions } from '../../core/measurement.ts';
import { formatCount, formatFigure, formatMeasuredNs, formatPercent } from '../format.ts';

/** What a measurement says of itself, in lines. */

const mebibytes = (bytes: number): string => `${formatFigure(bytes / 2 ** 20)} MiB`;

function summaryLines({ summary, conditions }: Measurement): string[] {
  const { minNs, p5Ns, p95Ns, maxNs, coefficientOfVariation, sampleCount, blockCount } = summary;
  return [
    `median of ${formatCount(blockCount, 'block')}, ${formatCount(sampleCount, 'sample')} (tier ${conditions.tier}); the interval is of 95 %`,
    `min ${formatMeasuredNs(minNs)}, p5 ${formatMeasuredNs(p5Ns)}, p95 ${formatMeasuredNs(p95Ns)}, max ${formatMeasuredNs(maxNs)}; coefficient of variation ${formatPercent(coefficientOfVariation)}`,
  ];
}

const INPUTS: Readonly<Record<MeasurementConditions['inputs'], string>> = {
  'drawn-on-device': 'inputs drawn anew on the device before every replay',
  'drawn-on-host': 'inputs drawn on the host',
};

function conditionLines({ conditions, eagerNs, checkedSlotCount }: Measurement): string[] {
  const { cache, ringBytes, l2Bytes, slotCount, sequencesPerReplay, replaysPerSample, replayOverheadNs } = conditions;
  const eager = eagerNs === undefined ? '' : `; launched alone, outside a graph: ${formatMeasuredNs(eagerNs)}`;
  return [
    `${cache} cache: a ring of ${formatCount(slotCount, 'slot')}, ${mebibytes(ringBytes)} (${formatFigure(ringBytes / l2Bytes)} × L2)`,
    `a sample is ${formatCount(replaysPerSample, 'replay')} of ${formatCount(sequencesPerReplay, 'launch sequence')}; ${INPUTS[conditions.inputs]}`,
    `a replay takes ${formatMeasuredNs(replayOverheadNs)} beside its launches, taken off every replay${eager}`,
    `${formatCount(checkedSlotCount, 'slot')} compared with the oracle after being timed`,
  ];
}

/** `1,965–1,980 MHz` over every state that tells it. */
function range(states: readonly GpuState[], key: keyof GpuState, unit: string): string[] {
  const values = states.map((state) => state[key]).filter((value) => typeof value === 'number');
  if (values.length === 0) return [];
  const [low, high] = [formatFigure(Math.min(...values)), formatFigure(Math.max(...values))];
  return [`${low === high ? low : `${low}–${high}`} ${unit}`];
}

function stateLine(states: readonly GpuState[]): string {
  const parts = [
    ...range(states, 'smClockMhz', 'MHz SM').map((text) => `clocks ${text}`),
    ...range(states, 'memoryClockMhz', 'MHz memory'),
    ...range(states, 'temperatureC', '°C'),
    ...range(states, 'powerW', 'W').map((text) => [text, ...range(states, 'powerLimitW', 'W')].join(' of ')),
  ];
  return parts.length === 0 ? 'clocks, temperature and power: not reported' : parts.join(', ');
}

function throttleLine(blocks: readonly MeasuredBlock[], states: readonly GpuState[]): string {
  if (states.every(({ throttleReasons }) => throttleReasons === undefined)) return 'throttling: not reported';
  const reasons = [...new Set(states.flatMap(({ throttleReasons }) => throttleReasons ?? []))];
  if (reasons.length === 0) return 'no throttling seen';
  const capped = blocks.filter(({ powerCapped }) => powerCapped === true).length;
  const share = capped > 0 ? `; power-capped in ${capped} of ${formatCount(blocks.length, 'block')}` : '';
  return `throttling: ${reasons.join(', ')}${share}`;
}

function discardedLine(blocks: readonly MeasuredBlock[]): string[] {
  const reasons = blocks.flatMap(({ discarded }) => discarded ?? []);
  if (reasons.length === 0) return [];
  const why = [...new Set(reasons)].join('; ');
  return [`discarded: ${reasons.length} of ${formatCount(blocks.length, 'block')} (${why})`];
}

/** How a time was measured: summary, ring, overhead, clocks, and whatever makes it less than it seems. */
export function measurementLines(measurement: Measurement): string[] {
  const { blocks, disturbances } = measurement;
  const states = blocks.flatMap(({ before, after }) => [before, after]);
  return [
    ...summaryLines(measurement),
    ...conditionLines(measurement),
    stateLine(states),
    throttleLine(blocks, states),
    ...discardedLine(blocks),
    ...disturbances.map((disturbance) => `disturbed: ${disturbance}`),
  ];
}
