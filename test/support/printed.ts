import type { Document } from '../../src/reports/document.ts';
import { printTerminal, type TerminalOptions } from '../../src/reports/print/terminal.ts';

/** A text in one line: what it says, wherever its lines break. */
export const unwrapped = (text: string): string => text.replaceAll(/\s+/g, ' ');

/** What a very wide terminal shows, folded parts included; prose is wrapped all the same. */
export const onTerminal = (document: Document, options: TerminalOptions = {}): string =>
  printTerminal(document, { width: 1000, isVerbose: true, ...options });
