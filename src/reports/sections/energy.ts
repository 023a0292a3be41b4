import type { Energy, EnergyComparison, EnergyVerdict, MeasuredEnergy } from '../../core/energy.ts';
import { figure } from '../../core/values.ts';
import * as doc from '../document.ts';
import { formatRatioInterval } from '../format.ts';

/** An energy with the name that its table gives it, if it is one of several. */
export interface NamedEnergy {
  readonly workload?: string;
  /** Absent if it was not asked for. */
  readonly energy?: Energy | undefined;
}

const UNITS = [
  [1, 'J'],
  [1e-3, 'mJ'],
  [1e-6, 'µJ'],
] as const;

/** `12.34 mJ`. */
export function formatJoules(joules: number): string {
  const [scale, unit] = UNITS.find(([least]) => joules >= least) ?? UNITS[2];
  return `${figure(joules / scale, 4)} ${unit}`;
}

function energyNotes({ idleW, blockCount, discardedBlockCount, disturbances }: MeasuredEnergy): string[] {
  const discarded = discardedBlockCount > 0 ? `, ${discardedBlockCount} more discarded` : '';
  return [
    `by the energy counter of the whole board, in ${blockCount} blocks${discarded}; a launch sequence’s share of idle power is part of it`,
    ...(idleW === undefined ? [] : [`idle, with the context open: ${figure(idleW, 4)} W`]),
    ...disturbances,
  ];
}

const VERDICT: Readonly<Record<EnergyVerdict, string>> = {
  less: 'less energy',
  more: 'more energy',
  equal: 'as much energy',
  ambiguous: 'less, more or as much energy (ambiguous)',
};

/** `candidate needs less energy beside start: 1.931× [1.920, 1.942], the joules of start ÷ its own`. */
const describeEnergies = ({ candidate, baseline, verdict, ratio, intervalRatio }: EnergyComparison): string =>
  `${candidate} needs ${VERDICT[verdict]} beside ${baseline}: ${ratio.toFixed(3)}× ${formatRatioInterval(intervalRatio)}, the joules of ${baseline} ÷ its own`;

function partsOf({ workload, energy }: NamedEnergy): doc.Part[] {
  if (!energy) return [];
  const of = workload === undefined ? '' : ` of ${workload}`;
  if ('unavailable' in energy) return [doc.list([`energy${of} was not measured: ${energy.unavailable}`])];
  return [
    doc.table(`Energy of a launch sequence${of}`, energy.contenders, [
      doc.names('contender', ({ contender }) => contender),
      doc.figures('measured energy', ({ joules }) => formatJoules(joules)),
      doc.words('95 % interval', ({ intervalJoules }) => `[${intervalJoules.map(formatJoules).join(', ')}]`, 2),
      doc.figures('mean power', ({ watts }) => `${figure(watts, 4)} W`),
    ]),
    doc.list(energy.comparisons.map(describeEnergies)),
    doc.list(energyNotes(energy)),
  ];
}

/** The first comparison in few words: `less: 1.931× [1.920, 1.942]`; undefined where none was measured. */
export function energyInShort([first]: readonly NamedEnergy[]): string | undefined {
  if (!first?.energy) return undefined;
  if ('unavailable' in first.energy) return `not measured: ${first.energy.unavailable}`;
  const [own, other] = first.energy.contenders;
  const [comparison] = first.energy.comparisons;
  const beside = comparison && other ? `; ${comparison.baseline} ${formatJoules(other.joules)}` : '';
  const ratio = comparison
    ? `, ${comparison.verdict}: ${comparison.ratio.toFixed(3)}× ${formatRatioInterval(comparison.intervalRatio)}`
    : '';
  return `measured ${formatJoules(own!.joules)} a launch sequence${beside}${ratio}`;
}

/** Energies beside times, of one workload or several; nothing where none was asked for. */
export const energySection = (energies: readonly NamedEnergy[]): doc.Section[] =>
  doc.section('energy', 'Energy', energies.flatMap(partsOf));
