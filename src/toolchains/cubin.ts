import { elfSections } from './elf.ts';

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
