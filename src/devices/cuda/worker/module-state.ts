import type { CompiledCode } from '../../../core/compiled-code.ts';
import { declaresGlobalVariables } from '../../../ptx/global-variables.ts';

/** Functions of the CUDA device runtime with which kernels launch kernels. */
const DEVICE_LAUNCH =
  /\b(cudaLaunchDevice(V2)?|__cudaCDP2Launch\w*|cudaGetParameterBuffer(V2)?|__cudaCDP2GetParameterBuffer\w*)\b/;

/** The device-runtime function by which the code launches kernels itself, if it does. */
export function deviceSideLaunch(code: CompiledCode): string | undefined {
  // Symbol names of a cubin are plain text in its string table.
  const text = code.kind === 'ptx' ? code.text : Buffer.from(code.text, 'base64').toString('latin1');
  return DEVICE_LAUNCH.exec(text)?.[1];
}

/** Whether the code has variables in device memory that a launch can change; what cannot be read is taken to have. */
export const hasWritableVariables = (code: CompiledCode): boolean =>
  code.kind === 'ptx' ? declaresGlobalVariables(code.text) : cubinHasState(Buffer.from(code.text, 'base64'));

const SHF_WRITE_OR_ALLOC = 1 | 2;

/** What lies in device memory without being a variable that outlives a launch. Names as nvcc writes them. */
const STATELESS = /^\.(?:text|nv\.constant\d+|nv\.shared|nv\.local)(?:\.|$)/;

/** Non-empty sections of device memory that may hold variables. Source: the ELF specification. */
function cubinHasState(elf: Buffer): boolean {
  try {
    return sectionsOf(elf).some(
      ({ name, flags, bytes }) => bytes > 0 && (flags & SHF_WRITE_OR_ALLOC) !== 0 && !STATELESS.test(name),
    );
  } catch {
    return true;
  }
}

interface Section {
  name: string;
  flags: number;
  bytes: number;
}

const ELF64_SECTION_BYTES = 64;

/** @throws RangeError when it is no 64-bit little-endian ELF file. */
function sectionsOf(elf: Buffer): Section[] {
  if (elf.readUInt32BE(0) !== 0x7f454c46 || elf[4] !== 2 || elf[5] !== 1) throw new RangeError('not a 64-bit ELF file');
  const tableAt = Number(elf.readBigUInt64LE(40));
  const [entryBytes, count, namesIndex] = [elf.readUInt16LE(58), elf.readUInt16LE(60), elf.readUInt16LE(62)];
  if (entryBytes !== ELF64_SECTION_BYTES || count === 0) throw new RangeError('no section table');
  const headerAt = (index: number) => tableAt + index * entryBytes;
  const namesAt = Number(elf.readBigUInt64LE(headerAt(namesIndex) + 24));
  return Array.from({ length: count }, (_, index) => {
    const at = headerAt(index);
    const nameAt = namesAt + elf.readUInt32LE(at);
    return {
      name: elf.toString('latin1', nameAt, elf.indexOf(0, nameAt)),
      flags: Number(elf.readBigUInt64LE(at + 8)),
      bytes: Number(elf.readBigUInt64LE(at + 32)),
    };
  });
}
