import { parseAst } from 'rolldown/parseAst';

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** Replacements of `text`, and what they save, if it is written once and named elsewhere. */
interface Shared {
  readonly text: string;
  readonly places: readonly Node[];
}

/** Of most names; the first few are shorter. */
const NAME_LENGTH = 3;
/** A declaration, and a comma behind it. */
const DECLARATION_LENGTH = NAME_LENGTH + 2;

/**
 * Minified code in which texts, `void 0`, kinds of arrays and functions of `Math` and its like that stand in several places stand in one, and have a name
 * elsewhere: names of WebAssembly instructions take a fifth of the code otherwise.
 */
export function shareTexts(code: string): string {
  const places = new Map<string, Node[]>();
  for (const node of textsIn(parseAst(code) as unknown as Node)) {
    const text = code.slice(node.start, node.end);
    places.set(text, [...(places.get(text) ?? []), node]);
  }
  const shared: Shared[] = [...places]
    .map(([text, nodes]) => ({ text, places: nodes }))
    .filter(
      ({ text, places: { length } }) =>
        length * (text.length - NAME_LENGTH) > text.length + DECLARATION_LENGTH + NAME_LENGTH,
    )
    .sort((a, b) => b.places.length - a.places.length);
  const names = namesFor(shared.length, code);
  const nameOf = (index: number): string => names[index]!;
  const replacements = shared
    .flatMap(({ places: nodes }, index) => nodes.map((node) => ({ ...node, name: nameOf(index) })))
    .sort((a, b) => a.start - b.start);
  const parts: string[] = [];
  let done = 0;
  for (const { start, end, name } of replacements) {
    // A keyword before a text needs no space of its own, but does before a name.
    const gap = /[\w$]/.test(code[start - 1] ?? '') ? ' ' : '';
    parts.push(code.slice(done, start), gap, name);
    done = end;
    if (/[\w$]/.test(code[end] ?? '')) parts.push(' ');
  }
  const declarations = shared.map(({ text }, index) => `${nameOf(index)}=${text}`).join();
  return `const ${declarations};${parts.join('')}${code.slice(done)}`;
}

/** So many names that the code does not have, shorter ones first. */
function namesFor(count: number, code: string): string[] {
  const taken = new Set(code.match(/[\w$]+/g));
  const names: string[] = [];
  for (let index = 0; names.length < count; index++) {
    const name = `$${index.toString(36)}`;
    if (!taken.has(name)) names.push(name);
  }
  return names;
}

/** Texts and {@link KINDS} that are values, no names of properties or modules; and functions that need no object. */
function* textsIn(node: Node): Generator<Node> {
  if (node.type === 'TaggedTemplateExpression' || /^(Import|Export(All|Named))/.test(node.type)) return;
  if (isText(node) || isNothing(node) || isKind(node) || isFunctionOfNoObject(node)) {
    yield node;
    return;
  }
  for (const [field, child] of Object.entries(node)) {
    const isName = (field === 'key' || field === 'property') && !(node as Node & { computed?: boolean }).computed;
    if (isName || child === null || typeof child !== 'object') continue;
    for (const one of Array.isArray(child) ? child : [child]) if (typeof one?.type === 'string') yield* textsIn(one);
  }
}

/** Kinds of arrays, and WebAssembly, which every module makes. Minified code calls nothing else so. */
const KINDS = new Set([
  ...['Int32Array', 'Uint8Array', 'Uint32Array', 'Float64Array', 'DataView', 'Uint16Array', 'Float32Array'],
  'WebAssembly',
]);

/** Their functions do not ask whose they are. */
const OWNERS = new Set(['Math', 'Object', 'Number', 'BigInt', 'Array']);

const nameOfIdentifier = (node: Node | undefined): string | undefined =>
  node?.type === 'Identifier' ? (node as Node & { name: string }).name : undefined;

const isKind = (node: Node): boolean => KINDS.has(nameOfIdentifier(node) ?? '');

function isFunctionOfNoObject(node: Node): boolean {
  const { computed, object } = node as Node & { computed?: boolean; object?: Node };
  return node.type === 'MemberExpression' && !computed && OWNERS.has(nameOfIdentifier(object) ?? '');
}

/** `void 0`, as minified code writes `undefined`. */
function isNothing(node: Node): boolean {
  const { operator, argument } = node as Node & { operator?: string; argument?: Node & { value?: unknown } };
  return node.type === 'UnaryExpression' && operator === 'void' && argument?.value === 0;
}

const isText = (node: Node): boolean =>
  (node.type === 'TemplateLiteral' && (node as Node & { expressions: unknown[] }).expressions.length === 0) ||
  (node.type === 'Literal' && typeof (node as Node & { value: unknown }).value === 'string');
