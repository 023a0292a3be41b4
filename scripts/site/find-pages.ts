import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../build/compile.ts';

/** A Markdown file of the repository. */
export interface SourcePage {
  /** From the repository's root, such as `docs/guides/runs.md`. */
  readonly file: string;
  readonly text: string;
  readonly title: string;
}

/** Where pages come from and under which heading the navigation lists them, in its order. */
const GROUPS: readonly (readonly [title: string, folder: string])[] = [
  ['Guides', 'docs/guides'],
  ['Course', 'course'],
  ['How it works', 'docs/how-it-works'],
  ['Reference', 'docs/reference'],
  ['Problems', 'problems'],
  ['Results', 'docs/results'],
  ['Decisions', 'docs/decisions'],
];

const FIRST = ['README.md', 'docs/architecture.md', 'docs/measuring.md', 'docs/glossary.md', 'CHANGELOG.md'];

export interface PageGroup {
  readonly title: string;
  readonly pages: readonly SourcePage[];
}

async function readPage(file: string): Promise<SourcePage> {
  const text = await readFile(join(ROOT, file), 'utf8');
  const [, heading = file] = /^# (.+)$/m.exec(text) ?? [];
  return { file, text, title: heading.replaceAll('`', '') };
}

async function markdownBelow(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
    .sort((a, b) => Number(b.endsWith('README.md')) - Number(a.endsWith('README.md')) || a.localeCompare(b, 'en'));
}

/** Every page, as the navigation groups them. */
export async function findPages(): Promise<PageGroup[]> {
  const groups = await Promise.all(
    GROUPS.map(async ([title, folder]) => ({
      title,
      pages: await Promise.all((await markdownBelow(folder)).map(readPage)),
    })),
  );
  return [{ title: 'warpsmith', pages: await Promise.all(FIRST.map(readPage)) }, ...groups];
}
