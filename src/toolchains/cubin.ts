import type { CompileOutcome } from '../core/compiled-code.ts';
import type { Candidate } from '../core/kernel.ts';
import { elfSections } from './elf.ts';
import { precompiled } from './precompiled.ts';

/** Contents of a cubin: an ELF file of 64-bit words, little-endian, for the machine `EM_CUDA`. */
export interface Cubin {
  /** 90 for sm_90 and sm_90a. */
  readonly computeCapability: number;
  /** Symbols of its kernels and of other functions with code of their own. */
  readonly functions: readonly string[];
}

const EM_CUDA = 190;
/** Offsets of the ELF header's fields. Source: ELF-64 object file format, "File header". */
const HEADER = { abiVersion: 8, machine: 18, flags: 48 };
/** From this ABI version on (CUDA 13) the compute capability is the second byte of e_flags, before it the first. */
const ABI_WITH_CAPABILITY_IN_SECOND_BYTE = 8;

/** Reads the parts of a cubin that can be checked without a GPU; undefined when it isn't one. */
export function readCubin(bytes: Uint8Array): Cubin | undefined {
  try {
    return parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (error) {
    // A truncated file: some offset lies outside.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function parse(elf: Buffer): Cubin | undefined {
  const sections = elfSections(elf);
  if (elf.readUInt16LE(HEADER.machine) !== EM_CUDA) return undefined;
  const flags = elf.readUInt32LE(HEADER.flags);
  const inSecondByte = elf[HEADER.abiVersion]! >= ABI_WITH_CAPABILITY_IN_SECOND_BYTE;
  const computeCapability = (inSecondByte ? flags >> 8 : flags) & 0xff;
  const functions = sections
    .filter(({ name }) => name.startsWith('.text.'))
    .map(({ name }) => name.slice('.text.'.length));
  return { computeCapability, functions };
}

/** A kernel that is already machine code. Its architecture and functions are checked; the code stays unchanged. */
export function passThroughCubin(
  candidate: Candidate,
  architecture: string,
  functions: readonly string[],
): CompileOutcome {
  const { file, sources } = candidate.kernel;
  if (file.source.files.length !== 1) {
    return refuse('invalid', `A cubin kernel is one file; source.files lists ${file.source.files.length}.`);
  }
  const name = file.source.files[0]!;
  const text = sources[name] ?? '';
  const cubin = readCubin(Buffer.from(text, 'base64'));
  if (cubin === undefined) return refuse('invalid', `${name} is not a cubin (an ELF file for NVIDIA GPUs).`);
  const made = `sm_${cubin.computeCapability}`;
  if (cubin.computeCapability !== Number(/\d+/.exec(architecture)?.[0])) {
    return refuse('unsupported', `${name} is machine code for ${made}; the device is ${architecture}.`);
  }
  const missing = functions.find((wanted) => !cubin.functions.includes(wanted));
  if (missing !== undefined) {
    return refuse('invalid', `${name} has no kernel \`${missing}\`; it has ${cubin.functions.join(', ') || 'none'}.`);
  }
  return precompiled('cubin', text, architecture, functions);
}

function refuse(status: 'invalid' | 'unsupported', message: string): CompileOutcome {
  return { ok: false, status, message, diagnostics: [], elapsedMs: 0 };
}
