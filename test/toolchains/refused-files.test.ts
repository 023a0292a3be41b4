import { beforeAll, describe, expect, it } from 'vitest';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { compileFails, compiles } from './support.ts';

let toolchain: Toolchain;
beforeAll(async () => {
  toolchain = await createClangToolchain();
});

const RUN = 'extern "C" __global__ void run() {}';

describe('a kernel can read nothing but its own files and the device headers', () => {
  const refused: [string, string, number][] = [
    ['an absolute include', '#include </etc/passwd>', 1],
    ['an absolute include in quotes', 'int a;\n#include "/etc/passwd"', 2],
    ['an include that leaves the folder', '#include "../../etc/passwd"', 1],
    ['one that hides it', '// why not\n#  include \\\n  "parts/../../secret.h"', 2],
    ['include_next', '#include_next </etc/passwd>', 1],
    ['import', '#import "/etc/passwd"', 1],
    ['a digraph', '%:include "/etc/passwd"', 1],
    ['embed', 'const char data[] = {\n#embed "data.bin"\n};', 2],
    ['a probe', '#if __has_include("/etc/passwd")\n#endif', 1],
    ['a probe in angle brackets', '\n#if defined(X) || __has_include(</etc/shadow>)\n#endif', 2],
    ['a probe for embed', '#if __has_embed("/etc/passwd")\n#endif', 1],
    ['a name made by a macro', '#define WHERE </etc/passwd>\n#include WHERE', 2],
    ['a pragma that asks for the age of a file', '#pragma GCC dependency "/etc/passwd"', 1],
    ['one of clang', '\n  # pragma clang dependency "/etc/passwd"', 2],
    ['one as an operator', '_Pragma("GCC dependency \\"/etc/passwd\\"")', 1],
    ['one put together by a macro', '#define P(x) _Pragma(#x)\nP(GCC dependency "/etc/passwd")', 2],
    ['a precompiled header', '#pragma GCC pch_preprocess "/etc/passwd"', 1],
    ['a pragma that hides its text', '#pragma GCC system_header', 1],
    ['a pragma that crashes the compiler', '#pragma clang __debug crash', 1],
    ['a place in a file outside', '#line 1 "/etc/passwd"', 1],
    ['a place as preprocessors write it', '# 1 "../../secret.h" 1', 1],
    ['a trigraph', '??=include "/etc/passwd"', 1],
    ['a line joined by a trigraph', '#inc??/\nlude "/etc/passwd"', 1],
    ['form feeds', '#\finclude\v"/etc/passwd"', 1],
    ['a string that looks raw and is not', '#define FOOR\nconst char* s = FOOR"(";\n#include "/etc/passwd"\n// )"', 3],
    ['a probe made by a macro', '#define WHERE "/etc/passwd"\n#if __has_include(WHERE)\n#endif', 2],
  ];

  it.each(refused)('%s is invalid, with its line', async (_what, text, line) => {
    const failure = await compileFails(toolchain, { source: `${text}\n${RUN}` });
    expect(failure.status).toBe('invalid');
    expect(failure.diagnostics[0]?.location).toMatchObject({ file: 'kernel.cu', line });
    expect(JSON.stringify(failure)).not.toContain('root:');
  });

  it('nor can inline assembly', async () => {
    const hidden = 'asm volatile(".inc" "bin \\"/etc/passwd\\";");';
    const failure = await compileFails(toolchain, { source: `extern "C" __global__ void run() { ${hidden} }` });
    expect(failure).toMatchObject({ status: 'invalid', message: expect.stringContaining('.incbin') });
  });

  it('nor can the sources of the system: they are not found', async () => {
    const failure = await compileFails(toolchain, { source: `#include <unistd.h>\n${RUN}` });
    expect(failure).toMatchObject({
      status: 'compile-failed',
      message: expect.stringContaining("'unistd.h' file not found"),
    });
    expect(failure.diagnostics[0]).toMatchObject({ location: { file: 'kernel.cu', line: 1 } });
  });

  it('nor a file of the folder that kernel.json does not list', async () => {
    const failure = await compileFails(toolchain, { source: `#include "tile.cuh"\n${RUN}` });
    expect(failure.status).toBe('compile-failed');
    expect(failure.message).toContain("'tile.cuh' file not found");
    expect(failure.message).toContain('source.includes');
  });

  it('comments and strings are free to mention files', async () => {
    const source = `// #include "/etc/passwd"\n/*\n#include "/etc/passwd"\n*/\n${RUN}\nconst char* text = R"(\n#include "/etc/passwd"\n)";`;
    await compiles(toolchain, { source });
  });

  it('a probe for a header of the pack works', async () => {
    const source =
      '#if __has_include(<cuda_fp16.h>)\n#include <cuda_fp16.h>\nextern "C" __global__ void run(half* o) { o[0] = 1.0f; }\n#endif';
    await compiles(toolchain, { source });
  });
});
