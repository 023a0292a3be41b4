import { fillElements, type Generate } from './generator.ts';

/** Independent normal values; mean 0 and standard deviation 1 unless given. */
export const normal: Generate<'normal'> = ({ mean = 0, standardDeviation = 1 }, { elementCount, stream }) =>
  fillElements(elementCount, (i) => mean + standardDeviation * stream.normal(i));
