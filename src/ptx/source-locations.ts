import type { SourceLocation } from '../core/compiled-code.ts';
import type { Token } from './lexer.ts';

/**
 * Where an instruction came from: `[0]` is the innermost place (often in an inlined header function), each next entry
 * the call site it was inlined at, the last one in the function itself.
 */
type SourceChain = readonly SourceLocation[];

/** A place in a user's file as the compiler came to it. */
export interface SourcePlace {
  readonly own: SourceLocation;
  /** How many functions of headers were inlined between `own` and the instruction; 0 if the user wrote it there. */
  readonly headerDepth: number;
  /** Where the user's function was inlined, innermost first. */
  readonly calledFrom: readonly SourceLocation[];
  /** The compiler gave no line: the place is that of the code before. */
  readonly isInherited: boolean;
}

/** Reads `.file` and `.loc` directives and keeps the location in force. */
export class SourceTracker {
  private readonly files: ReadonlyMap<number, string>;
  private readonly inlineComments: ReadonlyMap<number, string>;
  private readonly isUserFile: (path: string) => boolean;
  private readonly chainsByPlace = new Map<string, SourceChain>();
  private readonly chosen = new Map<SourceChain, SourcePlace | undefined>();
  private current: SourceChain = [];
  private last: SourcePlace | undefined;

  constructor(
    tokens: readonly Token[],
    inlineComments: ReadonlyMap<number, string>,
    isUserFile: (path: string) => boolean,
  ) {
    this.files = collectFiles(tokens);
    this.inlineComments = inlineComments;
    this.isUserFile = isUserFile;
  }

  /** Forgets the location: a new function starts. */
  reset(): void {
    this.current = [];
    this.last = undefined;
  }

  /** Takes the tokens after `.loc` on its line. */
  enter(tokens: readonly Token[], line: number): void {
    const comment = this.inlineComments.get(line);
    const chain = comment === undefined ? this.chainOfDirective(tokens) : chainOfComment(comment);
    const key = keyOf(chain);
    const known = this.chainsByPlace.get(key);
    this.current = known ?? chain;
    if (known) return;
    this.chainsByPlace.set(key, chain);
    // Kept also under the bare place, so that a later `inlined_at` that names only this place continues the chain.
    if (chain[0]) this.chainsByPlace.set(keyOf([chain[0]]), chain);
  }

  /**
   * The innermost place in a user's file. Code that the compiler gave no line (line 0) belongs to the place before it;
   * undefined before the first one of a function.
   */
  place(): SourcePlace | undefined {
    const own = this.ownPlace();
    if (own) this.last = own;
    else if (this.last && !this.last.isInherited) this.last = { ...this.last, isInherited: true };
    return this.last;
  }

  private ownPlace(): SourcePlace | undefined {
    if (!this.chosen.has(this.current)) {
      const isOwn = ({ line, file }: SourceLocation): boolean => line > 0 && this.isUserFile(file);
      const headerDepth = this.current.findIndex(isOwn);
      const own = this.current[headerDepth];
      const calledFrom = this.current.slice(headerDepth + 1).filter(isOwn);
      this.chosen.set(this.current, own && { own, headerDepth, calledFrom, isInherited: false });
    }
    return this.chosen.get(this.current);
  }

  /** `.loc file line column [, function_name label [+ n], inlined_at file line column]`, as nvcc writes it. */
  private chainOfDirective(tokens: readonly Token[]): SourceChain {
    const innermost = this.placeIn(tokens, 0);
    if (!innermost) return [];
    const at = tokens.findIndex((token) => token.text === 'inlined_at');
    const callSite = at < 0 ? undefined : this.placeIn(tokens, at + 1);
    if (!callSite) return [innermost];
    return [innermost, ...(this.chainsByPlace.get(keyOf([callSite])) ?? [callSite])];
  }

  private placeIn(tokens: readonly Token[], start: number): SourceLocation | undefined {
    const [file, line, column] = [0, 1, 2].map((i) => Number.parseInt(tokens[start + i]?.text ?? '', 10));
    const path = this.files.get(file ?? Number.NaN);
    if (path === undefined || line === undefined || Number.isNaN(line)) return undefined;
    return location(path, line, column ?? 0);
  }
}

const location = (file: string, line: number, column: number): SourceLocation =>
  column > 0 ? { file, line, column } : { file, line };

const keyOf = (chain: SourceChain): string => chain.map((p) => `${p.file}:${p.line}:${p.column ?? 0}`).join('@');

/** `./name` is `name`. Directories are left out: compilers write the name as the user gave it. */
const withoutDotSlash = (path: string): string => path.replace(/^(?:\.\/)+/, '');

/** `.file 1 "directory" "name"` (clang) or `.file 1 "path"` (nvcc), wherever in the text: clang puts them last. */
function collectFiles(tokens: readonly Token[]): Map<number, string> {
  const files = new Map<number, string>();
  tokens.forEach((token, i) => {
    if (token.kind !== 'directive' || token.text !== '.file') return;
    const strings = [tokens[i + 2], tokens[i + 3]].filter((t) => t?.kind === 'string' && t.line === token.line);
    const name = strings.at(-1)?.text;
    if (name !== undefined) files.set(Number(tokens[i + 1]?.text), withoutDotSlash(name));
  });
  return files;
}

/** clang's comment after `.loc`: `inner.h:3:5 @[ kernel.cu:18:11 @[ kernel.cu:40:3 ] ]`. */
function chainOfComment(comment: string): SourceChain {
  return comment.split(' @[ ').flatMap((part) => {
    const match = /^\s*(.*):(\d+):(\d+)[\s\]]*$/.exec(part);
    return match ? [location(withoutDotSlash(match[1]!), Number(match[2]), Number(match[3]))] : [];
  });
}
