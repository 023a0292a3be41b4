import { fillNormal } from '../../../process/fill-normal.ts';
import type { Generate } from './generator.ts';

/** Independent normal values; mean 0 and standard deviation 1 unless given. */
export const normal: Generate<'normal'> = ({ mean = 0, standardDeviation = 1 }, { elementCount, stream }) =>
  fillNormal(stream, elementCount, mean, standardDeviation);
