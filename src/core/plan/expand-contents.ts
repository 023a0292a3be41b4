import { sizeOfDType } from '../dtype.ts';
import type { ContentsDeclaration } from '../kernel.ts';
import { encode } from '../rounding.ts';
import { bytesOfHex, expandScalar } from './expand-arguments.ts';
import { planError } from './plan-error.ts';
import type { Scope } from './scope.ts';

interface ContentsContext {
  /** Of the workspace. */
  readonly name: string;
  readonly scope: Scope;
  readonly file: string | undefined;
}

/**
 * The bytes that are repeated over a workspace of this size; those of a whole one where values ascend.
 *
 * @throws WarpsmithError for a value that its dtype does not hold, and for more values than there is room for.
 */
export function expandContents(
  contents: ContentsDeclaration,
  workspaceBytes: number,
  { name, scope, file }: ContentsContext,
): Uint8Array {
  const path = `workspaces.${name}.contents`;
  const pattern = patternOf(contents, workspaceBytes, { scope, file, path });
  if (pattern.length <= workspaceBytes) return pattern;
  throw planError(
    'contents-too-long',
    { expression: pattern.length, scope, path, file },
    {
      message: `Workspace \`${name}\` has ${workspaceBytes} bytes, and its contents ${pattern.length}.`,
      value: pattern.length,
      expected: `at most ${workspaceBytes} bytes`,
      hint: `Make workspaces.${name}.bytes at least ${pattern.length}, or list fewer values.`,
    },
  );
}

function patternOf(
  contents: ContentsDeclaration,
  workspaceBytes: number,
  context: { readonly scope: Scope; readonly file: string | undefined; readonly path: string },
): Uint8Array {
  if ('bytes' in contents) return bytesOfHex(contents.bytes);
  const { dtype } = contents;
  const number = (expression: string | number, key: string): number =>
    expandScalar(expression, dtype, { ...context, path: `${context.path}.${key}` });
  if ('value' in contents) return encode([number(contents.value, 'value')], dtype);
  if ('values' in contents)
    return encode(
      contents.values.map((value, i) => number(value, `values[${i}]`)),
      dtype,
    );
  const [from, step] = [number(contents.from, 'from'), number(contents.step, 'step')];
  const count = Math.max(1, Math.floor(workspaceBytes / sizeOfDType(dtype)));
  // The ends decide whether all fit.
  number(from + (count - 1) * step, 'step');
  return encode(
    Float64Array.from({ length: count }, (_, i) => from + i * step),
    dtype,
  );
}
