import { sizeOfDType } from '../../core/dtype.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { decode } from '../../core/rounding.ts';
import { multiIndexOf } from '../launches/layout.ts';
import { compareOutput, type OutputVerdict } from './compare.ts';
import { type ExpectedRows, gatherRows } from './expected-rows.ts';

/** Compares whole outputs with the expectations of some or all rows. */
export const compareRows = (
  outputs: readonly PlannedBuffer[],
  { rows, expectations }: ExpectedRows,
  got: ReadonlyMap<string, Uint8Array>,
): ReadonlyMap<string, OutputVerdict> =>
  new Map(
    outputs.map((buffer) => {
      const { name, dtype, shape } = buffer;
      const bytes = got.get(name)!;
      const chosen = rows?.[name];
      if (!chosen) return [name, compareOutput(buffer, expectations.get(name)!, decode(bytes, dtype))];
      const length = shape.at(-1) ?? 1;
      const cut = { name, shape: [chosen.length, length] };
      const values = decode(gatherRows(bytes, chosen, length * sizeOfDType(dtype)), dtype);
      const verdict = compareOutput(cut, expectations.get(name)!, values);
      return [name, inPlace(verdict, buffer, chosen)];
    }),
  );

/** The elements that it names at their places in the whole output. */
function inPlace(verdict: OutputVerdict, { shape }: PlannedBuffer, rows: Uint32Array): OutputVerdict {
  const place = <T extends { index: number[] }>(element: T): T => {
    const [row, column] = element.index as [number, number];
    return { ...element, index: multiIndexOf(shape, rows[row]! * (shape.at(-1) ?? 1) + column) };
  };
  const { nearest, firstWrong } = verdict;
  // Where the wrong ones lie among some rows says nothing of where they lie in the whole output.
  const wrong = firstWrong && { ...place(firstWrong), where: undefined };
  return { ...verdict, nearest: nearest && place(nearest), firstWrong: wrong };
}
