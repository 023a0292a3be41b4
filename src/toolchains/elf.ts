/** A section of a 64-bit little-endian ELF file. Source: ELF-64 object file format, "Section header". */
export interface ElfSection {
  readonly name: string;
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly bytes: number;
  /** Of a symbol table: the section with its names. */
  readonly link: number;
}

/** Where ELF headers keep what is read here. */
const HEADER = { sectionTable: 40, sectionBytes: 58, sectionCount: 60, names: 62 };
const SECTION = { name: 0, type: 4, flags: 8, offset: 24, size: 32, link: 40 };
const ELF64_SECTION_BYTES = 64;
const ELF64_SYMBOL_BYTES = 24;
const SHT_SYMTAB = 2;

/** @throws RangeError when it is no 64-bit little-endian ELF file, or a truncated one. */
export function elfSections(elf: Buffer): ElfSection[] {
  if (elf.readUInt32BE(0) !== 0x7f454c46 || elf[4] !== 2 || elf[5] !== 1) throw new RangeError('not a 64-bit ELF file');
  const tableAt = Number(elf.readBigUInt64LE(HEADER.sectionTable));
  const count = elf.readUInt16LE(HEADER.sectionCount);
  if (elf.readUInt16LE(HEADER.sectionBytes) !== ELF64_SECTION_BYTES || count === 0)
    throw new RangeError('no section table');
  const headerAt = (index: number) => tableAt + index * ELF64_SECTION_BYTES;
  const namesAt = Number(elf.readBigUInt64LE(headerAt(elf.readUInt16LE(HEADER.names)) + SECTION.offset));
  return Array.from({ length: count }, (_, index) => {
    const at = headerAt(index);
    return {
      name: nameAt(elf, namesAt + elf.readUInt32LE(at + SECTION.name)),
      type: elf.readUInt32LE(at + SECTION.type),
      flags: Number(elf.readBigUInt64LE(at + SECTION.flags)),
      offset: Number(elf.readBigUInt64LE(at + SECTION.offset)),
      bytes: Number(elf.readBigUInt64LE(at + SECTION.size)),
      link: elf.readUInt32LE(at + SECTION.link),
    };
  });
}

/** Names of the symbols that another module must define. @throws RangeError as {@link elfSections} */
export function undefinedSymbols(elf: Buffer): string[] {
  const sections = elfSections(elf);
  return sections
    .filter(({ type }) => type === SHT_SYMTAB)
    .flatMap(({ offset, bytes, link }) => {
      const names = sections[link];
      if (!names) throw new RangeError('a symbol table without names');
      return Array.from({ length: Math.floor(bytes / ELF64_SYMBOL_BYTES) }, (_, index) => {
        const at = offset + index * ELF64_SYMBOL_BYTES;
        const isUndefined = elf.readUInt16LE(at + 6) === 0;
        return isUndefined ? nameAt(elf, names.offset + elf.readUInt32LE(at)) : '';
      });
    })
    .filter((name) => name !== '');
}

function nameAt(elf: Buffer, start: number): string {
  const end = elf.indexOf(0, start);
  if (start >= elf.length || end < 0) throw new RangeError('a name without end');
  return elf.toString('latin1', start, end);
}
