import { posix } from 'node:path';
import { escapeMarkup } from '../../src/reports/markup.ts';
import type { PageGroup } from './find-pages.ts';

/** Where a page of the repository lies in the site. */
export const siteFileOf = (file: string): string =>
  file === 'README.md' ? 'index.html' : file.replace(/\.md$/, '.html');

/** From one file of the site to another. Works from a folder on disk, too. */
export const relativeTo = (from: string, to: string): string => posix.relative(posix.dirname(from), to);

function navigation(at: string, groups: readonly PageGroup[]): string {
  const parts = groups.map(({ title, pages }) => {
    const items = pages.map(({ file, title: name }) => {
      const target = siteFileOf(file);
      const current = target === at ? ' aria-current="page"' : '';
      return `<li><a href="${relativeTo(at, target)}"${current}>${escapeMarkup(name)}</a></li>`;
    });
    const isOpen = title === 'warpsmith' || title === 'Guides' || pages.some(({ file }) => siteFileOf(file) === at);
    return `<details${isOpen ? ' open' : ''}><summary>${title}</summary><ul>${items.join('')}</ul></details>`;
  });
  return parts.join('\n');
}

export interface PageParts {
  /** In the site. */
  readonly at: string;
  readonly title: string;
  readonly body: string;
  readonly groups: readonly PageGroup[];
}

/** A whole page. Nothing in it comes from elsewhere. */
export function layout({ at, title, body, groups }: PageParts): string {
  const asset = (name: string): string => relativeTo(at, `assets/${name}`);
  const root = relativeTo(at, 'index.html').replace(/index\.html$/, '');
  return `<!doctype html>
<html lang="en" data-root="${root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeMarkup(title === 'warpsmith' ? title : `${title} · warpsmith`)}</title>
<link rel="stylesheet" href="${asset('site.css')}">
<script src="${asset('site.js')}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
<a class="home" href="${relativeTo(at, 'index.html')}">warpsmith</a>
<div class="search" role="search">
<input id="search" type="search" placeholder="Search (press /)" aria-label="Search" autocomplete="off" aria-controls="found">
<ol id="found" hidden></ol>
</div>
</header>
<nav aria-label="Pages">
<details class="menu"><summary>Pages</summary>
${navigation(at, groups)}
</details>
</nav>
<main id="content">
${body}
</main>
</body>
</html>
`;
}
