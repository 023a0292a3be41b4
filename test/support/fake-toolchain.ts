import type { CompileOutcome } from '../../src/core/compiled-code.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';

/** A toolchain that compiles anything to an empty module, or to the text given, or fails as told. */
export const createFakeToolchain = (failure?: Extract<CompileOutcome, { ok: false }>, text = ''): Toolchain => ({
  identity: { name: 'fake', version: '1', path: 'fake' },
  compile: async ({ candidate, architecture }) =>
    failure ?? {
      ok: true,
      cached: false,
      elapsedMs: 0,
      code: {
        kind: 'ptx',
        text,
        architecture,
        compiler: { name: 'fake', version: '1' },
        functionSymbols: {},
        key: candidate.id,
        diagnostics: [],
      },
    },
});
