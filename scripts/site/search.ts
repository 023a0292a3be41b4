import MiniSearch from 'minisearch';

/** A section of a page, as the search knows it. */
export interface SearchedSection {
  /** From the site's root, with the anchor. */
  readonly id: string;
  readonly page: string;
  readonly title: string;
  readonly text: string;
}

/** Of the index and of who searches it. */
const SEARCH_OPTIONS = { fields: ['title', 'page', 'text'], storeFields: ['title', 'page'] };

/** A script that gives the page its index, and the options of it: from a folder on disk, a page may load scripts and no data. */
export function searchScript(sections: readonly SearchedSection[]): string {
  const index = new MiniSearch<SearchedSection>(SEARCH_OPTIONS);
  index.addAll(sections);
  const options = JSON.stringify(SEARCH_OPTIONS);
  return `window.SEARCH_OPTIONS = ${options};\nwindow.SEARCH_INDEX = ${JSON.stringify(JSON.stringify(index))};\n`;
}
