import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { slugOf } from '../../../scripts/site/slug.ts';

export const ROOT = join(import.meta.dirname, '..', '..', '..');

export interface Page {
  /** Relative to the root. */
  file: string;
  text: string;
}

const markdownBelow = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));

/** Every page of the documentation. */
export const readPages = (): Page[] =>
  ['README.md', 'CHANGELOG.md', ...markdownBelow('docs'), ...markdownBelow('problems'), ...markdownBelow('course')]
    .sort()
    .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }));

export const readPage = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const withoutCode = (text: string): string => text.replaceAll(/```[\s\S]*?```/g, '').replaceAll(/`[^`\n]*`/g, 'code');

/** Targets of links and images. */
export const linksOf = (text: string): string[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);

/** Anchors as GitHub makes them from headings. */
export const anchorsOf = (text: string): string[] =>
  [...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/^#{1,6} (.+)$/gm)].map((match) => slugOf(match[1]!));

/** Every `warpsmith …` command line of a page, in code blocks and in running text. */
export const commandsOf = (text: string): string[] => {
  const indented = [...text.matchAll(/^ {4,}(?:npx )?(warpsmith .*)$/gm)].map((match) => match[1]!);
  const fenced = [...text.matchAll(/```(?:sh|text)?\n([\s\S]*?)```/g)].flatMap((match) =>
    [...match[1]!.matchAll(/^(?:npx )?(warpsmith .*)$/gm)].map((line) => line[1]!),
  );
  const inline = [...text.matchAll(/`(?:npx )?(warpsmith [^`\n]+)`/g)].map((match) => match[1]!);
  return [...indented, ...fenced, ...inline].map((command) => command.replace(/\s#.*$/, '').trim());
};
