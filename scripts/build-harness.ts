// Writes src/devices/cuda/harness/harness.ptx, the PTX of harness.cu: npm run harness
// It is checked in, so that no user needs a compiler for it.
import { readFile, writeFile } from 'node:fs/promises';
import { makeCandidate } from '../src/core/candidate.ts';
import { HARNESS_FUNCTIONS } from '../src/devices/cuda/harness/harness.ts';
import { createClangToolchain } from '../src/toolchains/clang.ts';

const folder = new URL('../src/devices/cuda/harness/', import.meta.url);
/** The oldest architecture with bf16 conversions; drivers compile its PTX for every later one. */
const ARCHITECTURE = 'sm_80';

/** The text of harness.ptx, from harness.cu as it is now. @throws Error when it does not compile. */
export async function generateHarness(): Promise<{ text: string; compiler: string }> {
  const toolchain = await createClangToolchain();
  const source = await readFile(new URL('harness.cu', folder), 'utf8');
  const candidate = makeCandidate(
    {
      folder: '.',
      file: {
        schemaVersion: 1,
        name: 'harness',
        description: '',
        problem: '',
        source: { kind: 'cuda', files: ['harness.cu'] },
        steps: Object.values(HARNESS_FUNCTIONS).map((name) => ({
          function: name,
          grid: [1],
          block: [1],
          arguments: [],
        })),
      },
      sources: { 'harness.cu': source },
    },
    {},
  );
  const compiled = await toolchain.compile({ candidate, architecture: ARCHITECTURE });
  if (!compiled.ok) throw new Error(`harness.cu: ${compiled.status}: ${compiled.message}`);
  if (compiled.code.kind !== 'ptx') throw new Error(`harness.cu: compiled to ${compiled.code.kind}`);
  const compiler = `clang ${compiled.code.compiler.version}`;
  return { text: headed(withoutDebugInformation(compiled.code.text), compiler), compiler };
}

/** Lines of sources, comments and empty lines: nobody steps through the harness. */
const withoutDebugInformation = (ptx: string): string =>
  ptx
    .replace(/^\s*\.section\s+\.debug[^{]*\{[^}]*\}/gm, '')
    .split('\n')
    .map((line) => line.replace(/\s*\/\/.*$/, ''))
    .filter((line) => !/^\s*(?:\.loc\b|\.file\b|\$L__?(?:func|tmp|info)\w*:|$)/.test(line))
    .join('\n');

const headed = (ptx: string, compiler: string): string => `// Generated from harness.cu by \`npm run harness\`
// Compiler: ${compiler}, ${ARCHITECTURE}
${ptx}
`;

if (import.meta.main) await writeFile(new URL('harness.ptx', folder), (await generateHarness()).text);
