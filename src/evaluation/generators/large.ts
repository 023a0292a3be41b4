import { fillElements, type Generate } from './generator.ts';

/** Normal values with a large standard deviation: finds missing maximum subtraction and overflow. */
export const large: Generate<'large'> = ({ magnitude }, { elementCount, stream }) =>
  fillElements(elementCount, (i) => magnitude * stream.normal(i));
