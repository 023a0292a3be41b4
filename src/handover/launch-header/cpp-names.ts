import { escapeControls } from '../../core/json/json-path.ts';
import { GivenNames, type NameRules } from '../given-names.ts';

/** Reserved words of C++20, and macros of `<cuda_runtime.h>` and of the header's own helpers. */
const RESERVED = new Set(
  `alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
   concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
   do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
   namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
   requires return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
   true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
   NULL NAN INFINITY EOF assert errno linux unix`.split(/\s+/),
);

/** Any text as a C++ identifier. */
export function identifierOf(text: string): string {
  const plain = text
    .replaceAll(/[^A-Za-z0-9_]+/g, '_')
    .replaceAll(/__+/g, '_')
    .replace(/^_+|_+$/g, '');
  const named = plain === '' ? 'kernel' : plain;
  return /^\d/.test(named) || RESERVED.has(named) ? `k${named}` : named;
}

const CPP: NameRules = {
  reserved: RESERVED,
  // Two underscores in a row are the compiler's.
  allowed: (name) => name.replaceAll(/__+/g, '_').replace(/^_(?=[A-Z])/, 'u_'),
  next: (name) => (name.endsWith('_') ? `${name}0` : `${name}_`),
};

/** Names of one scope in C++. */
export const cppNames = (taken?: Iterable<string>): GivenNames => new GivenNames(CPP, taken);

/** A C++ string literal; anything but printable ASCII is written as the bytes of its UTF-8. */
export function stringLiteral(text: string): string {
  let literal = '';
  for (const byte of new TextEncoder().encode(text)) {
    const character = String.fromCharCode(byte);
    if (character === '"' || character === '\\' || character === '?') literal += `\\${character}`;
    else literal += byte >= 0x20 && byte < 0x7f ? character : `\\${byte.toString(8).padStart(3, '0')}`;
  }
  return `"${literal}"`;
}

/** Makes text safe for a one-line comment. */
export const commentText = (text: string): string =>
  escapeControls(text.replaceAll(/\s+/g, ' ').replaceAll('*/', '* /').replace(/\\$/, '\\.').trim());
