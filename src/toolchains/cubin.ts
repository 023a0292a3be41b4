/** What a cubin says about itself: an ELF file of 64-bit words, little-endian, for the machine `EM_CUDA`. */
export interface Cubin {
  /** 90 for sm_90 and sm_90a. */
  readonly computeCapability: number;
  /** Symbols of its kernels and of other functions with code of their own. */
  readonly functions: readonly string[];
}

const EM_CUDA = 190;
/** Where ELF headers keep what is read here. Source: ELF-64 object file format, "File header", "Section header". */
const HEADER = {
  abiVersion: 8,
  machine: 18,
  sectionTable: 40,
  flags: 48,
  sectionBytes: 58,
  sectionCount: 60,
  names: 62,
};
const SECTION = { name: 0, offset: 24, size: 32 };
/** From this ABI version on (CUDA 13) the compute capability is the second byte of e_flags, before it the first. */
const ABI_WITH_CAPABILITY_IN_SECOND_BYTE = 8;

/** Reads the parts of a cubin that can be checked without a GPU; undefined when it isn't one. */
export function readCubin(bytes: Uint8Array): Cubin | undefined {
  try {
    return parse(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (error) {
    // A truncated file: some offset lies outside.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function parse(view: DataView): Cubin | undefined {
  const isElf64 = view.getUint32(0) === 0x7f454c46 && view.getUint8(4) === 2 && view.getUint8(5) === 1;
  if (!isElf64 || view.getUint16(HEADER.machine, true) !== EM_CUDA) return undefined;
  const flags = view.getUint32(HEADER.flags, true);
  const inSecondByte = view.getUint8(HEADER.abiVersion) >= ABI_WITH_CAPABILITY_IN_SECOND_BYTE;
  const computeCapability = (inSecondByte ? flags >> 8 : flags) & 0xff;
  const functions = sectionNames(view)
    .filter((name) => name.startsWith('.text.'))
    .map((name) => name.slice('.text.'.length));
  return { computeCapability, functions };
}

function sectionNames(view: DataView): string[] {
  const table = Number(view.getBigUint64(HEADER.sectionTable, true));
  const bytes = view.getUint16(HEADER.sectionBytes, true);
  const at = (index: number) => table + index * bytes;
  const names = at(view.getUint16(HEADER.names, true));
  const start = Number(view.getBigUint64(names + SECTION.offset, true));
  return Array.from({ length: view.getUint16(HEADER.sectionCount, true) }, (_, index) =>
    textAt(view, start + view.getUint32(at(index) + SECTION.name, true)),
  );
}

function textAt(view: DataView, start: number): string {
  let end = start;
  while (view.getUint8(end) !== 0) end++;
  return new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + start, end - start));
}
