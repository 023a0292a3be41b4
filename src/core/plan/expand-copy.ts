import type { CopyStepDeclaration } from '../kernel.ts';
import type { PlannedCopy } from '../launch-plan.ts';
import { type ArgumentContext, expandReference } from './expand-arguments.ts';
import { evaluateInteger, planError } from './plan-error.ts';

/**
 * A copy with its expressions evaluated; undefined if one of its outputs is not wanted at these dimensions, or there are no bytes.
 *
 * @throws WarpsmithError for places outside of the buffers, and for ones of one buffer that overlap.
 */
export function expandCopy({ copy }: CopyStepDeclaration, context: ArgumentContext): PlannedCopy | undefined {
  if (context.absent?.has(copy.from.buffer) || context.absent?.has(copy.to.buffer)) return undefined;
  const path = `${context.path}.copy`;
  const from = expandReference(copy.from, { ...context, path: `${path}.from` });
  const to = expandReference(copy.to, { ...context, path: `${path}.to` });
  const roomIn = ({ buffer, offsetBytes }: PlannedCopy['from']): number =>
    context.buffers.get(buffer)!.bytes - offsetBytes;
  const bytes = evaluateInteger(
    { expression: copy.bytes ?? roomIn(from), scope: context.scope, path: `${path}.bytes`, file: context.file },
    {
      what: `The number of bytes from \`${from.buffer}\` to \`${to.buffer}\``,
      minimum: 0,
      maximum: Math.min(roomIn(from), roomIn(to)),
      hint: `Behind their offsets \`${from.buffer}\` has ${roomIn(from)} bytes and \`${to.buffer}\` ${roomIn(to)}.`,
    },
  );
  if (from.buffer === to.buffer && Math.abs(from.offsetBytes - to.offsetBytes) < bytes)
    throw planError(
      'overlapping-copy',
      { expression: bytes, scope: context.scope, path, file: context.file },
      {
        message: `The copy reads and writes the same bytes of \`${from.buffer}\`.`,
        value: bytes,
        expected: `at most ${Math.abs(from.offsetBytes - to.offsetBytes)} bytes between these offsets`,
        hint: 'Copy by way of a workspace.',
      },
    );
  return bytes === 0 ? undefined : { kind: 'copy', from, to, bytes };
}
