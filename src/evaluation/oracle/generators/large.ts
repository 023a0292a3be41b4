import { fillNormal } from '../../../process/fill-normal.ts';
import type { Generate } from './generator.ts';

/** Normal values with a large standard deviation: finds missing maximum subtraction and overflow. */
export const large: Generate<'large'> = ({ magnitude }, { elementCount, stream }) =>
  fillNormal(stream, elementCount, 0, magnitude);
