import type { Random } from './random.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Values that found something once, or might. */
export const HOSTILE: readonly Json[] = [
  ...[null, true, 0, -1, 1, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 53, 1e-300, 10_000, 1e9],
  ...[
    '',
    ' ',
    '__proto__',
    'constructor',
    'toString',
    '../..',
    '/dev/zero',
    '/',
    '.',
    '\u0000',
    '\u001b[31m',
    '…',
    'NaN',
  ],
  ...['1 / 0', '1 << 40', 'N * 1e300', 'N % 0', '((((N))))', 'device.smCount', 'a'.repeat(300), 'a'.repeat(5000)],
  ...[[], {}, [[]], [null], JSON.parse('{"__proto__":1,"constructor":1}') as Json, Array(50).fill(1)],
];

const copy = (value: Json): Json => JSON.parse(JSON.stringify(value)) as Json;

/** Every place of a document: its container and key. */
function places(value: Json): { holder: Json[] | { [key: string]: Json }; key: string | number }[] {
  if (typeof value !== 'object' || value === null) return [];
  const keys: (string | number)[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  const holder = value as { [key: string]: Json };
  return keys.flatMap((key) => [{ holder: value, key }, ...places(holder[key as string]!)]);
}

/** The document with one to three changes of its structure. */
export function mutateJson(document: Json, random: Random): Json {
  const root = { root: copy(document) };
  for (let count = 1 + random.below(3); count > 0; count -= 1) {
    const all = places(root);
    const { holder, key } = random.of(all);
    const at = holder as { [key: string]: Json };
    switch (random.below(6)) {
      case 0:
        if (Array.isArray(holder)) holder.splice(Number(key), 1);
        else if (holder !== root) delete at[key as string];
        break;
      case 1:
        at[key as string] = copy(at[key as string]!);
        if (Array.isArray(holder)) holder.push(copy(at[key as string]!));
        else
          Object.defineProperty(holder, String(random.of(HOSTILE)), {
            value: 1,
            enumerable: true,
            configurable: true,
            writable: true,
          });
        break;
      case 2: {
        const other = random.of(all);
        const value = (other.holder as { [key: string]: Json })[other.key as string];
        if (value !== undefined) at[key as string] = copy(value);
        break;
      }
      case 3:
        if (Array.isArray(at[key as string])) {
          const list = at[key as string] as Json[];
          at[key as string] = Array.from({ length: 2000 }, () => copy(list[0] ?? null));
          break;
        }
        at[key as string] = copy(random.of(HOSTILE));
        break;
      default:
        at[key as string] = copy(random.of(HOSTILE));
    }
  }
  return root.root;
}

/** The text with bytes changed, cut or doubled. */
export function mutateText(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const length = random.below(40);
  switch (random.below(5)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + text.slice(at + length);
    case 2:
      return text.slice(0, at) + String.fromCharCode(random.below(300)) + text.slice(at + 1);
    case 3:
      return text.slice(0, at) + text.slice(at, at + length) + text.slice(at);
    default:
      return text.slice(0, at) + String(random.of(HOSTILE)) + text.slice(at);
  }
}

/** JSON lines with one of them mutated, missing, doubled or moved. */
export function mutateLines(lines: readonly string[], random: Random): string {
  const next = [...lines];
  const at = random.below(next.length);
  switch (random.below(6)) {
    case 0:
      next.splice(at, 1);
      break;
    case 1:
      next.splice(at, 0, next[at]!);
      break;
    case 2:
      next.splice(random.below(next.length), 0, ...next.splice(at, 1));
      break;
    case 3:
      return mutateText(`${next.join('\n')}\n`, random);
    default:
      next[at] = JSON.stringify(mutateJson(JSON.parse(next[at]!) as Json, random));
  }
  // Renumbered, so that what is behind the numbers is reached.
  return next
    .map((line, index) => {
      const event = JSON.parse(line) as { sequence?: number } | null;
      return JSON.stringify(typeof event === 'object' && event !== null ? { ...event, sequence: index + 1 } : event);
    })
    .map((line) => `${line}\n`)
    .join('');
}
