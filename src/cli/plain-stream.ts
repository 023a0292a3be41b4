import { styleText } from 'node:util';
import { plainText } from '../reports/plain-text.ts';

/** The codes that `styleText` writes for our styles. None of them hides text or moves the cursor. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about.
const STYLE = /(\u001b\[(?:[12]|22|3[1236]|39)m)/;

/** Lines that stay at the bottom of a terminal, below all other output. */
export interface Overlay {
  /** Returns the codes that remove the lines; empty if they are not on the screen. */
  erase(): string;
  /** Returns the lines and the codes that draw them. `clean` shows control characters as their codes. */
  draw(clean: (text: string) => string): string;
}

interface Plain {
  readonly raw: NodeJS.WriteStream;
  readonly clean: (text: string) => string;
  overlay: Overlay | undefined;
}

const PLAIN = new WeakMap<NodeJS.WriteStream, Plain>();

/**
 * Wraps a stream so that control characters in names, sources, logs and compiler messages appear as their codes. Our own
 * codes stay: colours, and those of an {@link Overlay}.
 */
export function plainStream(raw: NodeJS.WriteStream): NodeJS.WriteStream {
  const plain: Plain = { raw, clean: cleanerFor(raw), overlay: undefined };
  const write = (text: unknown, ...others: never[]): boolean => {
    if (typeof text !== 'string') return raw.write(text as Uint8Array, ...others);
    const { overlay, clean } = plain;
    if (!overlay) return raw.write(clean(text), ...others);
    return raw.write(overlay.erase() + clean(text) + (text.endsWith('\n') ? overlay.draw(clean) : ''), ...others);
  };
  const made = Object.create(raw, { write: { value: write } }) as NodeJS.WriteStream;
  PLAIN.set(made, plain);
  return made;
}

function cleanerFor(stream: NodeJS.WriteStream): (text: string) => string {
  if (styleText('red', ' ', { stream }) === ' ') return plainText;
  // The odd ones are what the pattern captured.
  return (text) =>
    text
      .split(STYLE)
      .map((part, index) => (index % 2 === 1 ? part : plainText(part)))
      .join('');
}

/** Draws or redraws an overlay at the bottom of the terminal; `undefined` removes it. */
export function setOverlay(stream: NodeJS.WriteStream, overlay: Overlay | undefined): void {
  const plain = PLAIN.get(stream);
  if (!plain) throw new Error('only a plain stream has an overlay');
  if (overlay) plain.raw.write(overlay.draw(plain.clean));
  else if (plain.overlay) plain.raw.write(plain.overlay.erase());
  plain.overlay = overlay;
}
