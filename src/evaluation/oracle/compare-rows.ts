import { sizeOfDType } from '../../core/dtype.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { decode } from '../../core/rounding.ts';
import { multiIndexOf } from '../launches/layout.ts';
import { compareOutput, type OutputVerdict } from './compare.ts';
import { type ExpectedRows, gatherRows } from './expected-rows.ts';
import { rowLength } from './row-parts.ts';
import type { Expectation } from './tolerances/tolerance.ts';

/** Compares whole outputs with the expectations of some or all rows. */
export const compareRows = (
  outputs: readonly PlannedBuffer[],
  { rows, expectations }: ExpectedRows,
  got: ReadonlyMap<string, Uint8Array>,
): ReadonlyMap<string, OutputVerdict> =>
  new Map(
    outputs.map((buffer) => {
      const { name, dtype } = buffer;
      const bytes = got.get(name)!;
      const chosen = rows?.[name];
      if (!chosen) return [name, compareOutput(buffer, expectations.get(name)!, decode(bytes, dtype))];
      const gathered = gatherRows(bytes, chosen, rowLength(buffer) * sizeOfDType(dtype));
      return [name, compareChosen(buffer, chosen, expectations.get(name)!, gathered)];
    }),
  );

/** The same of rows that were gathered: those of `rows`, one after the other. */
export const compareGatheredRows = (
  outputs: readonly PlannedBuffer[],
  { rows, expectations }: Required<ExpectedRows>,
  gathered: ReadonlyMap<string, Uint8Array>,
): ReadonlyMap<string, OutputVerdict> =>
  new Map(
    outputs.map((buffer) => {
      const { name } = buffer;
      return [name, compareChosen(buffer, rows[name]!, expectations.get(name)!, gathered.get(name)!)];
    }),
  );

function compareChosen(
  buffer: PlannedBuffer,
  chosen: Uint32Array,
  expectation: Expectation,
  gathered: Uint8Array,
): OutputVerdict {
  const cut = { name: buffer.name, shape: [chosen.length, rowLength(buffer)] };
  return inPlace(compareOutput(cut, expectation, decode(gathered, buffer.dtype)), buffer, chosen);
}

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
