/** Texts between `<!-- generated:NAME -->` and `<!-- /generated -->` are written by scripts/generate-figures.ts. */
const BLOCK = /(<!-- generated:([\w-]+) -->\n)([\s\S]*?)(<!-- \/generated -->)/g;

/** Names of the generated blocks in a page, in order. */
export const blockNames = (page: string): string[] => [...page.matchAll(BLOCK)].map((match) => match[2]!);

/**
 * The page with every generated block replaced.
 *
 * @throws Error for a block that nothing generates, and for markers that do not pair up.
 */
export const replaceBlocks = (page: string, blocks: Readonly<Record<string, string>>): string => {
  const openings = page.match(/<!-- generated:/g)?.length ?? 0;
  if (openings !== blockNames(page).length) throw new Error('a generated block has no end marker');
  return page.replaceAll(BLOCK, (_all, start: string, name: string, _old: string, end: string) => {
    const block = blocks[name];
    if (block === undefined) throw new Error(`nothing generates the block ${name}`);
    return `${start}\n${block.replace(/^\n+/, '').trimEnd()}\n\n${end}`;
  });
};
