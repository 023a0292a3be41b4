import { z } from 'zod';
import { count, intervalOrNaN, numberOrNaN } from './schemas/common-schema.ts';

/** Verdicts on the candidate's energy. Those on times have other words: the two are never mixed. */
export const ENERGY_VERDICTS = ['less', 'more', 'equal', 'ambiguous'] as const;
export type EnergyVerdict = (typeof ENERGY_VERDICTS)[number];

const energyWindow = z
  .strictObject({
    joules: numberOrNaN.describe('Of the whole board, between two ticks of its energy counter.'),
    seconds: numberOrNaN.describe('Wall time between the two ticks.'),
    sequences: count.describe('Launch sequences in that time.'),
  })
  .meta({ id: 'EnergyWindow' });

/** A stretch of time in which nothing but one contender's launches ran, one after the other. */
export interface EnergyWindow extends z.infer<typeof energyWindow> {}

const contenderEnergy = z.strictObject({
  contender: z.string(),
  joules: numberOrNaN.describe('Joules of one launch sequence: median over the blocks. Idle power is part of it.'),
  intervalJoules: intervalOrNaN('95 % bootstrap interval of the median over blocks.'),
  watts: numberOrNaN.describe('Mean power of the board in the windows: median over the blocks.'),
  windows: z.array(energyWindow).describe('One a block, in the order of the blocks.'),
});
export type ContenderEnergy = z.infer<typeof contenderEnergy>;

const energyComparison = z.strictObject({
  candidate: z.string(),
  baseline: z.string(),
  verdict: z.enum(ENERGY_VERDICTS).describe('Of the candidate.'),
  ratio: numberOrNaN.describe(
    'Baseline’s joules ÷ candidate’s, geometric mean over blocks; above 1 the candidate needs less.',
  ),
  intervalRatio: intervalOrNaN('95 % bootstrap interval over blocks, 10,000 resamples.'),
  blockCount: count,
});
export type EnergyComparison = z.infer<typeof energyComparison>;

/** What comes of comparing energies, without the names of those that are compared. */
export type EnergyRatio = Pick<EnergyComparison, 'ratio' | 'verdict'> & {
  readonly intervalRatio: readonly [low: number, high: number];
};

const measuredEnergySchema = z.strictObject({
  contenders: z.array(contenderEnergy),
  comparisons: z.array(energyComparison).describe('Of the candidate with each baseline kernel, from the same blocks.'),
  idleW: z
    .number()
    .describe('Power with the context open and nothing launched, right after a block: median over blocks.')
    .optional(),
  blockCount: count,
  discardedBlockCount: count,
  disturbances: z.array(z.string()).describe('Other activity on the GPU, whose energy is in the figures.'),
});
export type MeasuredEnergy = z.infer<typeof measuredEnergySchema>;

export const energySchema = z
  .union([measuredEnergySchema, z.strictObject({ unavailable: z.string().describe('Why there is none.') })])
  .meta({ id: 'Energy', description: 'Energy of a launch sequence by NVML’s counter, on a real GPU.' });

/** What launches of a candidate cost in energy, or why that is not known. */
export type Energy = z.infer<typeof energySchema>;

/** The energies, if they were measured. */
export const measuredEnergy = (energy: Energy | undefined): MeasuredEnergy | undefined =>
  energy && !('unavailable' in energy) ? energy : undefined;
