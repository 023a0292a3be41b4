import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Candidate, Kernel, ParameterValues } from './kernel.ts';
import { completeParameters } from './plan/parameters.ts';
import { sortedEntries } from './values.ts';

const ID_DIGITS = 12;

/**
 * A kernel with completed parameters, named by its content: kernel.json, sources and parameter values. Its folder does not
 * matter.
 *
 * @throws WarpsmithError as `completeParameters`.
 */
export function makeCandidate(kernel: Kernel, parameters: ParameterValues): Candidate {
  const complete = completeParameters(kernel.file, parameters);
  const { file, sources } = textsOf(kernel);
  const content = `{"file":${file},"parameters":${stableJson(complete)},"sources":${sources}}`;
  return { id: bytesToHex(sha256(utf8ToBytes(content))).slice(0, ID_DIGITS), kernel, parameters: complete };
}

interface Texts {
  readonly file: string;
  readonly sources: string;
}

/** Long, and the same for all candidates of a kernel: a space has hundreds. */
function textsOf(kernel: Kernel): Texts {
  const known = texts.get(kernel.sources);
  if (known?.of === kernel.file) return known;
  const made = { of: kernel.file, file: stableJson(kernel.file), sources: stableJson(kernel.sources) };
  texts.set(kernel.sources, made);
  return made;
}

const texts = new WeakMap<Kernel['sources'], Texts & { readonly of: Kernel['file'] }>();

/** JSON with sorted keys, so that the order of keys in a file does not change the name. */
const stableJson = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(sortedEntries(item as Record<string, unknown>))
      : item,
  );
