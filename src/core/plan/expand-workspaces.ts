import type { KernelFile } from '../kernel.ts';
import type { PlannedBuffer } from '../launch-plan.ts';
import { evaluateInteger } from './plan-error.ts';
import type { Scope } from './scope.ts';

/** What cudaMalloc guarantees, so that a workspace can hold anything. */
const DEFAULT_ALIGNMENT_BYTES = 256;

/**
 * The kernel's workspaces as byte buffers.
 *
 * @throws WarpsmithError when a size is not an integer of at least 1.
 */
export const expandWorkspaces = (kernel: KernelFile, scope: Scope, file?: string): PlannedBuffer[] =>
  Object.entries(kernel.workspaces ?? {}).map(([name, declaration]) => {
    const place = { path: `workspaces.${name}.bytes`, file };
    const bytes = evaluateInteger(
      { ...place, expression: declaration.bytes, scope },
      { what: `The size of workspace \`${name}\``, minimum: 1 },
    );
    return {
      name,
      role: 'workspace',
      dtype: 'u8',
      shape: [bytes],
      strides: [1],
      bytes,
      alignmentBytes: declaration.alignmentBytes ?? DEFAULT_ALIGNMENT_BYTES,
      init: declaration.init,
    };
  });
