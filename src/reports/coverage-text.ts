import type { Coverage, Evaluation } from '../core/evaluation.ts';
import type { Dimensions } from '../core/problem.ts';

/** Shown where nothing is known of any shape but the timed one. */
export const ONE_SHAPE = 'VERIFIED AT THE TIMED SHAPE ONLY';

const describeShape = (dimensions: Dimensions): string =>
  Object.entries(dimensions)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** What an evaluation was verified on, and what it was not; a line each. */
export function coverageLines({ seed, coverage }: Evaluation): string[] {
  if (!coverage) return seed === undefined ? [] : [`seed ${seed}`];
  return [
    ...(coverage.timedShapeOnly ? ['no other shape than the timed one: the kernel takes none'] : []),
    `seed ${seed}: ${plural(coverage.checkShapes, 'check shape')}, ${coverage.drawnShapes.length} drawn`,
    `the timed shape with ${kindsOf(coverage)} inputs`,
    ...coverage.drawnShapes.map((shape) => `drawn: ${describeShape(shape)}`),
    ...(coverage.excludedShapes.length > 0
      ? [`${plural(coverage.excludedShapes.length, 'check shape')} that the kernel does not take left out`]
      : []),
    ...(coverage.fixedDimensions.length > 0 && !coverage.timedShapeOnly
      ? [`not verified at any other value of ${coverage.fixedDimensions.join(', ')}: the kernel takes none`]
      : []),
    ...coverage.leftOut.map(({ check, reason }) => `left out: ${check}: ${reason}`),
  ];
}

const kindsOf = ({ generatorSets }: Coverage): string => ['its own', ...generatorSets].join(', ');
