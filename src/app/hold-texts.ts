import type { ArtifactStore } from '../core/artifacts.ts';
import { sha256 } from '../process/sha256.ts';

/** Keeps texts in memory while somebody looks at them, such as compiled code. */
export function holdTexts(): ArtifactStore & { get(hash: string): string | undefined } {
  const texts = new Map<string, string>();
  return {
    get: (hash) => texts.get(hash),
    put(contents) {
      const hash = sha256(contents);
      texts.set(hash, typeof contents === 'string' ? contents : new TextDecoder().decode(contents));
      return hash;
    },
  };
}
