import type { PlannedBuffer } from '../../core/launch-plan.ts';
import type { ReferenceTensors, Rows } from '../../core/problem.ts';
import { elementCountOf } from '../launches/layout.ts';

/**
 * Neighbouring rows that stay together, because a reference may compute several at once. A part has stretches from everywhere:
 * under a causal mask, later rows take longer.
 */
const STRETCH = 32;

export const rowLength = ({ shape }: PlannedBuffer): number => shape.at(-1) ?? 1;

export const rowCount = (buffer: PlannedBuffer): number => elementCountOf(buffer) / Math.max(1, rowLength(buffer));

/** All rows of the outputs, dealt out to `count` parts; to fewer where there are few rows. */
export function rowParts(outputs: readonly PlannedBuffer[], count: number): Rows[] {
  const stretches = Math.ceil(Math.max(...outputs.map(rowCount)) / STRETCH);
  const parts = Math.max(1, Math.min(count, stretches));
  const rowsOf = (buffer: PlannedBuffer, part: number): Uint32Array =>
    Uint32Array.from({ length: rowCount(buffer) }, (_, row) => row).filter(
      (row) => Math.floor(row / STRETCH) % parts === part,
    );
  return Array.from({ length: parts }, (_, part) =>
    Object.fromEntries(outputs.map((buffer) => [buffer.name, rowsOf(buffer, part)])),
  );
}

/** The whole outputs, from all parts. */
export function joinParts(
  outputs: readonly PlannedBuffer[],
  parts: readonly { readonly rows: Rows; readonly tensors: ReferenceTensors }[],
): ReferenceTensors {
  return Object.fromEntries(
    outputs.map((buffer) => {
      const { name } = buffer;
      const length = rowLength(buffer);
      const whole = new Float64Array(elementCountOf(buffer));
      for (const { rows, tensors } of parts)
        rows[name]!.forEach((row, i) => {
          whole.set(tensors[name]!.subarray(i * length, (i + 1) * length), row * length);
        });
      return [name, whole];
    }),
  );
}
