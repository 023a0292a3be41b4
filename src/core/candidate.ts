import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Candidate, Kernel, ParameterValues } from './kernel.ts';
import { completeParameters } from './plan/parameters.ts';

const ID_DIGITS = 12;

/**
 * A kernel with completed parameters, named by its content: kernel.json, sources and parameter values. Its folder does not
 * matter.
 *
 * @throws WarpsmithError as `completeParameters`.
 */
export function makeCandidate(kernel: Kernel, parameters: ParameterValues): Candidate {
  const complete = completeParameters(kernel.file, parameters);
  const content = stableJson({ file: kernel.file, sources: kernel.sources, parameters: complete });
  return { id: bytesToHex(sha256(utf8ToBytes(content))).slice(0, ID_DIGITS), kernel, parameters: complete };
}

/** JSON with sorted keys, so that the order of keys in a file does not change the name. */
const stableJson = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([left], [right]) => (left < right ? -1 : 1)))
      : item,
  );
