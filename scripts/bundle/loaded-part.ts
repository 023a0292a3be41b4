/** Offsets in the header of a 64-bit little-endian ELF file, and of one program header. Source: elf(5). */
const ELF = { programHeaders: 32, sectionHeaders: 40, programHeaderBytes: 54, programHeaderCount: 56, sections: 58 };
const SEGMENT = { type: 0, offset: 8, fileBytes: 32 };
const LOADED = 1;

/**
 * The part of an executable that is loaded when it runs: symbols for debuggers and the section table lie behind it and
 * are left out, as `strip` would. What is not such a file comes back whole.
 */
export const loadedPart = (file: Uint8Array): Uint8Array => {
  const bytes = Buffer.from(file);
  const isElf64 = bytes.subarray(0, 6).equals(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]));
  if (!isElf64) return file;
  const end = segments(bytes).reduce((furthest, segment) => Math.max(furthest, segment.end), 0);
  const kept = bytes.subarray(0, end);
  kept.writeBigUInt64LE(0n, ELF.sectionHeaders);
  // e_shentsize, e_shnum, e_shstrndx
  for (const field of [0, 2, 4]) kept.writeUInt16LE(0, ELF.sections + field);
  return kept;
};

const segments = (elf: Buffer): { end: number }[] => {
  const first = Number(elf.readBigUInt64LE(ELF.programHeaders));
  const size = elf.readUInt16LE(ELF.programHeaderBytes);
  return Array.from({ length: elf.readUInt16LE(ELF.programHeaderCount) }, (_, index) => first + index * size)
    .filter((at) => elf.readUInt32LE(at + SEGMENT.type) === LOADED)
    .map((at) => ({
      end: Number(elf.readBigUInt64LE(at + SEGMENT.offset) + elf.readBigUInt64LE(at + SEGMENT.fileBytes)),
    }));
};
