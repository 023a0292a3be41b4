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
  return { id: idOf(textsOf(kernel), stableJson(complete)), kernel, parameters: complete };
}

/** A search makes the same candidates again with each step, and to hash the sources takes longer than all else of a proposal. */
function idOf({ file, sources, ids }: Texts, parameters: string): string {
  const known = ids.get(parameters);
  if (known !== undefined) return known;
  const content = `{"file":${file},"parameters":${parameters},"sources":${sources}}`;
  const id = bytesToHex(sha256(utf8ToBytes(content))).slice(0, ID_DIGITS);
  ids.set(parameters, id);
  return id;
}

interface Texts {
  readonly file: string;
  readonly sources: string;
  /** Candidates' names by their parameters' text. */
  readonly ids: Map<string, string>;
}

/** Long, and the same for all candidates of a kernel: a space has hundreds. */
function textsOf(kernel: Kernel): Texts {
  const known = texts.get(kernel.sources);
  if (known?.of === kernel.file) return known;
  const [file, sources] = [stableJson(kernel.file), stableJson(kernel.sources)];
  const made = { of: kernel.file, file, sources, ids: new Map<string, string>() };
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
