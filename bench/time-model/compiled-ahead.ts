import { readFile, writeFile } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { CompiledCode } from '../../src/core/compiled-code.ts';
import type { Device } from '../../src/core/device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { keyOf, type Subject } from './subjects.ts';

/** Where the code of subjects comes from. */
export interface CodeSource {
  readonly compiler: string;
  /** @throws Error with the compiler's message. */
  compile(subject: Subject): Promise<CompiledCode>;
}

/** Code by subject, or why there is none. */
interface CompiledFile {
  readonly compiler: string;
  readonly architecture: string;
  readonly code: Readonly<Record<string, CompiledCode | { readonly failure: string }>>;
}

/** At once: clang is a process, so two cores are used. */
const AT_ONCE = 2;

const withClang = async ({ identity, spec }: Pick<Device, 'identity' | 'spec'>): Promise<CodeSource> => {
  const toolchain = await createClangToolchain({ driverVersion: identity.driver });
  const compiler = `clang ${toolchain.identity.version}`;
  return { compiler, compile: (subject) => subject.compile(toolchain, spec.architecture) };
};

/** @throws Error for another architecture. */
async function fromFile(file: string, { spec }: Pick<Device, 'spec'>): Promise<CodeSource> {
  const { compiler, architecture, code } = JSON.parse(gunzipSync(await readFile(file)).toString()) as CompiledFile;
  if (architecture !== spec.architecture)
    throw new Error(`${file} has code for ${architecture}; this GPU is ${spec.architecture}`);
  return {
    compiler,
    async compile(subject) {
      const compiled = code[keyOf(subject)] ?? { failure: `${file} has no code for it: compile again` };
      if ('failure' in compiled) throw new Error(compiled.failure);
      return compiled;
    },
  };
}

/** clang on this machine, or a file that `compileAhead` wrote on another one. */
export const openCodeSource = (device: Device, file: string | undefined): Promise<CodeSource> =>
  file === undefined ? withClang(device) : fromFile(file, device);

/** Compiles subjects for a machine with such a GPU and no clang. @returns those that failed, with the reason. */
export async function compileAhead(
  subjects: readonly Subject[],
  device: Pick<Device, 'identity' | 'spec'>,
  file: string,
): Promise<Map<string, string>> {
  const { compiler, compile } = await withClang(device);
  const code: Record<string, CompiledCode | { failure: string }> = {};
  const failed = new Map<string, string>();
  const left = [...subjects];
  async function compileNext(): Promise<void> {
    for (let subject = left.shift(); subject; subject = left.shift()) {
      const key = keyOf(subject);
      try {
        code[key] = await compile(subject);
      } catch (error) {
        const failure = error instanceof Error ? error.message : String(error);
        code[key] = { failure };
        failed.set(key, failure);
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, compileNext));
  const compiled: CompiledFile = { compiler, architecture: device.spec.architecture, code };
  await writeFile(file, gzipSync(JSON.stringify(compiled)));
  return failed;
}
